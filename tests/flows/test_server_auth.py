"""A server that others can reach asks for a secret, which stands in one file and nowhere else."""

import stat

import pytest

from flows import server, server_auth


def test_a_secret_is_drawn_once_into_a_file_for_its_owner_alone(tmp_path):
    drawn = server_auth.make(tmp_path)
    path = server_auth.file_of(tmp_path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert server_auth.make(tmp_path) == drawn
    assert len(drawn) > 40


@pytest.mark.parametrize(
    ("text", "mode", "says"),
    [
        ("assay:c4nary", 0o644, "chmod 600"),
        ("assay:c4nary", 0o620, "chmod 600"),
        ("c4nary", 0o600, "name:password"),
        ("", 0o600, "0 lines"),
        ("assay:c4nary\nx", 0o600, "2 lines"),
    ],
)
def test_beyond_loopback_nothing_starts_without_a_secret(tmp_path, text, mode, says):
    path = server_auth.file_of(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text(text)
    path.chmod(mode)
    with pytest.raises(server_auth.AuthRefused, match=says) as refused:
        server.start(tmp_path, print, "0.0.0.0")  # noqa: S104
    assert "c4nary" not in str(refused.value)
    assert server.status(tmp_path) is None

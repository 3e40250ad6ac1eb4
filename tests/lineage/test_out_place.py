"""What names nothing, and a place where nothing can be written, are refused before any work."""

from pathlib import Path

import pytest
from toy_repeat import toy_run
from toy_workspace import quiet

from flows import workspace as workspaces
from flows.commands import export
from flows.commands.lineage import lineage
from lineage.find_hash import LineageUnknown
from lineage.out_place import PlaceRefused
from lineage.provenance import RunRecord


@pytest.fixture
def run(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> RunRecord:
    monkeypatch.setattr(workspaces, "find", lambda _start: workspace)
    return toy_run(workspace)


def test_what_names_nothing_is_refused_in_one_line(
    run: RunRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run.state == "done"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    for what in ("", " ", "loop", "loop/x", "./loop", "x" * 5000, "x/" * 400, "x" * 300,
                 "/proc/self", "/proc/self/mem"):  # fmt: skip
        with pytest.raises(LineageUnknown) as said:
            lineage(what, None, quiet)
        assert said.value.exit_status == 2
        assert str(said.value)
        assert "\n" not in str(said.value)
        assert len(str(said.value)) < 2500


def test_a_place_where_nothing_can_be_written_is_refused_first(
    run: RunRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def worked(*_: object) -> None:
        raise AssertionError("it worked before it looked at the place")

    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    places = ["", str(tmp_path / "file/below"), f"{tmp_path}/{'x' * 300}", "/proc/nothing/here"]
    with monkeypatch.context() as patched:
        patched.setattr("flows.commands.lineage.seek", worked)
        patched.setattr(export, "gather", worked)
        for named in [*places, str(tmp_path / "folder")]:
            with pytest.raises(PlaceRefused, match=f"^{named} ?.*--picture PATH") as said:
                lineage(run.id, named, quiet)
            assert said.value.exit_status == 2
        for named in places:
            with pytest.raises(PlaceRefused, match=f"^{named} ?.*--out PATH"):
                export.export(run.id, "ro-crate", named)
    assert sorted(path.name for path in (tmp_path / "folder").iterdir()) == []
    assert (tmp_path / "file").read_text() == "mine"
    assert lineage(run.id, str(tmp_path / "new/picture.svg"), quiet)[2] == 0
    assert (tmp_path / "new/picture.svg").read_text().startswith("<svg")

"""Mounts inside mounts become mounts beside each other, with the same view of files."""

from pathlib import Path

import pytest

from containers.job import Mount, RunnerError
from containers.layout import lay_out


def tree(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


def view(mounts: tuple[Mount, ...]) -> dict[str, tuple[str, bool]]:
    return {mount.target: (mount.source.name, mount.writable) for mount in mounts}


def test_a_writable_folder_inside_a_read_only_one(tmp_path: Path):
    case = tree(tmp_path / "case", "a.py", "sub/b.py", "sub/c.py")
    (tmp_path / "staging").mkdir()
    laid = lay_out(
        [
            Mount(source=case, target="cases/one"),
            Mount(source=tmp_path / "staging", target="cases/one/sub/out", writable=True),
        ]
    )
    assert view(laid) == {
        "cases/one/a.py": ("a.py", False),
        "cases/one/sub/b.py": ("b.py", False),
        "cases/one/sub/c.py": ("c.py", False),
        "cases/one/sub/out": ("staging", True),
    }


def test_what_is_declared_inside_a_folder_wins_over_its_own_entry(tmp_path: Path):
    case = tree(tmp_path / "case", "a.py", "b.py")
    other = tree(tmp_path, "other.py") / "other.py"
    laid = lay_out([Mount(source=other, target="case/a.py"), Mount(source=case, target="case")])
    assert view(laid) == {"case/a.py": ("other.py", False), "case/b.py": ("b.py", False)}


@pytest.mark.parametrize(
    ("targets", "writable", "words"),
    [
        pytest.param(["../x"], False, "stays inside", id="a target that climbs out"),
        pytest.param(["/x"], False, "is relative", id="an absolute target"),
        pytest.param(["."], False, "is relative", id="the root itself"),
        pytest.param(["x", "x"], False, "Two mounts", id="the same target twice"),
        pytest.param(["x", "x/y"], True, "which is writable", id="inside a writable folder"),
    ],
)
def test_a_layout_that_cannot_be_is_refused(tmp_path: Path, targets, writable, words):
    mounts = [Mount(source=tmp_path, target=target, writable=writable) for target in targets]
    with pytest.raises(RunnerError, match=words):
        lay_out(mounts)


def test_a_missing_source_is_named(tmp_path: Path):
    with pytest.raises(RunnerError, match=r"data/x comes from .*none, which is not there"):
        lay_out([Mount(source=tmp_path / "none", target="data/x")])

"""A private case whose samples git or DVC would carry away is not run."""

import subprocess
from pathlib import Path

import pytest
from test_case import CODE, GOOD

from flows.case import load_case
from flows.case_privacy import exposed_samples

MADE = "  make: toy_data:make\n"
GIVEN = "  sim: data/sim\n  real: data/real\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A repository whose case takes its samples from folders that git ignores."""
    (tmp_path / "cases/toy/code").mkdir(parents=True)
    for module in ("toy_data", "toy_model", "toy_steps"):
        (tmp_path / f"cases/toy/code/{module}.py").write_text(CODE)
    for name in ("sim", "real"):
        (tmp_path / "cases/toy/data" / name).mkdir(parents=True)
        (tmp_path / "cases/toy/data" / name / "jane-doe.png").write_text("a face")
    (tmp_path / "data_contracts").mkdir()
    contract = "schema: 1\nsim: &all {samples: {dtype: uint8}}\nreal: *all\n"
    (tmp_path / "data_contracts/toy.yaml").write_text(contract)
    (tmp_path / ".gitignore").write_text("/cases/toy/data/\n")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return tmp_path


def told(workspace: Path, pictures: str = "none") -> str:
    text = GOOD.replace(MADE, GIVEN).replace("classes: 2", f"classes: 2\npictures: {pictures}")
    (workspace / "cases/toy/case.yaml").write_text(text)
    return "\n".join(exposed_samples(load_case(workspace, "toy")))


def test_samples_that_git_ignores_and_dvc_does_not_know_are_fine(workspace: Path):
    assert told(workspace) == ""


def test_samples_that_a_snapshot_would_take_are_told_without_their_names(workspace: Path):
    (workspace / ".gitignore").unlink()
    said = told(workspace)
    assert "data.real: `pictures: none`, but a run would put 1 files" in said
    assert "jane" not in said
    assert told(workspace, "full") == ""


def test_samples_that_git_has_are_told_though_it_ignores_them_now(workspace: Path):
    words = ["git", "-C", str(workspace), "add", "-f", "cases/toy/data/real/jane-doe.png"]
    subprocess.run(words, check=True)
    said = told(workspace)
    assert "data.real" in said
    assert "data.sim" not in said


@pytest.mark.parametrize(
    ("file", "path"), [("data/real.dvc", "real"), ("data.dvc", "data"), ("all.dvc", "data/real")]
)
def test_a_dvc_file_must_say_that_they_are_not_pushed(workspace: Path, file: str, path: str):
    tracked = workspace / "cases/toy" / file
    tracked.write_text(f"outs:\n- path: {path}\n  md5: 0123.dir\n")
    assert f"Write `push: false` below its path in cases/toy/{file}" in told(workspace)
    tracked.write_text(f"outs:\n- path: {path}\n  md5: 0123.dir\n  push: false\n")
    assert told(workspace) == ""

"""A file is found by its bytes, wherever it lies; what is not found is told with what to do."""

import hashlib
import shutil
from pathlib import Path

import pytest
from toy_runs import run_toy
from toy_workspace import dvc, git, quiet

from lineage.find_hash import LineageUnknown, Sought, seek
from lineage.run_index import opened
from lineage.run_tags import read_run

FIRST = "cases/toy/artifacts/first"


@pytest.fixture(autouse=True)
def _stay(monkeypatch: pytest.MonkeyPatch, workspace: Path) -> None:
    monkeypatch.chdir(workspace)


def found(workspace: Path, what: str) -> Sought:
    with opened(workspace, workspace / ".dvc/cache") as index:
        return seek(workspace, index, what, quiet)


def paths(sought: Sought) -> list[str]:
    return [place.path for place in sought.places]


def test_a_copy_under_another_name_is_found_by_its_bytes(workspace: Path, tmp_path: Path):
    run_toy(workspace, 1)
    (tmp_path / "sent by mail.txt").write_text("picture")  # a member of a folder that was made
    shutil.copyfile(workspace / "cases/toy/data.txt", tmp_path / "raw")
    assert paths(found(workspace, str(tmp_path / "sent by mail.txt"))) == [
        f"{FIRST}/pictures/a.txt"
    ]
    assert paths(found(workspace, str(tmp_path / "raw"))) == ["cases/toy/data.txt"]


def test_a_file_within_a_folder_of_code_is_found_in_git(workspace: Path, tmp_path: Path):
    from dataclasses import replace

    from toy_workspace import toy_rows, write_graph

    (workspace / "cases/toy/code").mkdir()
    (workspace / "cases/toy/code/steps.py").write_text("def scale(): ...\n")
    first, second = toy_rows()
    first = replace(
        first, sources=(*first.sources, "cases/toy/code"), code_roots=("cases/toy/code",)
    )
    write_graph(workspace, (first, second))
    git(workspace, "add", "-A")
    git(workspace, "commit", "-qm", "Code")
    run_toy(workspace, 1, rows=(first, second))
    shutil.copyfile(workspace / "cases/toy/code/steps.py", tmp_path / "copy.py")
    assert paths(found(workspace, str(tmp_path / "copy.py"))) == ["cases/toy/code/steps.py"]
    assert found(workspace, "cases/toy/code").told == "folder"


def test_a_folder_is_hashed_as_dvc_does(workspace: Path, tmp_path: Path):
    run = run_toy(workspace, 1)
    folder = tmp_path / "pictures"
    folder.mkdir()
    (folder / "a.txt").write_text("picture")
    assert paths(found(workspace, str(folder))) == [f"{FIRST}/pictures"]
    assert read_run(workspace, run).stages[0].outputs[f"{FIRST}/pictures"].endswith(".dir")


def test_hashes_of_every_kind_are_known(workspace: Path):
    run = run_toy(workspace, 1)
    stage = read_run(workspace, run).stages[0]
    md5 = hashlib.md5(b"picture", usedforsecurity=False).hexdigest()
    sha256 = hashlib.sha256(b"picture").hexdigest()
    for what in (md5, md5.upper(), md5[:8], f"md5:{md5}", sha256, f"sha256:{sha256}"):
        assert paths(found(workspace, what)) == [f"{FIRST}/pictures/a.txt"], what
    assert paths(found(workspace, stage.outputs[FIRST])) == [FIRST]
    log = found(workspace, stage.log_sha256 or "")
    assert {(one.stage, one.ran_in) for one in log.made} == {("first", run), ("second", run)}


def test_a_path_is_of_the_newest_run_and_one_of_a_named_run_is_its_own(workspace: Path):
    one = run_toy(workspace, 1)
    (workspace / "params.yaml").write_text("first:\n  n: 3\n")
    two = run_toy(workspace, 2, n=3)
    newest = found(workspace, f"{FIRST}/report.json")
    older = found(workspace, f"{one}:artifacts/first/report.json")
    assert (newest.run, older.run) == (two, one)
    assert newest.places[0].hash == hashlib.md5(b"15", usedforsecurity=False).hexdigest()
    assert older.places[0].hash == hashlib.md5(b"10", usedforsecurity=False).hexdigest()
    assert found(workspace, "latest").run == two
    member = found(workspace, f"{two}:artifacts/first/pictures/a.txt")
    assert paths(member) == [f"{FIRST}/pictures/a.txt"]


@pytest.mark.parametrize(
    ("what", "says"),
    [
        pytest.param("f" * 32, r"Searched: \d+ files and folders of 1 run, ", id="md5"),
        pytest.param("f" * 64, "No file, image or log has this SHA-256", id="sha256"),
        pytest.param("nowhere/at.all", "is no file here, no hash", id="path"),
        pytest.param("toy:artifacts/first/nothing", "neither made nor read", id="path of a run"),
        pytest.param("params.yaml", "No run made or read these bytes", id="file"),
    ],
)
def test_what_no_run_knows_is_told_with_what_was_searched(workspace: Path, what: str, says: str):
    run_toy(workspace, 1)
    with pytest.raises(LineageUnknown, match=says) as told:
        found(workspace, what)
    assert told.value.exit_status == 2


def test_a_file_that_was_edited_is_told_with_what_stood_at_its_place(workspace: Path):
    run_toy(workspace, 1)
    (workspace / "cases/toy/data.txt").write_text("other bytes")
    with pytest.raises(LineageUnknown, match="At its place 1 other contents stood: assay lineage"):
        found(workspace, "cases/toy/data.txt")


def test_the_hash_of_a_folder_is_dvcs(workspace: Path):
    from lineage.find_hash import _folder_md5

    folder = workspace / "some"
    (folder / "b/c").mkdir(parents=True)
    for name in ("z", "a", "b/c/d", "b.txt", "ü"):
        (folder / name).write_text(name)
    dvc(workspace, "add", "-q", "some")
    assert f"md5: {_folder_md5(folder)}" in (workspace / "some.dvc").read_text()

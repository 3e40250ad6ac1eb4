"""What was changed behind our back is found, named and never passed on as a result."""

import json
import os
from pathlib import Path

import pytest
from toy_run import whole_run
from toy_workspace import dvc, git, quiet

import flows.workspace
from flows.commands.verify import verify
from lineage.cache_objects import set_aside
from lineage.verify import verify_run, verify_runs

REPORT = "cases/toy/artifacts/first/report.json"


def cached(workspace: Path, content: bytes) -> Path:
    """The object of the cache with this content."""
    [found] = [
        path
        for path in (workspace / ".dvc/cache/files/md5").rglob("*")
        if path.is_file() and path.read_bytes() == content
    ]
    return found


def alter(path: Path) -> None:
    """Change a file so that its size, its time and its mode say nothing of it."""
    was = path.stat()
    path.chmod(0o644)
    content = path.read_bytes()
    path.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    path.chmod(was.st_mode)
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))


def test_all_that_runs_made_is_read_each_object_once(workspace: Path):
    first, second = whole_run(workspace), whole_run(workspace)
    found = verify_runs(workspace)
    assert found.is_whole
    assert set(found.runs) == {first, second}
    # Two folders' lists, the reports, the picture: the second run restored the first one's.
    assert found.num_objects == verify_run(workspace, first).num_objects == 5


def test_an_altered_object_is_named_with_all_that_need_it(workspace: Path):
    first, second = whole_run(workspace), whole_run(workspace)
    alter(cached(workspace, b"10"))
    [bad] = verify_run(workspace, second).damaged
    assert bad.what == "altered"
    assert {(need.run, need.path, need.stage) for need in bad.needed} == {
        (run, REPORT, "first") for run in (first, second)
    }


@pytest.mark.parametrize("how", ["removed", "a folder's list"], ids=["removed", "a list"])
def test_what_is_gone_and_a_list_that_lies_are_named(workspace: Path, how: str):
    run = whole_run(workspace)
    if how == "removed":
        cached(workspace, b"second of 10").unlink()
    else:
        alter(next((workspace / ".dvc/cache/files/md5").rglob("*.dir")))
    [bad] = verify_run(workspace, run).damaged
    assert bad.what == ("missing" if how == "removed" else "altered")
    assert {need.run for need in bad.needed} == {run}


def test_data_under_dvc_is_read_too(workspace: Path):
    git(workspace, "rm", "-q", "--cached", "cases/toy/data.txt")
    dvc(workspace, "add", "-q", "cases/toy/data.txt")
    git(workspace, "add", "-A")
    git(workspace, "commit", "-qm", "Data under DVC")
    run = whole_run(workspace)
    assert verify_run(workspace, run).is_whole
    alter(cached(workspace, b"12345"))
    [bad] = verify_run(workspace, run).damaged
    assert [(need.path, need.stage) for need in bad.needed] == [("cases/toy/data.txt", "")]


@pytest.fixture
def command(workspace: Path, monkeypatch: pytest.MonkeyPatch):
    """`assay verify` in the throwaway workspace."""
    monkeypatch.setattr(flows.workspace, "find", lambda _start: workspace)
    return lambda which=None, mend=False: verify(which, mend, quiet)


def test_the_command_says_what_is_damaged_and_how_to_mend_it(workspace: Path, command):
    run = whole_run(workspace)
    data, text, status = command()
    assert (status, data["whole"], data["num_objects"]) == (0, True, 5)
    assert text.startswith("whole: 5 objects")
    alter(cached(workspace, b"10"))
    data, text, status = command(run)
    assert (status, data["whole"], data["set_aside"]) == (1, False, {})
    for said in (REPORT, "made by first", f"assay pull {run}", "--mend", f"assay rerun {run}"):
        assert said in text
    json.dumps(data, allow_nan=False)


def test_the_command_takes_damaged_objects_away_only_when_asked_and_says_where(workspace, command):
    whole_run(workspace)
    path = cached(workspace, b"10")
    alter(path)
    command()
    assert path.exists()
    data, text, _ = command(mend=True)
    [aside] = data["set_aside"].values()
    assert not path.exists()
    assert Path(aside).exists()
    assert f"set aside: {aside}" in text


def test_what_is_set_aside_is_kept_and_made_anew(workspace: Path):
    run = whole_run(workspace)
    path = cached(workspace, b"10")
    alter(path)
    [bad] = verify_run(workspace, run).damaged
    aside = set_aside(workspace, workspace / ".dvc/cache", bad.name)
    assert aside.is_relative_to(workspace / ".assay/damaged")
    assert aside.read_bytes() != b"10"
    whole_run(workspace)
    assert path.read_bytes() == b"10"
    assert verify_run(workspace, run).is_whole

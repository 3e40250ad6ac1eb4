"""What was changed behind our back is found, named and never passed on as a result."""

import json
import os
from pathlib import Path

import pytest
from toy_run import advance, begin, engine_of, finish, whole_run
from toy_workspace import FakeRunner, dvc, git, quiet

import flows.workspace
from flows.commands.verify import verify
from lineage import runs
from lineage.cache_objects import CacheDamaged, set_aside
from lineage.engine import InputsChanged
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


def dvc_add(workspace: Path, path: str) -> None:
    """Take a file out of git and put it under DVC."""
    git(workspace, "rm", "-q", "--cached", path)
    dvc(workspace, "add", "-q", path)
    git(workspace, "add", "-A")
    git(workspace, "commit", "-qm", "Data under DVC")


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
    dvc_add(workspace, "cases/toy/data.txt")
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


def test_a_tag_that_holds_no_record_is_not_whole(workspace: Path, command):
    run = whole_run(workspace)
    forged = "20261130T160102-toy-0bad"
    git(workspace, "tag", f"run/{forged}", "HEAD:params.yaml")  # not even a commit
    told = f"The tag run/{forged} holds no record of that run"
    data, text, status = command(forged)
    assert (status, data["whole"], data["unread"]) == (1, False, [forged])
    assert told in text
    assert "whole" not in text
    data, text, status = command()
    assert (status, data["unread"], data["num_objects"], data["damaged"]) == (1, [forged], 5, [])
    assert told in text
    assert command(run)[2] == 0
    alter(cached(workspace, b"10"))
    data, text, status = command()
    assert (status, len(data["damaged"]), told in text) == (1, 1, True)
    assert f"assay rerun {run}" in text


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


@pytest.mark.parametrize("part", ["a file", "a list"])
def test_what_is_damaged_in_the_cache_is_never_restored(workspace: Path, part: str):
    whole_run(workspace)
    path = cached(workspace, b"10")
    if part == "a list":
        path = next(one for one in path.parents[1].rglob("*.dir") if b"a.txt" in one.read_bytes())
    content = path.read_bytes()
    alter(path)
    said: list[str] = []
    run = begin(workspace)
    outcomes = advance(engine_of(run), on_line=said.append)
    assert [one.how for one in outcomes] == ["ran", "restored"]
    assert (run.tree / REPORT).read_text() == "10"
    assert path.read_bytes() == content
    [name] = outcomes[0].provenance.set_aside
    assert path.name in f"{name[2:]}"
    assert [line for line in said if ".assay/damaged" in line and "first" in line]
    assert verify_run(workspace, finish(run, outcomes)).is_whole


def test_what_a_stage_makes_is_not_swapped_for_a_damaged_object_of_that_name(workspace: Path):
    whole_run(workspace)
    alter(cached(workspace, b"10"))
    with (workspace / "toys/first.py").open("a") as source:
        source.write("\n# The same answer by other code.\n")
    run = begin(workspace)
    outcomes = advance(engine_of(run))
    assert [one.how for one in outcomes] == ["ran", "ran"]  # the second imports the first
    assert (run.tree / REPORT).read_text() == "10"
    assert verify_run(workspace, finish(run, outcomes)).is_whole


def test_damaged_data_stops_a_run_before_it_begins(workspace: Path):
    dvc_add(workspace, "cases/toy/data.txt")
    alter(cached(workspace, b"12345"))
    with pytest.raises(CacheDamaged, match=r"holds cases/toy/data\.txt damaged.*verify --mend"):
        begin(workspace)
    assert not list((workspace / ".assay/runs").iterdir())


def test_an_input_edited_behind_size_and_time_is_refused(workspace: Path):
    run = begin(workspace)
    runner = FakeRunner(during=lambda _job: alter(run.tree / "cases/toy/data.txt"))
    with pytest.raises(InputsChanged, match=r"cases/toy/data\.txt changed while first ran"):
        advance(engine_of(run, runner))
    assert not (run.tree / "cases/toy/artifacts/first").exists()
    runs.close(run, None)


def test_a_stage_that_writes_through_its_input_into_the_cache_passes_on_nothing(workspace: Path):
    run = begin(workspace)
    reads_first = FakeRunner(
        during=lambda job: alter(run.tree / REPORT) if job.name.endswith("second") else None
    )
    with pytest.raises(InputsChanged, match=REPORT):
        advance(engine_of(run, reads_first))
    finish(run, [], state="failed")
    again = begin(workspace)
    outcomes = advance(engine_of(again))
    assert (again.tree / REPORT).read_text() == "10"
    assert outcomes[1].how == "ran"
    assert verify_run(workspace, finish(again, outcomes)).is_whole

"""What is let go of, and what never is."""

import json
import shutil
import subprocess
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toy_repeat import toy_run
from toy_workspace import git

from containers.owner import Owner
from flows.cli_traced import prune as prune_command
from lineage import waivers
from lineage.artifacts import read_artifact
from lineage.cache_objects import place
from lineage.dvc_repo import cache_of
from lineage.fence import fence_or_skip, not_while_pruning
from lineage.objects import objects_of
from lineage.provenance import RunRecord
from lineage.prune import Keep, PruneRefused, plan, prune
from lineage.run_tags import RunUnknown, list_ids, list_looks
from lineage.verify import verify_run

NOW = datetime(2026, 11, 30, tzinfo=UTC)
REPORT = "cases/toy/artifacts/second/report.json"


def write(root: Path, name: str, text: str, message: str) -> None:
    (root / name).write_text(text)
    git(root, "commit", "-qam", message)


def present(root: Path) -> set[Path]:
    return {path for path in (cache_of(root) / "files").rglob("*") if path.is_file()}


def test_a_run_goes_with_what_only_it_needed_and_no_other_loses_a_byte(workspace: Path) -> None:
    first = toy_run(workspace)
    write(workspace, "cases/toy/data.txt", "1234567", "Longer data")
    second = toy_run(workspace, look={"rows": "r", "answers": "a"})
    third = toy_run(workspace)  # the same outputs as the second
    alone = objects_of(workspace, first.id) - objects_of(workspace, second.id)
    assert alone
    before = present(workspace)

    todo = plan(workspace, Keep(newest=1), NOW)
    assert ([run.id for run in todo.dropped], set(todo.objects)) == (
        [second.id, first.id],
        alone,
    )
    assert present(workspace) == before  # to say so changes nothing
    assert len(list_ids(workspace)) == 3

    prune(workspace, Keep(newest=1), NOW)
    assert list_ids(workspace) == [third.id]
    cache = cache_of(workspace)
    assert before - present(workspace) == {place(cache, md5) for md5 in alone}
    assert verify_run(workspace, third.id).is_whole
    assert read_artifact(workspace, third.id, REPORT) == b"second of 14"
    # That somebody looked at held-out rows is not undone by forgetting the run.
    assert [run.id for run in list_looks(workspace) if run.look] == [second.id]
    # What is gone is run anew; what is kept is restored.
    write(workspace, "cases/toy/data.txt", "12345", "Shorter data")
    assert {stage.how for stage in toy_run(workspace).stages} == {"ran"}
    write(workspace, "cases/toy/data.txt", "1234567", "Longer data")
    assert {stage.how for stage in toy_run(workspace).stages} == {"restored"}


def test_a_branch_a_lock_and_a_waiver_keep_what_they_name(workspace: Path) -> None:
    first = toy_run(workspace, verdict="closed", because="It fails.")
    git(workspace, "branch", "published", f"run/{first.id}")
    write(workspace, "cases/toy/data.txt", "1234567", "Longer data")
    second = toy_run(workspace)
    todo = plan(workspace, Keep(newest=1), NOW)
    assert ([run.id for run in todo.dropped], dict(todo.objects)) == ([first.id], {})

    git(workspace, "branch", "-D", "published")
    lock = workspace / "cases/toy/dvc.lock"
    lock.write_text(git(workspace, "show", f"run/{first.id}:cases/toy/dvc.lock"))
    assert plan(workspace, Keep(newest=1), NOW).objects == {}
    lock.unlink()
    assert plan(workspace, Keep(newest=1), NOW).objects
    until = waivers.today() + timedelta(days=2)
    waivers.grant(workspace, first, reason="A test", by="Me", until=str(until))
    assert plan(workspace, Keep(newest=1), datetime.now(UTC)).kept[first.id] == "waived"
    later = datetime.now(UTC) + timedelta(days=9)
    assert [run.id for run in plan(workspace, Keep(newest=1), later).dropped] == [first.id]
    prune(workspace, Keep(newest=1), later)
    assert git(workspace, "tag").split() == [f"run/{second.id}"]


def test_it_refuses_where_it_would_not_be_safe(workspace: Path, tmp_path: Path) -> None:
    run = toy_run(workspace)
    with pytest.raises(PruneRefused, match="What is to be kept"):
        plan(workspace, Keep(), NOW)
    with pytest.raises(RunUnknown):
        plan(workspace, Keep(runs=("nope",)), NOW)
    going = workspace / ".assay/runs/20261201T000000-toy-0001"
    going.mkdir(parents=True)
    (going / "owner").write_text(str(Owner.me()))
    with pytest.raises(PruneRefused, match="20261201T000000-toy-0001 is under way"):
        prune(workspace, Keep(newest=0), NOW)
    (going / "owner").unlink()
    going.rmdir()

    (listed,) = (md5 for path, md5 in run.stages[1].outputs.items() if md5.endswith(".dir"))
    place(cache_of(workspace), listed).unlink()
    with pytest.raises(PruneRefused, match=f"assay pull {run.id}"):
        plan(workspace, Keep(newest=1), NOW)
    with (workspace / ".dvc/config").open("a") as config:
        config.write(f"[cache]\n    dir = {tmp_path / 'shared'}\n")
    with pytest.raises(PruneRefused, match="--alone"):
        plan(workspace, Keep(newest=1), NOW)


@pytest.mark.parametrize("days", ["999999", "1e12", "inf", "nan", "-1"])
def test_days_that_no_date_can_tell_are_refused_with_the_range(
    workspace: Path, days: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.workspace.find", lambda _start: workspace)
    done = CliRunner().invoke(prune_command, ["--keep-days", days, "--yes"])
    assert done.exit_code == 2
    assert "--keep-days takes 0 to 36500 days. Got: " in done.output
    assert plan(workspace, Keep(days=36_500), NOW).dropped == ()


def test_it_refuses_where_another_worktree_has_the_same_tags(
    workspace: Path, tmp_path: Path
) -> None:
    first = toy_run(workspace)
    second = toy_run(workspace)
    other = tmp_path / "other tree"
    git(workspace, "worktree", "add", "--quiet", "--detach", str(other))
    before = present(workspace)
    for root, named in ((workspace, other), (other, workspace)):
        for do in (plan, prune):
            with pytest.raises(PruneRefused, match=f"{named} is another worktree") as refused:
                do(root, Keep(newest=1), NOW, alone=True)
            assert refused.value.exit_status == 2
            assert f"(git worktree remove {other})" in str(refused.value)  # never the main one
    assert (list_ids(workspace), present(workspace)) == ([second.id, first.id], before)
    # Those that runs themselves open are none, nor is one whose folder is gone.
    own = workspace / ".assay/runs/20261201T000000-toy-0001/tree"
    git(workspace, "worktree", "add", "--quiet", "--detach", str(own))
    shutil.rmtree(other)
    assert [run.id for run in plan(workspace, Keep(newest=1), NOW).dropped] == [first.id]


def test_it_refuses_where_another_workspace_lives_on_its_cache(
    workspace: Path, tmp_path: Path
) -> None:
    second = tmp_path / "second"
    subprocess.run(["git", "clone", "-q", str(workspace), str(second)], check=True)
    for key, value in (("name", "B"), ("email", "b@example.org")):
        git(second, "config", f"user.{key}", value)
    first = toy_run(workspace)
    toy_run(workspace)
    cache = cache_of(workspace)
    assert [run.id for run in plan(workspace, Keep(newest=1), NOW).dropped] == [first.id]
    local = second / ".dvc/config.local"
    local.write_text(f"[cache]\n    dir = {cache}\n")
    (second / "environments.yaml").write_text("base: process:fake\n")
    other = toy_run(second)
    (mark,) = (cache / "assay-workspaces").iterdir()  # none of the one that it lies in
    for do in (plan, prune):
        with pytest.raises(PruneRefused, match=f"{second} uses this one's.*--alone") as refused:
            do(workspace, Keep(newest=1), NOW)
        assert (refused.value.exit_status, str(mark) in str(refused.value)) == (2, True)
    assert verify_run(second, other.id).is_whole
    assert plan(workspace, Keep(newest=1), NOW, alone=True).dropped
    local.unlink()  # it has a cache of its own now
    assert plan(workspace, Keep(newest=1), NOW).dropped
    mark.write_text(f"another-host\n{second}\n")
    with pytest.raises(PruneRefused, match=f"{second} on another-host"):
        plan(workspace, Keep(newest=1), NOW)
    mark.unlink()
    assert plan(workspace, Keep(newest=1), NOW).dropped


def test_a_run_does_not_begin_while_one_prunes(workspace: Path) -> None:
    """Both take one lock: a run that had begun is seen, one that begins waits."""
    with fence_or_skip(workspace / ".assay/prune.lock") as mine:
        assert mine
        waiting = subprocess.Popen(
            ["flock", "--nonblock", str(workspace / ".assay/prune.lock"), "true"]
        )
        assert waiting.wait(30) == 1
        import threading

        from lineage import runs

        made: list[runs.Run] = []
        start = threading.Thread(
            target=lambda: made.append(
                runs.create(workspace, "toy", expose=["cases/toy"], now=datetime.now(UTC))
            ),
            daemon=True,
        )
        start.start()
        start.join(1.0)
        assert (made, list((workspace / ".assay/runs").glob("*"))) == ([], [])
    start.join(60.0)
    assert len(made) == 1
    runs.close(made[0], None)


LETTERS = "abcdef"
RUNS = st.lists(
    st.tuples(
        st.sampled_from(["one", "two"]),
        st.sampled_from(["done", "failed"]),
        st.dictionaries(st.sampled_from(LETTERS), st.sets(st.sampled_from(LETTERS)), max_size=3),
        st.booleans(),
    ),
    min_size=1,
    max_size=6,
)


def hashed(text: str) -> str:
    from hashlib import md5

    return md5(text.encode(), usedforsecurity=False).hexdigest()


def fill(root: Path, runs: list) -> None:
    """Write runs as tags with a lock each, and the objects that they name."""
    blobs, tags = [], []
    for at, (case, state, folders, _) in enumerate(runs):
        outs = ""
        for stage, files in folders.items():
            listed = json.dumps([{"md5": hashed(f), "relpath": f} for f in sorted(files)])
            md5 = f"{hashed(listed)}.dir"
            for name, text in {md5: listed, **{hashed(f): f for f in files}}.items():
                path = place(root / ".dvc/cache", name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            outs += f"  {stage}:\n    cmd: c\n    outs:\n    - path: artifacts/{stage}\n"
            outs += f"      hash: md5\n      md5: {md5}\n"
        lock = f"schema: '2.0'\nstages:{'' if outs else ' {}'}\n{outs}"
        run_id = f"20261101T{at:06d}-{case}-0000"
        record = RunRecord(
            id=run_id, case=case, state=state, sentence="", commit="", parent="",
            isolation="process", started=NOW.isoformat(), ended=NOW.isoformat(),
        )  # fmt: skip
        message = f"{case}\n\n{record.model_dump_json()}\n"
        who = "T <t@example.org> 1700000000 +0000"
        blobs.append(
            f"commit refs/x\nmark :{at + 1}\ncommitter {who}\ndata 1\nx\n"
            f"M 100644 inline cases/{case}/dvc.lock\ndata {len(lock)}\n{lock}\n"
        )
        tags.append(
            f"tag run/{run_id}\nfrom :{at + 1}\ntagger {who}\ndata {len(message)}\n{message}\n"
        )
    git(root, "init", "-q")
    stream = "".join(
        [*blobs, *tags, "reset refs/x\nfrom 0000000000000000000000000000000000000000\n"]
    )
    subprocess.run(["git", "fast-import", "--quiet"], cwd=root, input=stream.encode(), check=True)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(runs=RUNS, newest=st.integers(0, 3))
def test_no_kept_run_loses_what_it_needs_and_nothing_else_stays(runs: list, newest: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / ".dvc").mkdir()
        (root / ".dvc/config").write_text("")
        fill(root, runs)
        ids = list_ids(root)
        named = {run_id: objects_of(root, run_id) for run_id in ids}
        chosen = tuple(run_id for run_id in ids if runs[int(run_id[9:15])][3])
        todo = plan(root, Keep(newest=newest, runs=chosen), NOW)
        dropped = {run.id for run in todo.dropped}
        assert dropped.isdisjoint(chosen)
        assert dropped | set(todo.kept) == set(ids)
        needed = set().union(*(named[run_id] for run_id in set(ids) - dropped))
        assert needed.isdisjoint(todo.objects)
        assert set(todo.objects) == set().union(*(named[run_id] for run_id in dropped)) - needed
        for case in {run_id.split("-")[1] for run_id in ids}:
            mine = [one for one in ids if f"-{case}-" in one]
            assert dropped.isdisjoint(mine[:newest])
            finished = [one for one in mine if runs[int(one[9:15])][1] == "done"]
            assert dropped.isdisjoint(finished[:1])


def test_two_bring_objects_at_once_and_nobody_prunes_meanwhile(workspace: Path) -> None:
    lock = str(workspace / ".assay/prune.lock")
    with not_while_pruning(workspace), not_while_pruning(workspace):
        assert subprocess.call(["flock", "--nonblock", "--exclusive", lock, "true"]) == 1
    assert subprocess.call(["flock", "--nonblock", "--exclusive", lock, "true"]) == 0

"""A run from a remote that lies is refused by name, and nothing outside of its place is touched."""

import hashlib
import json
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from test_remote import REPORT, colleague, pull, push, shared  # noqa: F401  a fixture
from toy_repeat import toy_run
from toy_workspace import FIRST, git

from flows.begin_again import begin_again
from flows.foreign_run import ForeignRun
from flows.repeat import Repeat
from flows.reproduce import reproduce
from lineage import remote, runs
from lineage.artifacts import ArtifactMissing, open_artifact
from lineage.cache_objects import place
from lineage.clean_clone import clean_clone
from lineage.dvc_repo import cache_of
from lineage.hostile import HostileRun
from lineage.objects import run_objects
from lineage.provenance import RunRecord
from lineage.prune import Keep
from lineage.prune import plan as plan_prune
from lineage.run_tags import RunUnknown, list_ids, list_runs, read_run
from lineage.snapshot import Snapshot
from lineage.verify import verify_run

FOLDER = "cases/toy/artifacts/second"
VICTIM = "what only its owner may touch"


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "home/victim"
    path.parent.mkdir(exist_ok=True)
    path.write_text(VICTIM)
    return path


def stored(store: Path, content: bytes, end: str = "") -> str:
    """Put an object into a remote under its true name."""
    name = hashlib.md5(content, usedforsecurity=False).hexdigest() + end
    place(store, name).parent.mkdir(parents=True, exist_ok=True)
    place(store, name).write_bytes(content)
    return name


def forge(root: Path, run: RunRecord, files: dict[str, str | Path], tag: str = "", **lies) -> str:
    """Push a run's tag that holds other files and another record; a Path is a link."""
    git(root, "checkout", "-q", "--detach", f"run/{run.id}^{{commit}}")
    record = run.model_copy(update=lies)
    files = {"cases/toy/run.json": record.model_dump_json()} | files
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(content) if isinstance(content, Path) else path.write_text(content)
        git(root, "add", "-f", name)
    git(root, "commit", "-qm", "Forged")
    made = git(root, "rev-parse", "HEAD")
    name = f"run/{tag or run.id}"
    body = record.model_copy(update={"stages": []}).model_dump_json()
    git(root, "tag", "-f", "-a", name, "-m", f"toy\n\n{body}")
    git(root, "checkout", "-q", "-f", "main")
    git(root, "push", "-q", "-f", "origin", f"refs/tags/{name}")
    return made


def lock_with(root: Path, run: RunRecord, old: str, new: str) -> str:
    text = git(root, "show", f"run/{run.id}:cases/toy/dvc.lock")
    assert old in text
    return text.replace(old, new) + "\n"


def brought(tmp_path: Path, run: str) -> Path:
    there = tmp_path / "colleague"
    if not there.exists():
        colleague(tmp_path)
    with suppress(HostileRun, ArtifactMissing, RunUnknown):
        pull(there, run)
    return there


@pytest.mark.parametrize(
    "path",
    ["report.json/../../../../../../../../home/victim", "../../../../../../../home/victim", "/abs"],
)
def test_a_member_that_leads_out_of_its_folder(shared, tmp_path, victim, path):  # noqa: F811
    run = toy_run(shared)
    push(shared)
    path = str(victim) if path == "/abs" else path
    evil = stored(tmp_path / "store", b"owned")
    listed = [{"md5": run.stages[1].outputs[REPORT], "relpath": "report.json"}]
    listed.append({"md5": evil, "relpath": path})
    forged = stored(tmp_path / "store", json.dumps(listed).encode(), ".dir")
    lock = lock_with(shared, run, run.stages[1].outputs[FOLDER], forged)
    forge(shared, run, {"cases/toy/dvc.lock": lock})
    there = brought(tmp_path, run.id)
    for asked in (REPORT, FOLDER):
        with pytest.raises((ArtifactMissing, HostileRun)):
            open_artifact(there, run.id, asked)
    assert victim.read_text() == VICTIM
    assert not verify_run(there, run.id).is_whole


@pytest.mark.parametrize("kind", ["lock", "member"])
def test_an_object_that_is_named_by_a_path(shared, tmp_path, victim, kind):  # noqa: F811
    """`aa` and an absolute path: joined to the cache's folder, it is that path."""
    run = toy_run(shared)
    push(shared)
    name = f"aa{victim}"
    if kind == "member":
        listed = json.dumps([{"md5": name, "relpath": "report.json"}]).encode()
        name = stored(tmp_path / "store", listed, ".dir")
    lock = lock_with(shared, run, run.stages[1].outputs[FOLDER], name)
    forge(shared, run, {"cases/toy/dvc.lock": lock})
    there = colleague(tmp_path)
    with pytest.raises(HostileRun, match=run.id):
        pull(there, run.id)
    assert victim.read_text() == VICTIM
    with suppress(HostileRun):
        run_objects(there, [run.id])
    with pytest.raises((ArtifactMissing, HostileRun)):
        open_artifact(there, run.id, REPORT)
    toy_run(there)
    plan_prune(there, Keep(newest=1), now=datetime.now(UTC))
    assert victim.read_text() == VICTIM


def test_an_object_that_is_not_what_it_is_named_is_not_kept(shared, tmp_path):  # noqa: F811
    run = toy_run(shared)
    push(shared)
    md5 = run.stages[1].outputs[REPORT]
    place(tmp_path / "store", md5).chmod(0o644)
    place(tmp_path / "store", md5).write_bytes(b"owned")
    there = colleague(tmp_path)
    with pytest.raises(remote.ObjectsMissing, match=REPORT):
        pull(there, run.id)
    assert not place(cache_of(there), md5).exists()  # DVC would take it for whole
    with pytest.raises(ArtifactMissing):
        open_artifact(there, run.id, REPORT)


@pytest.mark.parametrize(
    "lies",
    [{"id": "../../../home/victim"}, {"id": "20991231T000000-toy-00000000"}, {"case": "../../x"}],
    ids=str,
)
def test_a_record_that_is_of_another_run(shared, tmp_path, lies):  # noqa: F811
    run = toy_run(shared)
    push(shared)
    forge(shared, run, {}, **lies)
    there = colleague(tmp_path)
    assert list_runs(there) == []
    with pytest.raises(RunUnknown, match=f"run/{run.id} holds no record"):
        read_run(there, run.id)


@pytest.mark.parametrize("name", ["x/y", "$(id)", "-rf", "\u202egnp", "toy", "<b>", "a@b"])
def test_a_tag_that_is_named_like_no_run(shared, tmp_path, name):  # noqa: F811
    run = toy_run(shared)
    push(shared)
    forge(shared, run, {}, tag=name, id=name)
    there = colleague(tmp_path)
    assert list_ids(there) == [run.id]
    assert [one.id for one in list_runs(there)] == [run.id]
    pull(there, "latest")
    with pytest.raises(RunUnknown):
        read_run(there, f"{name}-")


LINKS = {
    "the artifacts": "cases/toy/artifacts",
    "a stage's artifacts": "cases/toy/artifacts/first",
    "DVC's own settings": ".dvc/config.local",
    "what runs in which image": "environments.yaml",
    "the run's record": "cases/toy/run.json",
}


@pytest.mark.parametrize("at", LINKS.values(), ids=LINKS.keys())
def test_a_commit_that_has_a_link_where_a_run_writes(shared, tmp_path, victim, at):  # noqa: F811
    run = toy_run(shared)
    (victim.parent / "first").mkdir()
    (victim.parent / "first/report.json").write_text(VICTIM)
    folder = at.endswith(("artifacts", "first"))
    target = (
        (victim.parent / "first" if at.endswith("first") else victim.parent) if folder else victim
    )
    commit = forge(shared, run, {at: target})
    record = run.model_copy(update={"commit": commit})
    taken = Snapshot(commit=commit, parent=commit, dirty=())
    with pytest.raises(HostileRun, match=at):
        runs.create(shared, "toy", expose=["cases/toy"], now=datetime.now(UTC), taken=taken)
    with pytest.raises(HostileRun, match=at), clean_clone(shared, record):
        pass
    assert victim.read_text() == VICTIM
    assert (victim.parent / "first/report.json").read_text() == VICTIM
    assert list((shared / runs.RUNS).iterdir()) == []


@pytest.mark.parametrize("path", ["../../../../../../home/victim", "ABS", "sub/../../../../x"])
def test_a_dvc_file_that_leads_out_of_the_workspace(shared, tmp_path, victim, path):  # noqa: F811
    path = str(victim) if path == "ABS" else path
    md5 = stored(cache_of(shared), b"owned")
    text = f"outs:\n- md5: {md5}\n  size: 5\n  hash: md5\n  path: {path}\n"
    (shared / "cases/toy/data.dvc").write_text(text)
    git(shared, "add", "-f", "cases/toy/data.dvc")
    git(shared, "commit", "-qm", "Forged")
    with pytest.raises(HostileRun, match=r"cases/toy/data\.dvc"):
        runs.create(shared, "toy", expose=["cases/toy"], now=datetime.now(UTC))
    assert victim.read_text() == VICTIM
    assert not (tmp_path / "x").exists()


class Began(Exception):  # noqa: N818  reads as the fact that it is
    """Somebody's program would run now."""


def began(*_):
    raise Began


def test_somebody_elses_program_runs_here_if_the_branch_holds_it_or_a_person_says_so(
    shared,  # noqa: F811
    tmp_path,
):
    same, process = toy_run(shared, isolation="docker"), toy_run(shared)
    (shared / "toys/first.py").write_text("import os; os.system('id')\n" + FIRST)
    git(shared, "commit", "-qam", "Another program")
    other = toy_run(shared, isolation="docker")
    for run in (same, process, other):
        push(shared, run.id)
        with pytest.raises(Began):  # it was made here
            reproduce(shared, run.id, print, start=began)
    there = colleague(tmp_path)
    for run in (same, process, other):
        pull(there, run.id)
    with pytest.raises(Began):
        reproduce(there, same.id, print, start=began)
    for run, why in ((process, "in no container"), (other, r"toys/first\.py\. Repeating")):
        with pytest.raises(ForeignRun, match=why):
            reproduce(there, run.id, print, start=began)
        with pytest.raises(Began):
            reproduce(there, run.id, print, start=began, trusted=True)
    with pytest.raises(ForeignRun, match=f"assay rerun {process.id} --isolation process"):
        begin_again(there, Repeat(of=process), None, print, None)

"""What a stage leaves that is no plain file of its own is refused by name, and touches nothing."""

import os
import threading
from pathlib import Path

import pytest
from toy_run import begin, engine_of
from toy_workspace import FakeRunner, quiet, toy_rows

from containers.docker_runner import DockerRunner
from lineage import runs
from lineage.execute import StageFailed
from lineage.staging import BadOutput, check

GOOD = """
import os
def run(params, inputs, into):
    open(into + "/report.json", "w").write("new"); os.mkdir(into + "/pictures")
    open(into + "/pictures/a", "w").write("x")
    bad = into + "/pictures/bad"
"""
BAD = {
    "a symlink out of the tree": ("os.symlink({secret!r}, bad)", "a symlink"),
    "a symlink to nothing": ("os.symlink('/nowhere', bad)", "a symlink"),
    "a FIFO": ("os.mkfifo(bad)", "a FIFO"),
    "a device": ("import stat; os.mknod(bad, 0o600 | stat.S_IFCHR, os.makedev(1, 5))", "a device"),
    "a hard link out of the tree": ("os.link({secret!r}, bad)", "a hard link"),
    "a file of another user": (
        "open(bad, 'w').close(); os.chown(bad, 12345, 12345)",
        "which user 12345 owns",
    ),
    "a folder of another user": (
        "os.mkdir(bad); os.chown(bad, 12345, 12345)",
        "which user 12345 owns",
    ),
}


@pytest.mark.parametrize(("body", "said"), BAD.values(), ids=BAD)
def test_it_is_refused_by_name_and_the_former_outputs_stand(workspace: Path, body: str, said: str):
    if os.geteuid() and ("chown" in body or "mknod" in body):
        pytest.skip("only root can leave that")
    secret = workspace.parent / "secret"
    secret.write_text("of the host")
    secret.chmod(0o600)
    first = toy_rows()[0]
    run = begin(workspace)
    engine = engine_of(run)
    engine.advance(first, on_line=quiet, cancel=threading.Event())
    cached = {path for path in (workspace / ".dvc/cache").rglob("*") if path.is_file()}
    source = GOOD + "    " + body.format(secret=str(secret)) + "\n"
    (run.tree / "toys/first.py").write_text(source)
    with pytest.raises(StageFailed, match=rf"first left 'pictures/bad', {said}") as failed:
        engine.advance(first, on_line=quiet, cancel=threading.Event())
    assert failed.value.exit_status == 3
    assert (run.tree / first.folder / "report.json").read_text() == "10"
    assert {path for path in (workspace / ".dvc/cache").rglob("*") if path.is_file()} == cached
    assert (secret.read_text(), oct(secret.stat().st_mode)[-3:]) == ("of the host", "600")
    assert not list((run.tree / ".assay/jobs").iterdir())
    runs.close(run, None)


@pytest.mark.parametrize("what", ["a file", "a folder"])
def test_what_root_left_among_the_outputs_of_another_user_is_refused(workspace: Path, what: str):
    if os.geteuid():
        pytest.skip("only root can leave that")
    staging = workspace.parent / "staging"
    (staging / "pictures").mkdir(parents=True)
    (staging / "report.json").write_text("new")
    bad = staging / "pictures/bad"
    bad.write_text("x") if what == "a file" else bad.mkdir()
    for path in (staging, staging / "report.json", staging / "pictures"):
        os.chown(path, 12345, 12345)
    with pytest.raises(BadOutput, match=r"'pictures/bad', which user 0 owns, while .* user 12345"):
        check(toy_rows()[0], staging)


@pytest.mark.docker
@pytest.mark.parametrize("what", ["a FIFO", "a symlink to nothing"])
def test_a_container_leaves_none_either(engine, workspace: Path, what: str):
    runner = DockerRunner(engine)
    run = begin(workspace)
    (run.tree / "environments.yaml").write_text(f"base: {runner.environment_key('base')}\n")
    (run.tree / "toys/first.py").write_text(GOOD + "    " + BAD[what][0] + "\n")
    first = toy_rows()[0]
    with pytest.raises(StageFailed, match=f"first left 'pictures/bad', {BAD[what][1]}"):
        engine_of(run, runner).advance(first, on_line=quiet, cancel=threading.Event())
    assert not (run.tree / first.folder).exists()
    runs.close(run, None)


def test_an_output_that_its_owner_may_not_read_is_made_plain(workspace: Path):
    run = begin(workspace)
    (run.tree / "toys/first.py").write_text(GOOD + "    open(bad, 'w').close(); os.chmod(bad, 0)\n")
    first = toy_rows()[0]
    made = engine_of(run, FakeRunner()).advance(first, on_line=quiet, cancel=threading.Event())
    assert made.how == "ran"
    bad = run.tree / first.folder / "pictures/bad"
    assert oct(bad.stat().st_mode)[-3:] in {"444", "644"}
    runs.close(run, None)

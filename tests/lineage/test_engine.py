"""Unchanged, restored or ran; and never half."""

import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from toy_workspace import FakeRunner, dvc, fill_workspace, git, quiet, row, toy_rows, write_graph

from containers.job import Job, Reason
from containers.reap import label_of
from lineage.dvc_repo import GraphStale
from lineage.engine import Engine, EnvironmentStale, InputsChanged
from lineage.execute import StageFailed, execute, workspace_of
from lineage.fence import Cancelled, fence
from lineage.job_folder import InputMissing

LOCK = "cases/toy/dvc.lock"


@pytest.fixture
def runner() -> FakeRunner:
    return FakeRunner()


@pytest.fixture
def engine(workspace: Path, runner: FakeRunner) -> Engine:
    return Engine(workspace, runner=runner, run_id="r1", logs=workspace / ".assay/logs")


def advance(engine: Engine, *rows) -> list[str]:
    return [engine.advance(one, on_line=quiet, cancel=threading.Event()).how for one in rows]


def test_a_stage_runs_once_and_is_unchanged_after(engine: Engine, runner: FakeRunner):
    assert advance(engine, *toy_rows()) == ["ran", "ran"]
    assert advance(engine, *toy_rows()) == ["unchanged", "unchanged"]
    assert runner.ran == ["first", "second"]


def test_a_fresh_engine_knows_what_an_earlier_one_did(engine: Engine, workspace: Path):
    advance(engine, *toy_rows())
    other = Engine(workspace, runner=FakeRunner(), run_id="r2", logs=workspace / ".assay/logs")
    outcome = other.advance(toy_rows()[0], on_line=quiet, cancel=threading.Event())
    assert outcome.how == "unchanged"
    assert (outcome.provenance.run_id, outcome.provenance.from_run) == ("r2", "r1")


def test_the_lock_is_byte_for_byte_what_dvc_repro_writes(engine: Engine, workspace: Path):
    advance(engine, *toy_rows())
    ours = (workspace / LOCK).read_bytes()
    # The same outputs by a plain command, in plain DVC, without run cache, outputs or lock.
    shutil.copytree(workspace / "cases/toy/artifacts", workspace / "made")
    shutil.rmtree(workspace / "cases/toy/artifacts")
    shutil.rmtree(workspace / ".dvc/cache")
    (workspace / LOCK).unlink()
    graph = workspace / "cases/toy/dvc.yaml"
    before = graph.read_text()
    commands = {
        one.command: f"mkdir -p artifacts && cp -r ../../made/{one.name} artifacts/"
        for one in toy_rows()
    }
    for command, copying in commands.items():
        graph.write_text(graph.read_text().replace(command, copying))
    dvc(workspace, "repro", "cases/toy/dvc.yaml")
    theirs = (workspace / LOCK).read_text()
    for command, copying in commands.items():
        theirs = theirs.replace(copying, command)
    assert graph.read_text() != before
    assert theirs.encode() == ours


def test_plain_dvc_finds_nothing_to_do_afterwards(engine: Engine, workspace: Path):
    advance(engine, *toy_rows())
    ours = (workspace / LOCK).read_bytes()
    said = dvc(workspace, "repro", "cases/toy/dvc.yaml")
    assert said.count("didn't change, skipping") == 2
    assert "up to date" in dvc(workspace, "status")
    assert (workspace / LOCK).read_bytes() == ours


def test_plain_dvc_restores_what_the_engine_put_into_the_run_cache(engine: Engine, workspace: Path):
    advance(engine, *toy_rows())
    shutil.rmtree(workspace / "cases/toy/artifacts")
    (workspace / LOCK).unlink()
    assert dvc(workspace, "repro", "cases/toy/dvc.yaml").count("is cached - skipping run") == 2
    assert advance(engine, *toy_rows()) == ["unchanged", "unchanged"]


@pytest.mark.parametrize(
    "path", ["toys/first.py", "cases/toy/data.txt"], ids=["a source", "an input"]
)
def test_an_edit_of_a_dependency_reruns_the_stage(engine: Engine, workspace: Path, path: str):
    advance(engine, *toy_rows())
    (workspace / path).write_text((workspace / path).read_text() + "\n")
    assert advance(engine, toy_rows()[0]) == ["ran"]


def test_a_changed_param_reruns_and_the_former_value_is_restored(engine: Engine, workspace: Path):
    first = toy_rows()[0]
    advance(engine, first)
    (workspace / "params.yaml").write_text("first:\n  n: 3\n")
    assert advance(engine, toy_rows(3)[0]) == ["ran"]
    assert (workspace / first.folder / "report.json").read_text() == "15"
    (workspace / "params.yaml").write_text("first:\n  n: 2\n")
    assert advance(engine, first, first) == ["restored", "unchanged"]
    assert (workspace / first.folder / "report.json").read_text() == "10"
    assert "up to date" in dvc(workspace, "status", "cases/toy/dvc.yaml:first")


def test_another_environment_never_reuses_a_result(engine: Engine, workspace: Path):
    advance(engine, toy_rows()[0])
    (workspace / "environments.yaml").write_text("base: docker:abc\n")
    with pytest.raises(EnvironmentStale, match="docker:abc"):
        advance(engine, toy_rows()[0])
    other = Engine(
        workspace, runner=FakeRunner(key="docker:abc"), run_id="r", logs=workspace / ".assay/logs"
    )
    assert advance(other, toy_rows()[0]) == ["ran"]


@pytest.mark.parametrize(
    ("path", "text"),
    [("cases/toy/data.txt", "edited"), ("params.yaml", "first:\n  n: 9\n")],
    ids=["an input", "a param"],
)
def test_an_edit_while_the_stage_runs_is_refused(engine, runner, workspace, path, text):
    runner.during = lambda _job: (workspace / path).write_text(text)
    first = toy_rows()[0]
    with pytest.raises(InputsChanged, match=path):
        advance(engine, first)
    assert not (workspace / first.folder).exists()
    assert not (workspace / LOCK).exists()


def test_code_edited_while_the_stage_runs_is_not_what_runs(engine, runner, workspace):
    runner.during = lambda _job: (workspace / "toys/first.py").write_text("broken(")
    with pytest.raises(InputsChanged, match=r"toys/first\.py"):
        advance(engine, toy_rows()[0])


def test_only_what_is_declared_is_visible(engine: Engine, runner: FakeRunner):
    seen: dict[str, bool] = {}
    runner.during = lambda job: seen.update({m.target: m.writable for m in job.mounts})
    advance(engine, toy_rows()[0])
    assert seen == {"toys": False, "cases/toy/data.txt": False, "job.json": False, "out": True}


def test_a_job_says_all_that_the_stage_needs(engine: Engine, runner: FakeRunner):
    import json

    said: list[dict] = []

    def look(job: Job) -> None:
        source = next(m.source for m in job.mounts if m.target == "job.json")
        said.append(json.loads(source.read_text()))

    runner.during = look
    advance(engine, toy_rows()[0])
    assert said[0] == {
        "schema": 1,
        "case": "toy",
        "name": "first",
        "stage": "first",
        "module": "toys.first",
        "side": None,
        "params": {"n": 2},
        "inputs": {"data": "cases/toy/data.txt", "absent": None},
        "into": "out",
        "code": [],
        "private": False,
    }


def _break(workspace: Path, body: str) -> None:
    (workspace / "toys/first.py").write_text(f"import os\ndef run(params, inputs, into):\n{body}")


GOOD = (
    "    open(into + '/report.json', 'w').write('x'); os.mkdir(into + '/pictures')\n"
    "    open(into + '/pictures/a', 'w').write('x')\n"
)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (GOOD + "    os.symlink('/etc/passwd', into + '/pictures/b')\n", "a symlink"),
        (GOOD + "    os.mkfifo(into + '/pictures/b')\n", "a FIFO"),
        (
            GOOD + "    import socket; socket.socket(socket.AF_UNIX).bind('out/pictures/b')\n",
            "a socket",
        ),
        (GOOD + "    os.link(into + '/pictures/a', into + '/pictures/b')\n", "a hard link"),
        (GOOD + "    open(into + '/more.txt', 'w')\n", "more.txt, which it does not declare"),
        ("    pass\n", "did not write its output pictures"),
        (GOOD + "    open(into + '/pictures/.dvcignore', 'w').write('*')\n", "leave out"),
        ("    raise ValueError('no luck')\n", "ValueError: no luck"),
    ],
    ids=[
        "a symlink",
        "a FIFO",
        "a socket",
        "a hard link",
        "an undeclared file",
        "a missing output",
        "a .dvcignore",
        "an exception",
    ],
)
def test_a_bad_output_is_refused_and_nothing_is_left(engine, workspace, body, said):
    _break(workspace, body)
    first = toy_rows()[0]
    with pytest.raises(StageFailed, match=said) as failed:
        advance(engine, first)
    assert failed.value.row == "first"
    assert failed.value.provenance.how == "failed"
    assert not (workspace / first.folder).exists()
    assert list((workspace / ".assay/jobs").iterdir()) == []


def test_a_failed_run_leaves_the_former_outputs(engine: Engine, workspace: Path):
    first = toy_rows()[0]
    advance(engine, first)
    _break(workspace, GOOD + "    raise ValueError\n")
    with pytest.raises(StageFailed):
        advance(engine, first)
    assert (workspace / first.folder / "report.json").read_text() == "10"


def test_a_stage_that_dies_without_a_word_is_told_with_its_log(engine: Engine, workspace: Path):
    _break(workspace, "    os._exit(7)\n")
    with pytest.raises(StageFailed, match=r"first failed\. Status 7\..*first\.log") as failed:
        advance(engine, toy_rows()[0])
    assert failed.value.exit.reason is Reason.FAILED


def test_a_link_in_place_of_the_error_note_is_not_followed(engine: Engine, workspace: Path):
    secret = workspace.parent / "secret.json"
    secret.write_text('{"message": "of the host"}')
    _break(workspace, f"    os.symlink({str(secret)!r}, 'out/error.json'); os._exit(1)\n")
    with pytest.raises(StageFailed, match="first failed"):
        advance(engine, toy_rows()[0])


def test_an_empty_output_folder_survives_the_cache(engine: Engine, workspace: Path):
    _break(
        workspace,
        "    open(into + '/report.json', 'w').write('x'); os.mkdir(into + '/pictures')\n",
    )
    first = toy_rows()[0]
    advance(engine, first)
    shutil.rmtree(workspace / first.folder)
    assert advance(engine, first) == ["restored"]
    assert (workspace / first.folder / "pictures").is_dir()


def test_a_missing_input_is_named_with_the_next_step(engine: Engine, workspace: Path):
    (workspace / "cases/toy/data.txt").unlink()
    with pytest.raises(InputMissing, match=r"first needs cases/toy/data\.txt.*dvc pull"):
        advance(engine, toy_rows()[0])


def test_a_stale_graph_is_refused(engine: Engine, workspace: Path):
    write_graph(workspace, toy_rows()[:1])
    with pytest.raises(GraphStale, match="second"):
        advance(engine, toy_rows()[1])


@pytest.mark.parametrize("text", ["", "schema: '2.0'\nsta", "[1"], ids=["empty", "cut", "garbage"])
def test_a_broken_lock_is_brought_back_from_its_journal(engine, workspace, runner, text):
    advance(engine, *toy_rows())
    whole = (workspace / LOCK).read_text()
    (workspace / LOCK).write_text(text)
    assert advance(engine, *toy_rows()) == ["unchanged", "unchanged"]
    assert (workspace / LOCK).read_text() == whole


def test_a_cached_file_is_never_written_through(engine: Engine, workspace: Path):
    with (workspace / ".dvc/config").open("a") as config:
        config.write("[cache]\n    type = hardlink\n")
    first = toy_rows()[0]
    advance(engine, first)
    report = workspace / first.folder / "report.json"
    assert report.stat().st_nlink == 2
    assert oct(report.stat().st_mode)[-3:] == "444"
    cached = next(p for p in (workspace / ".dvc/cache/files").rglob("*") if p.samefile(report))
    (workspace / "params.yaml").write_text("first:\n  n: 3\n")
    advance(engine, toy_rows(3)[0])
    assert cached.read_text() == "10"
    assert report.read_text() == "15"


def test_independent_stages_advance_at_the_same_time(workspace: Path):
    meeting = threading.Barrier(4, timeout=30)
    rows = []
    for index in range(4):
        name = f"part{index}"
        (workspace / f"toys/{name}.py").write_text(
            "def run(params, inputs, into):\n    open(into + '/report.json', 'w').write('x')\n"
        )
        rows.append(row(name, inputs={}, outputs={"report": "report.json"}))
    write_graph(workspace, rows)
    runner = FakeRunner(during=lambda _job: meeting.wait())
    engine = Engine(workspace, runner=runner, run_id="r", logs=workspace / ".assay/logs")
    with ThreadPoolExecutor(4) as pool:
        assert [how for [how] in pool.map(lambda one: advance(engine, one), rows)] == ["ran"] * 4
    assert advance(engine, *rows) == ["unchanged"] * 4


def test_two_engines_on_one_stage_wait_for_each_other(engine: Engine, workspace: Path):
    runner = FakeRunner()
    other = Engine(workspace, runner=runner, run_id="r2", logs=workspace / ".assay/logs2")
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(advance, one, toy_rows()[0]) for one in (engine, other)]
        assert sorted(future.result()[0] for future in asked) == ["ran", "unchanged"]


def test_a_wait_for_another_process_can_be_cancelled(engine: Engine, workspace: Path, cancel):
    cancel.set()
    with (
        fence(workspace / ".assay/locks/toy-first.lock", on_wait=lambda: None),
        pytest.raises(Cancelled, match="toy-first"),
    ):
        engine.advance(toy_rows()[0], on_line=quiet, cancel=cancel)


def test_provenance_says_where_and_on_what(engine: Engine, workspace: Path):
    made = engine.advance(toy_rows()[0], on_line=quiet, cancel=threading.Event()).provenance
    assert made.isolation == "process"
    assert made.environment == "process:fake"
    assert made.inside == {"uid": os.getuid()}
    assert made.exit_reason == "done"
    assert all(one.before == one.after for one in made.inputs.values())
    assert set(made.outputs) == {
        "cases/toy/artifacts/first",
        "cases/toy/artifacts/first/report.json",
        "cases/toy/artifacts/first/pictures",
    }


def test_the_hash_after_is_what_was_seen_and_none_where_nobody_looked(engine, monkeypatch):
    looked = []
    deps = engine._repo.deps
    monkeypatch.setattr(engine._repo, "deps", lambda stage: looked.append(1) or deps(stage))
    first = toy_rows()[0]
    ran = engine.advance(first, on_line=quiet, cancel=threading.Event()).provenance
    assert len(looked) == 2
    assert {one.after for one in ran.inputs.values()} == {one.before for one in ran.inputs.values()}
    known = engine.advance(first, on_line=quiet, cancel=threading.Event()).provenance
    assert {one.after for one in known.inputs.values()} == {None}


def test_a_job_is_labelled_and_named_by_its_workspace(engine, runner, workspace, tmp_path):
    jobs: list[Job] = []
    runner.during = jobs.append
    advance(engine, toy_rows()[0])
    other = fill_workspace(tmp_path / "clone")
    advance(Engine(other, runner=runner, run_id="r1", logs=other / ".assay/logs"), toy_rows()[0])
    here, there = jobs
    assert here.labels["assay.workspace"] == label_of(workspace)
    assert here.labels["assay.run"] == there.labels["assay.run"] == "r1"
    assert here.name != there.name
    assert workspace_of(workspace / ".assay/runs/r1/tree") == workspace


def test_execute_alone_serves_plain_dvc(workspace: Path, runner: FakeRunner, cancel):
    first = toy_rows()[0]
    done = execute(
        first,
        workspace,
        runner,
        run_id="dvc",
        on_line=quiet,
        cancel=cancel,
        logs=workspace / ".assay/logs",
    )
    assert (workspace / first.folder / "report.json").read_text() == "10"
    assert done.log.read_text() == "starting\n"
    assert len(done.log_sha256) == 64
    assert git(workspace, "status", "--porcelain", "--", "toys") == ""

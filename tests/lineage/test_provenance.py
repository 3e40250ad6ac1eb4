"""Each stage's provenance holds what is needed to tell where a number is from."""

import hashlib
from pathlib import Path

import pytest
from toy_runs import run_toy
from toy_workspace import LOG

from lineage.run_tags import read_run

PICTURE = "cases/toy/artifacts/first/pictures"


@pytest.fixture(autouse=True)
def _stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path.cwd())


def test_every_fact_of_a_stage_that_ran_is_in_the_runs_tag(workspace: Path):
    run = read_run(workspace, run_toy(workspace, 1, flow_run_id="the-flow-run"))
    first = run.stages[0]
    data = hashlib.md5(b"12345", usedforsecurity=False).hexdigest()
    assert first.inputs["cases/toy/data.txt"].model_dump() == {"before": data, "after": data}
    assert all(one.before == one.after for one in first.inputs.values())
    assert set(first.inputs) >= {"toys/enter.py", "toys/first.py"}  # its code too
    assert set(first.outputs) == {
        "cases/toy/artifacts/first",
        "cases/toy/artifacts/first/report.json",
        PICTURE,
    }
    assert first.params == {"n": 2}
    assert first.environment == "process:fake"  # docker:<build key> in a container
    assert (first.image, first.image_id, first.base_digest) == ("base", "sha256:1", "sha256:2")
    assert first.limits.model_dump() == {"threads": 1, "memory_bytes": 2**30, "timeout_s": 60}
    assert first.isolation == "process"
    assert (first.exit_reason, first.exit_code) == ("done", 0)
    assert str(first.started) < str(first.ended)
    assert first.wall_s > 0
    assert first.log_sha256 == hashlib.sha256(LOG.encode()).hexdigest()
    assert (first.run_id, first.from_run, first.commit) == (run.id, None, run.commit)
    assert (first.flow_run_id, run.flow_run_id) == ("the-flow-run", "the-flow-run")
    assert {"system", "kernel", "machine", "cpu", "cpus", "memory_bytes"} <= set(first.host or {})
    assert (first.inside or {})["uid"] >= 0


def test_a_restored_stage_tells_of_the_run_commit_and_flow_run_that_made_it(workspace: Path):
    one = read_run(workspace, run_toy(workspace, 1, flow_run_id="first"))
    (workspace / "cases/toy/note.md").write_text("another commit, the same stages")
    two = read_run(workspace, run_toy(workspace, 2, flow_run_id="second"))
    stage = two.stages[0]
    assert (stage.how, stage.run_id, stage.from_run) == ("restored", two.id, one.id)
    assert (stage.commit, stage.flow_run_id) == (one.commit, "first")
    assert two.commit != one.commit
    assert stage.log_sha256 == one.stages[0].log_sha256


def test_no_output_names_a_run_a_time_or_a_host(workspace: Path):
    run = read_run(workspace, run_toy(workspace, 1))
    host = [str(value) for value in (run.stages[0].host or {}).values() if isinstance(value, str)]
    for path in (workspace / ".dvc/cache/files/md5").glob("*/*"):
        text = path.read_text()
        assert not any(said in text for said in (run.id, run.started[:16], *host[:2]))

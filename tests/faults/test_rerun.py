"""A run is repeated from its own commit, and only what is needed runs."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path[:0] = [str(Path(__file__).parents[1] / "e2e")]

from clone import Clone, make_clone  # noqa: E402

from flows import current, repeat, run_end, server, workspace  # noqa: E402
from flows.begin_again import begin_again  # noqa: E402
from flows.case import load_case  # noqa: E402
from flows.commands import run as command  # noqa: E402
from flows.commands.rerun import rerun  # noqa: E402
from flows.cut import NotInTime  # noqa: E402
from flows.investigation import Investigation, begin  # noqa: E402
from flows.plan import plan  # noqa: E402
from flows.repeat import NotRepeatable, Repeat, compare, repeat_of  # noqa: E402
from lineage import runs  # noqa: E402
from lineage.cache_objects import place  # noqa: E402
from lineage.provenance import RunRecord  # noqa: E402

STEPS = "cases/toy/code/toy_steps.py"
SOME = ("data", "train", "collect-candidate")
"""As far as a run of these tests goes: the first stages are as good as any."""


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    root = tmp_path_factory.mktemp("rerun") / "workspace"
    root.mkdir()
    return make_clone(root, "http://127.0.0.1:9/api")


@pytest.fixture(scope="module")
def first(clone: Clone) -> RunRecord:
    here = Path.cwd()
    try:
        return go(begin(clone.root, "toy", "process", print, "2h"), SOME)
    finally:
        os.chdir(here)


@pytest.fixture(autouse=True)
def _stay() -> Iterator[None]:
    here = Path.cwd()
    yield
    os.chdir(here)


def go(investigation: Investigation, names: tuple[str, ...]) -> RunRecord:
    """Bring some stages up to date and end the run there, as a failure would."""
    try:
        for name in names:
            investigation.advance(name)
    except NotRepeatable as error:
        return investigation.conclude(error)
    return investigation.conclude(NotInTime("Far enough."))


def again(clone: Clone, of: RunRecord, **asked) -> RunRecord:
    asked = {"stage": None, "only_failed": False, **asked}
    repeat = repeat_of(clone.root, of.id, asked["stage"], only_failed=asked["only_failed"])
    return go(begin_again(clone.root, repeat, None, print, None), SOME)


def hows(record: RunRecord) -> list[str]:
    return [stage.how for stage in record.stages]


def test_what_is_cached_is_restored_whatever_the_workspace_has_become(clone, first):
    assert hows(first) == ["ran", "ran", "ran"]
    clone.edit(STEPS, "def ", "# Another code by now.\ndef ")
    (clone.root / "params.yaml").rename(clone.root / "params.away")
    try:
        record = again(clone, first)
    finally:
        (clone.root / "params.away").rename(clone.root / "params.yaml")
        clone.git("checkout", "--", STEPS)
    assert hows(record) == ["restored", "restored", "restored"]
    assert (record.of, record.commit) == (first.id, first.commit)
    assert runs.read_run(clone.root, record.id).of == first.id
    assert compare(first, record, SOME) == {name: [] for name in SOME}


def test_from_a_stage_on_all_is_made_anew_and_compared(clone, first):
    record = again(clone, first, stage="collect-candidate")
    assert hows(record) == ["restored", "restored", "ran"]
    assert compare(first, record, ["collect-candidate"]) == {"collect-candidate": []}
    made = record.stages[-1]
    assert (made.commit, made.from_run) == (record.commit, None)
    assert record.trigger == {"by": "hand", "where": "command line"}


def test_all_that_reads_what_a_stage_makes_is_made_anew_with_it(clone, first):
    rows = plan(load_case(clone.root, "toy"))
    asked = repeat_of(clone.root, first.id, "split", only_failed=False).bound_to(rows)
    assert {"split", "preprocess-candidate", "parity", "gate", "report"} <= asked.fresh
    assert "data" not in asked.fresh
    late = repeat_of(clone.root, first.id, "report", only_failed=False).bound_to(rows)
    assert late.fresh == {"report"}


def test_a_stage_that_nobody_has_is_named_and_leaves_no_run(clone, first):
    before = [run.id for run in runs.list_runs(clone.root)]
    with pytest.raises(NotRepeatable, match=r"Which stage\? One of: .*data.* Got: nope"):
        again(clone, first, stage="nope")
    assert [run.id for run in runs.list_runs(clone.root)] == before
    assert not list((clone.root / ".assay/runs").iterdir())


def test_only_failed_runs_nothing_that_had_finished(clone, first):
    assert hows(again(clone, first, only_failed=True)) == ["restored", "restored", "restored"]
    [folder] = [out for out in first.stages[1].outputs.values() if out.endswith(".dir")][:1]
    lost = place(clone.root / ".dvc/cache", folder)
    content = lost.read_bytes()
    lost.unlink()
    record = again(clone, first, only_failed=True)
    assert record.state == "failed"
    assert "train had finished in run" in record.error
    assert f"assay pull {first.id}" in record.error
    assert hows(record) == ["restored"]
    lost.write_bytes(content)


def test_only_failed_of_a_run_in_which_nothing_failed_is_refused(clone, first, monkeypatch):
    done = first.model_copy(update={"state": "done"})
    monkeypatch.setattr(repeat.runs, "read_run", lambda *_: done)
    with pytest.raises(NotRepeatable, match=r"Nothing failed in run .* --from STAGE"):
        repeat_of(clone.root, first.id, None, only_failed=True)


def test_stages_that_declare_something_else_by_now_are_not_run_as_the_old_ones(clone, first):
    clone.edit("cases/toy/dvc.yaml", "desc: ", "desc: Once, ")
    clone.git("commit", "-qam", "An older graph")
    try:
        commit = clone.git("rev-parse", "HEAD").strip()
        older = first.model_copy(update={"commit": commit})
        with pytest.raises(NotRepeatable, match=rf"declared otherwise.*assay reproduce {first.id}"):
            begin_again(clone.root, Repeat(of=older), None, print, None)
    finally:
        clone.git("revert", "--no-edit", "HEAD")
    assert not list((clone.root / ".assay/runs").iterdir())


def test_which_files_differ_is_said(first):
    stage = first.stages[1]
    folder, *files = sorted(stage.outputs)
    other = {**stage.outputs, folder: "0.dir", files[0]: "0"}
    changed = first.model_copy(update={"stages": [stage.model_copy(update={"outputs": other})]})
    assert compare(first, changed, [stage.name]) == {stage.name: [files[0]]}


def test_the_command_repeats_a_run_and_tells_what_became_of_it(clone, first, monkeypatch):
    """All but Prefect: its part is to call `advance` for each stage."""
    monkeypatch.setattr(workspace, "find", lambda _start: clone.root)
    monkeypatch.setattr(server, "ensure", lambda _root, _say: "http://127.0.0.1:9/api")
    monkeypatch.setattr(server, "environment", lambda *_: {})
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    monkeypatch.setattr(command, "_warm_up", lambda: None)

    monkeypatch.setattr(server, "answers", lambda: True)
    monkeypatch.setattr(run_end, "tell", lambda *_: None)

    def follow(investigation: Investigation) -> None:
        for name in SOME:
            investigation.advance(name)
        raise NotInTime("Far enough.")

    monkeypatch.setattr(command, "_in_prefect", follow)
    asked = {"stage": "collect-candidate", "only_failed": False, "isolation": None, "budget": None}
    data, text, status = rerun(first.id, asked, print)
    assert (status, data["of"], data["ran"]) == (3, first.id, ["collect-candidate"])
    assert data["differs"] == {"collect-candidate": []}
    assert data["stages"] == {"data": "restored", "train": "restored", SOME[2]: "ran"}
    assert f"Resume it: assay rerun {first.id}" in text


def test_a_flow_run_that_is_tried_again_after_its_run_says_what_to_do():
    with pytest.raises(current.NotUnderWay, match="assay rerun 2026-x"):
        current.get("2026-x")


def test_after_a_failure_only_what_failed_runs_and_all_is_sound(toy, tmp_path):
    """By the command, with Prefect: a run that broke on something outside of it, and repeats."""
    flag = tmp_path / "flag"
    flag.touch()
    toy.state(parity=f"import os; assert not os.path.exists({str(flag)!r}), 'not yet'")
    broken = toy.run(status=3)
    flag.unlink()

    def again(*words: str, status: int = 0) -> Any:
        started = toy.mother.start(toy.root, *words, "--json")
        assert started.wait() == status, started.err + started.out
        return started.answer

    mended = again("rerun", "latest", "--only-failed")
    assert (mended["of"], mended["stages"]["split"]) == (broken["run"], "restored")
    assert mended["ran"] == ["parity", "diagnose", "report"]
    late = again("rerun", "latest", "--from", "diagnose")
    assert (late["of"], late["ran"]) == (mended["run"], ["diagnose", "report"])
    assert late["differs"] == {"diagnose": [], "report": []}
    assert again("verify")["damaged"] == []
    refused = again("rerun", "latest", "--only-failed", status=2)
    assert "Nothing failed" in refused["error"]
    state = toy.flow_run(toy.records()[0].flow_run_id)["state"]
    assert (state["type"], state["name"]) == ("COMPLETED", "Gate open")
    assert toy.is_tidy()

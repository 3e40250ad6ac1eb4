"""What a thing is made of, and what is made of it, are told by the same arrows."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_runs import CASE, run_toy
from toy_workspace import git

from lineage.ancestry import Graph, code_roots, graph_of, kind_of
from lineage.provenance import Hashes, Limits, Provenance, RunRecord
from lineage.run_index import Place, in_memory
from lineage.run_tags import read_run

OUTPUT = "cases/toy/artifacts/second/report.json"


@pytest.fixture(autouse=True)
def _stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path.cwd())


def stage(name: str, run_id: str, inputs: dict[str, str], outputs: dict[str, str], **other):
    return Provenance(
        name=name,
        question="?",
        run_id=run_id,
        inputs={path: Hashes(before=md5) for path, md5 in inputs.items()},
        outputs=outputs,
        params={},
        environment="process:x",
        limits=Limits(threads=1, memory_bytes=1, timeout_s=1),
        **({"how": "ran"} | other),
    )


def record(run_id: str, stages: list[Provenance]) -> RunRecord:
    return RunRecord(
        id=run_id,
        case="toy",
        state="done",
        sentence="",
        commit="c",
        parent="p",
        isolation="process",
        started="s",
        ended="e",
        stages=stages,
    )


def folder(number: int) -> str:
    return f"cases/toy/artifacts/s{number}"


@st.composite
def histories(draw) -> list[RunRecord]:
    """Some runs of stages that read data, code and earlier stages; what is equal is restored."""
    runs: list[RunRecord] = []
    reads = [draw(st.sets(st.integers(0, at - 1))) if at else set() for at in range(5)]
    made: dict[tuple, tuple[str, str]] = {}  # what went in -> (hash, run)
    for number in range(draw(st.integers(1, 3))):
        run_id = f"2026120{number}T000000-toy-000{number}"
        hashes, stages = {}, []
        data = draw(st.sampled_from("ab"))
        for at in range(draw(st.integers(1, 5))):
            inputs = {f"{folder(one)}/report.json": hashes[one] for one in reads[at]}
            inputs["cases/toy/data.txt" if at % 2 else f"stages/s{at}.py"] = data
            key = (at, *sorted(inputs.items()))
            known = made.get(key)
            value, ran_in = known or (draw(st.sampled_from("xyz")) + str(at), run_id)
            made[key] = (value, ran_in)
            hashes[at] = value
            outputs = {folder(at): f"{value}.dir", f"{folder(at)}/report.json": value}
            how = {"how": "restored", "from_run": ran_in} if known else {}
            stages.append(stage(f"s{at}", run_id, inputs, outputs, **how))
        runs.append(record(run_id, stages))
    return runs


@settings(deadline=None)
@given(histories())
def test_forward_is_the_inverse_of_back(history: list[RunRecord]):
    for run in history:
        graph = graph_of(run, ("cases/toy/code",))
        after = {name: set(graph.forward([name]).nodes) for name in graph.nodes}
        before = {name: set(graph.back([name]).nodes) for name in graph.nodes}
        assert all((it in after[of]) == (of in before[it]) for of in after for it in before)
        assert all(name in before[name] for name in graph.nodes)


@settings(deadline=None)
@given(histories())
def test_the_index_of_all_runs_says_what_reading_every_record_says(history: list[RunRecord]):
    index = in_memory(Path("nowhere"), Path("nowhere"))
    for run in history:
        index.add(run.id, "tag", run.model_dump(mode="json")["stages"])
    every = [it for run in history for it in run.stages]
    places = {(path, it.before or "") for one in every for path, it in one.inputs.items()}
    for place in places:
        told = {(one.stage, one.ran_in) for one in index.made_from(Place(*place))}
        assert told == {(it.name, it.from_run or it.run_id) for it in _down({place}, every)}
        runs = {run for one in index.made_from(Place(*place)) for run in one.runs}
        assert runs == {run.id for run in history if _down({place}, every, run)}


def _down(places: set, every: list[Provenance], within: RunRecord | None = None):
    """Walk all records until nothing new is made; of one run, what it holds of that."""
    found: list[Provenance] = []
    while True:
        new = [
            it
            for it in every
            if it not in found
            and any((path, hashes.before) in places for path, hashes in it.inputs.items())
        ]
        if not new:
            return found if within is None else [it for it in found if it in within.stages]
        found += new
        places = places | {place for it in new for place in it.outputs.items()}


def test_an_output_goes_back_to_data_code_params_and_the_image(workspace: Path):
    (workspace / "cases/toy/case.yaml").write_text(CASE)
    git(workspace, "add", "-A")
    git(workspace, "commit", "-qm", "A case")
    run = read_run(workspace, run_toy(workspace, 1))
    back = graph_of(run, code_roots(workspace, run)).back([f"output:{OUTPUT}"])
    assert [it.name for it in back.of("data")] == ["cases/toy/data.txt"]
    assert {it.name for it in back.of("code")} >= {"toys/first.py", "toys/second.py"}
    assert [it.about["values"] for it in back.of("params")] == [{"n": 2}]
    assert [(it.name, it.hash) for it in back.of("image")] == [("base@sha256:1", "process:fake")]
    assert [it.name for it in back.of("stage")] == ["first", "second"]


def test_who_reads_a_folder_reads_what_stands_in_it():
    first = stage("a", "r", {}, {folder(0): "d.dir", f"{folder(0)}/x": "x"})
    second = stage("b", "r", {folder(0): "d.dir", f"{folder(0)}/deep/y": "y"}, {folder(1): "e.dir"})
    graph: Graph = graph_of(record("r", [first, second]), ())
    assert "stage:b" in graph.forward([f"output:{folder(0)}/x"]).nodes
    assert "stage:a" in graph.back([f"output:{folder(0)}/deep/y"]).nodes


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        pytest.param("stages/gate.py", "code", id="the program"),
        pytest.param("cases/toy/code", "code", id="a folder of code"),
        pytest.param("cases/toy/code/steps.py", "code", id="in a folder of code"),
        pytest.param("cases/toy/coder.csv", "data", id="a name that begins like it"),
        pytest.param("cases/toy/artifacts/gate/report.json", "output", id="made"),
        pytest.param("data_contracts/toy.yaml", "contract", id="a contract"),
        pytest.param("cases/toy/graph.json", "code", id="what is generated of the program"),
    ],
)
def test_a_path_is_told_by_where_it_stands(path: str, kind: str):
    assert kind_of(path, ("cases/toy/code",)) == kind

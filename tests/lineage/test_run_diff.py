"""What differs between two runs is told from their tags."""

import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest
from toy_workspace import FakeRunner, git, quiet, toy_rows, write_graph

from lineage import runs
from lineage.engine import Engine
from lineage.provenance import RunRecord
from lineage.run_diff import Change, compare, flatten
from lineage.run_tags import RunUnknown, find

CASE = """\
code: [code]
candidate:
  steps:
  - {name: decode, call: "steps:decode"}
  - {name: scale, call: "steps:scale", args: {by: 255}}
"""


@pytest.fixture(autouse=True)
def _stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path.cwd())


def run_case(workspace: Path, second: int, *, n: int = 2, **other) -> str:
    """Run both toy stages as one run and return its id."""
    rows = toy_rows(n)
    now = datetime(2026, 11, 30, 16, 1, second, tzinfo=UTC)
    run = runs.create(workspace, "toy", expose=["cases/toy"], now=now)
    key = other.pop("key", "process:fake")
    (run.tree / "environments.yaml").write_text(f"base: {key}\n")
    engine = Engine(run.tree, runner=FakeRunner(key), run_id=run.id, logs=workspace / ".assay/logs")
    made = [engine.advance(row, on_line=quiet, cancel=threading.Event()) for row in rows]
    engine.close()
    known = {
        "id": run.id,
        "case": "toy",
        "state": "done",
        "verdict": "closed",
        "sentence": "It is the preprocessing.",
        "commit": run.commit,
        "parent": run.parent,
        "isolation": "process",
        "started": run.started,
        "ended": run.started,
        "stages": [one.provenance for one in made],
    }
    runs.close(run, RunRecord(**(known | other)))
    return run.id


@pytest.fixture
def case(workspace: Path) -> Path:
    (workspace / "cases/toy/case.yaml").write_text(CASE)
    git(workspace, "add", "-A")
    git(workspace, "commit", "-qm", "A case")
    return workspace


def test_two_runs_of_the_same_differ_in_nothing(case: Path):
    told = compare(case, run_case(case, 1), run_case(case, 2))
    assert (told.data, told.params, told.code, told.environment) == ((), (), (), ())
    assert told.outputs == {"first": "same", "second": "same"}


def test_a_param_is_told_with_both_values_and_the_stages_that_it_changed(case: Path):
    old = run_case(case, 1)
    (case / "params.yaml").write_text("first:\n  n: 3\n")
    told = compare(case, old, run_case(case, 2, n=3))
    assert told.params == (Change("params.yaml first.n", 2, 3),)
    assert told.outputs == {"first": "differs", "second": "differs"}


def test_a_key_of_the_case_is_told_by_the_name_of_its_step(case: Path):
    old = run_case(case, 1)
    (case / "cases/toy/case.yaml").write_text(CASE.replace("255", "128"))
    told = compare(case, old, run_case(case, 2))
    assert told.params == (Change("case.yaml candidate.steps.scale.args.by", 255, 128),)


def test_data_is_no_code(case: Path):
    old = run_case(case, 1)
    (case / "cases/toy/data.txt").write_text("678")
    told = compare(case, old, run_case(case, 2))
    assert [change.what for change in told.data] == ["cases/toy/data.txt"]
    assert told.code == ()


def test_a_file_of_code_is_told_with_the_stages_made_of_it(case: Path):
    old = run_case(case, 1)
    with (case / "toys/first.py").open("a") as file:
        file.write("# edited\n")
    told = compare(case, old, run_case(case, 2))
    assert [(one.path, one.how, one.stages) for one in told.code] == [
        ("toys/first.py", "changed", ("first", "second"))
    ]
    assert told.outputs == {"first": "same", "second": "same"}


def test_another_environment_is_told_even_where_the_outputs_are_the_same(case: Path):
    old = run_case(case, 1)
    told = compare(case, old, run_case(case, 2, key="docker:other", isolation="docker"))
    assert Change("isolation", "process", "docker") in told.environment
    assert Change("environment of base", "process:fake", "docker:other") in told.environment
    assert set(told.outputs.values()) == {"same"}


def test_a_run_that_broke_tells_what_it_finished(case: Path):
    whole = run_case(case, 1)
    rows = toy_rows()
    write_graph(case, rows)
    record = RunRecord.model_validate(
        runs.read_run(case, whole).model_dump() | {"id": "20261130T160103-toy-0bad"}
    )
    broken = record.model_copy(
        update={"state": "failed", "verdict": None, "stages": record.stages[:1]}
    )
    run = runs.create(
        case, "toy", expose=["cases/toy"], now=datetime(2026, 11, 30, 16, 1, 3, tzinfo=UTC)
    )
    runs.close(run, broken.model_copy(update={"id": run.id}))
    told = compare(case, whole, run.id)
    assert told.outputs == {"first": "same", "second": "only in the old"}
    assert told.code == ()


def test_runs_go_by_the_last_and_the_one_before(case: Path):
    first, second = run_case(case, 1), run_case(case, 2)
    assert {find(case, name) for name in ("latest", "toy", "toy@latest")} == {second}
    assert find(case, "toy@previous") == first
    assert find(case, f"run/{first}") == first


def test_a_tag_that_is_no_run_is_told(case: Path):
    git(case, "tag", "run/20991130T160101-toy-mine")
    with pytest.raises(RunUnknown, match="holds no record of that run"):
        compare(case, "20991130", "20991130")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        pytest.param("20261130T160101-toy-zzzz", "the nearest are: 20261130T160101-toy-", id="id"),
        pytest.param("toy@previous", "there is none before it", id="previous"),
        pytest.param("tyo@latest", "a finished run: toy", id="case"),
        pytest.param("toy@first", "CASE@latest or CASE@previous", id="word"),
    ],
)
def test_a_name_that_no_run_has_is_told_with_the_nearest(case: Path, name: str, says: str):
    run_case(case, 1)
    with pytest.raises(RunUnknown, match=says):
        find(case, name)


def test_lists_are_told_by_name_or_by_place():
    assert flatten({"a": [{"name": "x", "k": 1}], "b": [{"k": 1}, {"k": 2}], "c": [1, 2]}) == {
        "a.x.name": "x",
        "a.x.k": 1,
        "b.0.k": 1,
        "b.1.k": 2,
        "c": [1, 2],
    }

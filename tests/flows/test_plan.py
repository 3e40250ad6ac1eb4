"""The graph follows from the declarations, and says exactly what each stage depends on."""

from dataclasses import replace
from pathlib import Path

import pytest

from flows import graph
from flows.case import load_case
from flows.commands.run import _next as ended
from flows.faults import Faults
from flows.plan import catalog, named, plan, read_params, upstream
from lineage.provenance import RunRecord
from lineage.row import Row
from stages.stage import case_keys

WORKSPACE = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def rows() -> tuple[Row, ...]:
    return plan(load_case(WORKSPACE, "digits"))


def test_the_committed_graph_is_current() -> None:
    assert graph.stale(WORKSPACE, graph.all_graphs(WORKSPACE)) == (), "run: make plan"


def test_params_yaml_names_every_knob() -> None:
    written = {name: set(values) for name, values in read_params(WORKSPACE).items()}
    declared = {s.name: set(s.params.model_fields) - set(case_keys(s.params)) for s in catalog()}
    assert written == {name: knobs for name, knobs in declared.items() if knobs}


def test_steps_are_compared_by_one_tolerance() -> None:
    """Else float32 for float64 is one value to `parity` and a difference to who exchanges steps."""
    params = read_params(WORKSPACE)
    found = {(params[name]["atol"], params[name]["rtol"]) for name in ("swap_inputs", "since")}
    assert found == {(params["parity"]["atol"], params["parity"]["rtol"])}
    assert params["parity"]["rtol"] > 1.2e-7  # what float32 rounds by


@pytest.mark.parametrize("stage", catalog(), ids=lambda stage: stage.name)
def test_every_stage_asks_a_question_and_writes_into_its_own_folder(stage: object) -> None:
    assert stage.question.endswith("?")
    own = {field.place.path.split("/")[1] for field in stage.outputs}
    assert {part.removesuffix("-{side}") for part in own} == {stage.name}


def test_every_input_is_written_by_an_earlier_stage_or_by_a_person(rows: tuple[Row, ...]) -> None:
    written: set[str] = set()
    for row in rows:
        for path in filter(None, row.inputs.values()):
            is_artifact = "/artifacts/" in path
            assert not is_artifact or any(
                path == out or path.startswith(f"{out}/") for out in written
            ), (row.name, path)
        written |= {row.folder, *row.outputs.values()}


def test_only_what_a_stage_imports_is_among_its_sources(rows: tuple[Row, ...]) -> None:
    parity = named(rows, "parity").sources
    assert {"assay/parity.py", "stages/parity.py", "stages/enter.py", "assay/__init__.py"} <= set(
        parity
    )
    assert not {"assay/mmd.py", "stages/probe.py"} & set(parity)


def test_a_side_sees_no_code_of_ours_but_the_side_runner(rows: tuple[Row, ...]) -> None:
    rooms = {path.split("/")[0] for path in named(rows, "preprocess-candidate").sources}
    assert rooms == {"cases", "sides"}


def test_keys_are_named_as_they_are_written(rows: tuple[Row, ...]) -> None:
    keys = named(rows, "preprocess-candidate").params_keys["cases/digits/case.yaml"]
    assert keys == ("candidate.like", "pictures", "reference.steps")


def test_edges_follow_from_places(rows: tuple[Row, ...]) -> None:
    needs = upstream(rows)
    assert needs["data"] == ()
    assert set(needs["split"]) == {"data", "contract"}


def _workspace_with(tmp_path: Path, params: str) -> Path:
    (tmp_path / "params.yaml").write_text(params)
    return tmp_path


@pytest.mark.parametrize(
    ("params", "says"),
    [
        pytest.param(
            "parity:\n  atoll: 1\n",
            "params.yaml, line 2: parity.atoll: parity knows no such",
            id="key",
        ),
        pytest.param(
            "partiy:\n  atol: 1\n",
            "params.yaml, line 1: partiy: no stage has this name",
            id="section",
        ),
    ],
)
def test_a_param_that_nobody_knows_is_refused(tmp_path: Path, params: str, says: str) -> None:
    with pytest.raises(Faults, match=says):
        read_params(_workspace_with(tmp_path, params))


def test_a_threshold_of_another_metric_is_refused() -> None:
    loaded = load_case(WORKSPACE, "heating")
    params = {"gate": {"min_accuracy": 0.9, "max_mae": 1.0, "min_r2": 0.9}}
    loaded = replace(loaded, case=loaded.case.model_copy(update={"params": params}))
    with pytest.raises(Faults) as caught:
        plan(loaded)
    where = "cases/heating/case.yaml: params.gate"
    assert caught.value.faults == (
        f"{where}.min_accuracy: min_accuracy is for accuracy; a case of r2 states gate.min_r2.",
        f"{where}.max_mae: max_mae is for mae; a case of r2 states gate.min_r2.",
    )


@pytest.mark.parametrize(("status", "says"), [(2, "Mend what is named above"), (3, "Resume it")])
def test_a_failed_run_says_what_to_do(status: int, says: str) -> None:
    told = ended(RunRecord.model_construct(case="toy", state="failed"), status)
    assert told == f"failed. {says}{', then' if status == 2 else ''}: assay run toy"


def test_the_names_of_columns_stand_in_one_place() -> None:
    rows = plan(load_case(WORKSPACE, "heating"))
    for name in ("inputs", "parity"):
        row = named(rows, name)
        assert row.params["columns"][:2] == ["carbon", "hydrogen"]
        assert "data.columns" in row.params_keys["cases/heating/case.yaml"]

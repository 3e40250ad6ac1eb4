"""The layer where a planted shift begins is named; without a shift none is."""

from pathlib import Path

import numpy as np
import pytest

from sides.layers import save_list
from stages.features import FeaturesParams, Inputs, Outputs, run
from stages.reports.features import FeaturesReport
from stages.stage import NotApplicable, to_json


def layers_of(rows: np.ndarray) -> dict[str, np.ndarray]:
    """What a network would answer whose gate sees only the second half, and only above 3."""
    gate = np.maximum(rows[:, 4:] - 3, 0)
    return {"input": rows, "gate": gate, "head": gate @ np.full((4, 2), 0.5)}


def examine(
    tmp_path: Path, sim, real, *, made=layers_of, groups=None, num_groups=20, why_not=None, **params
) -> Outputs:
    lines = ["dataset,id,row,path,label,group,role"]
    folder = tmp_path / "layers"
    folder.mkdir(exist_ok=True)
    names = []
    for name, rows, role in (("sim", sim, "validation"), ("real", real, "diagnose")):
        found = {layer: np.asarray(it, np.float32) for layer, it in made(np.asarray(rows)).items()}
        names = list(found)
        for layer, answers in found.items():
            np.save(folder / f"{layer}.{name}.npy", answers)
        for i in range(len(rows)):
            group = f"{name}-g{i % num_groups}" if groups is None else groups
            lines.append(f"{name},{name}{i},{i},,{i % 2}.5,{group},{role}")
    save_list(folder, names, {"sim": [*range(len(sim))], "real": [*range(len(real))]}, why_not)
    (tmp_path / "roles.csv").write_text("\n".join(lines) + "\n")
    given = FeaturesParams(**({"num_permutations": 199} | params))
    return run(given, Inputs(layers=folder, roles=tmp_path / "roles.csv"), tmp_path)


def normal(seed: int, rows: int = 200) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, 8))


def test_no_layer_is_accused_where_nothing_differs(tmp_path):
    report = examine(tmp_path, normal(1), normal(2)).report
    assert isinstance(report, FeaturesReport)
    assert report.begins_at is None
    assert [layer.layer for layer in report.layers] == ["input", "gate", "head"]


def test_a_shift_of_the_input_begins_at_the_input(tmp_path):
    real = normal(2)
    real[:, 0] += 2  # the gate does not look there
    report = examine(tmp_path, normal(1), real).report
    assert report.begins_at == "input"
    by_name = {layer.layer: layer for layer in report.layers}
    assert by_name["gate"].p_holm > 0.05


def test_a_gap_that_only_a_layer_brings_out_begins_at_that_layer(tmp_path):
    def loud(rows):
        return {"input": rows, "gate": 50 * rows[:, 4:] ** 4}

    sim, real = normal(1, 400), normal(2, 400)
    sim[:, :4] *= 30
    real[:, :4] *= 30  # drowns the rest of the input
    real[:, 4:] *= 2
    report = examine(tmp_path, sim, real, made=loud).report
    assert report.begins_at == "gate"


def test_the_same_run_writes_the_same_bytes(tmp_path):
    first = examine(tmp_path, normal(1), normal(2) + 1)
    second = examine(tmp_path, normal(1), normal(2) + 1)
    assert to_json(first.report) == to_json(second.report)
    assert (first.layers, first.projection) == (second.layers, second.projection)
    lines = first.projection.splitlines()
    assert lines[0] == "domain,label,x,y"
    assert len(lines) == 401


def test_rows_that_are_not_finite_are_counted_and_not_compared(tmp_path):
    real = normal(2)
    real[3, 0] = np.nan
    report = examine(tmp_path, normal(1), real).report
    assert (report.num_real, report.num_not_finite) == (199, 1)


def test_groups_too_few_for_any_verdict_are_said_to_be_so(tmp_path):
    """Two groups against two: six deals, so that no p is below 1/3, however far apart they are."""
    report = examine(tmp_path, normal(1), normal(2) + 9, num_groups=2).report
    assert (report.begins_at, report.can_tell) == (None, False)
    assert examine(tmp_path, normal(1), normal(2) + 9).report.can_tell


@pytest.mark.parametrize(
    ("given", "says"),
    [
        pytest.param({"why_not": "The case lists no layers."}, "lists no layers", id="not read"),
        pytest.param({"groups": "one"}, "fewer than 2 groups", id="one group a side"),
    ],
)
def test_what_cannot_be_compared_says_why(tmp_path, given, says):
    outputs = examine(tmp_path, normal(1), normal(2), **given)
    assert isinstance(outputs.report, NotApplicable)
    assert says in outputs.report.not_applicable
    assert outputs.layers == "layer,effect,p_holm\n"


def test_a_private_case_draws_no_point_a_sample(tmp_path):
    made = examine(tmp_path, normal(1), normal(2), pictures="none")
    assert made.projection == "domain,label,x,y\n"


def test_more_rows_than_pairs_allow_are_streamed_and_the_report_says_so(tmp_path):
    real = normal(2, 600)
    real[:, 0] += 2
    report = examine(tmp_path, normal(1, 600), real, exact_rows=100, num_groups=60).report
    assert report.begins_at == "input"
    assert (report.num_sim, report.num_real) == (600, 600)
    assert "a random 100 simulated and 100 real rows" in report.how
    exact = examine(tmp_path, normal(1, 600), real, exact_rows=600, num_groups=60).report
    assert exact.how == ""
    for gap, pairs in zip(report.layers, exact.layers, strict=True):
        assert (gap.compared, pairs.compared) == ("frequencies", "pairs")
        assert gap.mmd2 == pytest.approx(pairs.mmd2, abs=5 * gap.mmd2_error + 0.02)
        assert gap.effect == pytest.approx(pairs.effect, abs=4 * gap.effect_error)
        assert pairs.mmd2_error is None


def test_streaming_accuses_no_layer_where_nothing_differs(tmp_path):
    report = examine(tmp_path, normal(1, 600), normal(2, 600), exact_rows=100, num_groups=60).report
    assert report.begins_at is None


def test_a_streamed_picture_has_a_point_for_each_row_of_the_sample(tmp_path):
    made = examine(tmp_path, normal(1, 600), normal(2, 150), exact_rows=100, num_groups=60)
    assert len(made.projection.splitlines()) == 1 + 100 + 100


def test_rows_are_read_in_pieces_without_those_that_are_not_finite(tmp_path, monkeypatch):
    monkeypatch.setattr("stages.feature_rows.BLOCK", 7)
    real = normal(2)
    real[3, 0] = np.nan
    inside = examine(tmp_path, normal(1), real, exact_rows=50).report
    monkeypatch.setattr("stages.feature_rows.BLOCK", 8192)
    whole = examine(tmp_path, normal(1), real, exact_rows=50).report
    for piece, gap in zip(inside.layers, whole.layers, strict=True):
        assert (piece.p_value, piece.effect) == (gap.p_value, gap.effect)
        assert piece.mmd2 == pytest.approx(gap.mmd2, abs=1e-6)
    assert (inside.num_real, inside.num_not_finite) == (199, 1)

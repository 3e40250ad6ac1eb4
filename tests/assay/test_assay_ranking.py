"""Harmless is what is shown to be so; what is not shown either way is undecided."""

import numpy as np
import pytest

from assay.causes import Different, Seen, costs_nothing
from assay.intervals import Interval
from assay.ranking import rank
from assay.shares import CELLS, Answers, attribute

MARGIN = 0.02


@pytest.mark.parametrize(
    ("low", "value", "high", "harmless"),
    [
        pytest.param(-0.20, 0.01, 0.22, False, id="nobody knows"),
        pytest.param(-0.01, 0.0, 0.021, False, id="just beyond the margin"),
        pytest.param(-0.01, 0.0, 0.02, True, id="within the margin"),
        pytest.param(0.001, 0.01, 0.015, True, id="a loss that nobody would miss"),
        pytest.param(-0.3, -0.2, -0.1, True, id="a gain"),
        pytest.param(0.0, 0.0, 0.0, True, id="nothing changes"),
    ],
)
def test_only_a_bound_within_the_margin_proves_harmlessness(low, value, high, harmless):
    found = Interval(value=value, low=low, high=high, n=100)
    assert costs_nothing(found, MARGIN) is harmless


def ranked(rows, num_groups, num_each_way):
    """A step that loses so many answers and gains as many others."""
    right = (np.arange(rows) % 2 == 0).astype(np.float64)
    other = right.copy()
    other[np.random.default_rng(0).permutation(rows // 2)[:num_each_way] * 2] = False
    other[np.random.default_rng(1).permutation(rows // 2)[:num_each_way] * 2 + 1] = True
    answers = Answers(
        sim=right,
        on_sim=None,
        real={cell: other if "preprocessing" in cell else right for cell in CELLS},
        swaps={"00_scale": other},
        sim_groups=None,
        real_groups=np.arange(rows) % num_groups,
    )
    seen = Seen(
        steps=[Different(key="00_scale", name="scale", kind="scale")],
        first_differing_step="scale",
        model_differs=False,
        raw_equal=False,
        domains_part=False,
    )
    [cause] = rank(attribute(answers), seen, margin=MARGIN)
    return cause


def test_few_rows_leave_a_step_undecided_and_many_prove_it_harmless():
    few, many = ranked(60, 5, 3), ranked(4000, 20, 8)
    assert (few.harmless, few.undecided, few.strength) == (False, True, "weak")
    assert (many.harmless, many.undecided, many.strength) == (True, False, "strong")


@pytest.mark.parametrize("rows", [100, 4000])
def test_a_step_that_the_model_makes_up_for_is_not_accused_alone(rows):
    right, wrong = np.ones(rows), np.zeros(rows)
    answers = Answers(
        sim=right,
        on_sim=None,
        # Either alone spoils every row, and both together none.
        real={cell: wrong if len(cell) == 1 else right for cell in CELLS},
        swaps={"00_turn": wrong},
        sim_groups=None,
        real_groups=np.arange(rows) % 20,
    )
    seen = Seen(
        steps=[Different(key="00_turn", name="turn", kind="transpose")],
        first_differing_step="turn",
        model_differs=True,
        raw_equal=False,
        domains_part=False,
    )
    step = next(
        cause
        for cause in rank(attribute(answers), seen, margin=MARGIN)
        if cause.component == "preprocessing"
    )
    assert step.undone
    assert step.harmless or step.undecided


def test_a_model_that_loses_less_behind_ruined_inputs_is_charged_with_what_it_loses_alone():
    rows = np.arange(200)
    good, half = np.ones(200), (rows % 2 == 0).astype(np.float64)
    real = {
        frozenset(): good,
        frozenset({"preprocessing"}): np.zeros(200),
        frozenset({"model"}): half,
        frozenset({"preprocessing", "model"}): half,
    }
    answers = Answers(
        sim=good,
        on_sim=None,
        real=real,
        swaps={"00_scale": real[frozenset({"preprocessing"})]},
        sim_groups=None,
        real_groups=rows % 20,
    )
    seen = Seen(
        steps=[Different(key="00_scale", name="scale", kind="scale")],
        first_differing_step="scale",
        model_differs=True,
        raw_equal=False,
        domains_part=False,
    )
    step, model = rank(attribute(answers), seen, margin=MARGIN)
    assert (step.component, step.harmless) == ("preprocessing", False)
    assert (model.component, model.alone, model.harmless, model.clear) == (
        "model",
        True,
        False,
        True,
    )
    assert model.explains.value == pytest.approx(0.5)

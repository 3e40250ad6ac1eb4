"""The parts of a gap add up to it, in every metric and with whatever cells are known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.scores import scores
from assay.shares import (
    CELLS,
    CROSSED,
    DEPLOYMENT,
    EVERYTHING,
    MODEL,
    NOTHING,
    POSTPROCESSING,
    PREPROCESSING,
    Answers,
)
from assay.shares import attribute as attribute_

PRE, MOD = frozenset({PREPROCESSING}), frozenset({MODEL})
KNOWN = {
    "all": (CELLS, "shapley", {PREPROCESSING, MODEL}),
    "no candidate on the reference's tensors": (
        (NOTHING, PRE, EVERYTHING),
        "in order",
        {PREPROCESSING, MODEL},
    ),
    "no reference on the candidate's tensors": (
        (NOTHING, MOD, EVERYTHING),
        "in order",
        {PREPROCESSING, MODEL},
    ),
    "predictions alone": ((NOTHING, EVERYTHING), "as a whole", {DEPLOYMENT}),
    "tensors alone": ((NOTHING, PRE), "preprocessing alone", {PREPROCESSING}),
    "nothing": ((NOTHING,), "nothing", set()),
}


def attribute(answers):
    return attribute_(answers, num_draws=40)


def answers(metric, cells, seed=0, rows=60, **more):
    generator = np.random.default_rng(seed)
    wanted = (
        generator.integers(3, size=rows) if metric == "accuracy" else generator.normal(size=rows)
    )

    def given_(noise):
        if metric == "accuracy":
            return np.where(generator.random(rows) < noise, (wanted + 1) % 3, wanted)
        return wanted + noise * generator.normal(size=rows)

    noises = {NOTHING: 0.2, PRE: 0.5, MOD: 0.3, EVERYTHING: 0.8}
    return Answers(
        metric=metric,
        sim=scores(metric, given_(0.05), wanted),
        on_sim=None,
        real={cell: scores(metric, given_(noises[cell]), wanted) for cell in cells},
        swaps={},
        sim_groups=None,
        real_groups=np.arange(rows) % 7,
        **more,
    )


@pytest.mark.parametrize("metric", ["accuracy", "r2", "mae"])
@pytest.mark.parametrize(("cells", "how", "names"), KNOWN.values(), ids=KNOWN.keys())
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_the_parts_add_up_to_the_gap(metric, cells, how, names, seed):
    shares = attribute(answers(metric, cells, seed))
    assert shares.attribution == how
    assert set(shares.parts) == names
    total = shares.data.value + sum(part.value for part in shares.parts.values())
    assert total == pytest.approx(shares.gap.value)
    assert shares.gap.value == pytest.approx(shares.sim.value - shares.furthest.value)
    for loss in (shares.data, shares.gap, *shares.parts.values()):
        assert loss.low <= loss.value <= loss.high


def test_what_nobody_recorded_is_unknown_and_not_wrong():
    tensors = attribute(answers("accuracy", (NOTHING, PRE)))
    assert tensors.candidate is None
    assert tensors.model is None
    assert tensors.last == PRE
    whole = attribute(answers("accuracy", (NOTHING, EVERYTHING)))
    assert whole.preprocessing is whole.model is None
    assert whole.candidate == whole.furthest


def test_pairs_are_counted_where_answers_are_right_or_wrong():
    assert attribute(answers("accuracy", CELLS)).paired is not None
    assert attribute(answers("r2", CELLS)).paired is None
    assert attribute(answers("accuracy", (NOTHING, PRE))).paired is None


def test_what_worked_before_is_compared_on_the_same_rows():
    made = answers("mae", CELLS)
    before = attribute(answers("mae", CELLS, last_good=made.real[NOTHING]))
    assert before.last_good == before.reference
    expected = (made.real[NOTHING] - made.real[EVERYTHING]).mean()
    assert before.since.value == pytest.approx(expected)
    assert attribute(made).since is None


def test_without_a_level_on_validation_only_the_parts_are_known():
    made = answers("r2", CELLS)
    shares = attribute(
        Answers(**{name: getattr(made, name) for name in made.__slots__} | {"sim": None})
    )
    assert shares.sim is shares.gap is shares.data is None
    assert set(shares.parts) == {PREPROCESSING, MODEL}


def crossed(broken, seed, rows=80):
    """Cells in which each broken factor spoils rows of its own."""
    generator = np.random.default_rng(seed)
    spoilt = {name: generator.random(rows) < share for name, share in broken.items()}

    def right(preprocessing, model, rule):
        theirs = {PREPROCESSING: preprocessing, MODEL: model, POSTPROCESSING: rule}
        hit = [spoilt[name] for name, is_theirs in theirs.items() if is_theirs and name in spoilt]
        return 1.0 - np.any([np.zeros(rows, bool), *hit], axis=0)

    return Answers(
        sim=np.ones(rows),
        on_sim=None,
        real={cell: right(PREPROCESSING in cell, MODEL in cell, MODEL in cell) for cell in CELLS},
        crossed={cell: right(*cell) for cell in CROSSED},
        swaps={},
        sim_groups=None,
        real_groups=np.arange(rows) % 9,
    )


@settings(max_examples=20, deadline=None)
@given(
    shares=st.tuples(*(st.sampled_from([0.0, 0.3, 0.8]) for _ in range(3))),
    seed=st.integers(0, 10_000),
)
def test_three_factors_add_up_and_an_equal_one_costs_nothing(shares, seed):
    broken = dict(zip((PREPROCESSING, MODEL, POSTPROCESSING), shares, strict=True))
    found = attribute(crossed(broken, seed))
    assert found.attribution == "three factors"
    total = found.data.value + sum(part.value for part in found.parts.values())
    assert total == pytest.approx(found.gap.value)
    for name, share in broken.items():
        assert found.parts[name].value == pytest.approx(0.0) or share > 0


def test_without_all_crossed_cells_the_rule_belongs_to_the_model():
    made = crossed({POSTPROCESSING: 0.5}, 0)
    some = {cell: made.crossed[cell] for cell in CROSSED[:3]}
    found = attribute(
        Answers(**{name: getattr(made, name) for name in made.__slots__} | {"crossed": some})
    )
    assert found.attribution == "shapley"
    assert found.postprocessing is None
    assert found.model.value > 0.3

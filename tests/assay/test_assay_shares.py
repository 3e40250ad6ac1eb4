"""The parts of a gap add up to it, in every metric and with whatever cells are known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.scores import scores
from assay.shares import CELLS, DEPLOYMENT, EVERYTHING, MODEL, NOTHING, PREPROCESSING, Answers
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

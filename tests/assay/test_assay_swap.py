from itertools import chain, combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.swap import shapley_intervals


def subsets(names):
    sizes = range(len(names) + 1)
    return [frozenset(s) for s in chain.from_iterable(combinations(names, n) for n in sizes)]


def shapley(cells):
    """Shares of cells of one row each: nothing is left to resample."""
    one_row = {subset: [value] for subset, value in cells.items()}
    found = shapley_intervals(one_row, None, num_draws=1)
    return {name: share.value for name, share in found.items()}


@st.composite
def all_cells(draw):
    names = "abcde"[: draw(st.integers(1, 5))]
    return {subset: draw(st.floats(-1, 1)) for subset in subsets(names)}


@given(all_cells())
def test_shares_are_the_mean_over_all_orders_and_add_up(cells):
    names = sorted(max(cells, key=len))
    naive = dict.fromkeys(names, 0.0)
    orders = list(permutations(names))
    for order in orders:
        for at, name in enumerate(order):
            before = frozenset(order[:at])
            naive[name] += (cells[before | {name}] - cells[before]) / len(orders)
    found = shapley(cells)
    assert found == pytest.approx(naive, abs=1e-12)
    assert sum(found.values()) == pytest.approx(cells[frozenset(names)] - cells[frozenset()])


@given(all_cells())
def test_an_idle_component_gets_nothing(cells):
    with_idle = cells | {subset | {"idle"}: value for subset, value in cells.items()}
    if len(max(with_idle, key=len)) <= 5:
        assert shapley(with_idle)["idle"] == pytest.approx(0, abs=1e-12)


def test_two_that_fail_only_together_share_alike():
    cells = {
        s: 0.4 if s == {"model", "preprocessing"} else 0.9
        for s in subsets(["model", "preprocessing"])
    }
    assert shapley(cells) == pytest.approx({"model": -0.25, "preprocessing": -0.25})


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        pytest.param({frozenset(): 1.0, frozenset("ab"): 0.5}, r"\['a'\]", id="a cell is missing"),
        pytest.param(dict.fromkeys(subsets("abcdef"), 1.0), "at most 5", id="six components"),
    ],
)
def test_a_swap_that_cannot_be_shared_is_refused(cells, says):
    with pytest.raises(ValueError, match=says):
        shapley(cells)


def test_intervals_hold_the_share_and_see_sessions():
    generator = np.random.default_rng(0)
    groups = np.repeat(np.arange(25), 20)
    hit = generator.random(25)[groups] < 0.4  # whole sessions fail at once
    cells = {s: ~hit if "model" in s else np.ones(500, bool) for s in subsets(["model", "runtime"])}
    found = shapley_intervals(cells, groups, 500, 0)
    by_row = shapley_intervals(cells, None, 500, 0)
    shares = shapley({subset: float(correct.mean()) for subset, correct in cells.items()})
    assert {name: bound.value for name, bound in found.items()} == pytest.approx(shares)
    assert found["model"].low < found["model"].value < found["model"].high < 0
    assert (found["runtime"].low, found["runtime"].high) == pytest.approx((0, 0))
    width = found["model"].high - found["model"].low
    assert width > 2 * (by_row["model"].high - by_row["model"].low)
    assert (found["model"].resampled, by_row["model"].resampled) == ("groups", "rows")


def test_cells_over_other_rows_are_refused():
    with pytest.raises(ValueError, match="same rows"):
        shapley_intervals({frozenset(): [1, 0], frozenset("a"): [1]}, None)

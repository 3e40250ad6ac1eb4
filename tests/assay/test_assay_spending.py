"""Looks at the same rows together spend no more than one error."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.spending import number_of, spent_on


@given(st.floats(1e-6, 0.999), st.integers(1, 3000))
def test_all_looks_together_spend_no_more_than_the_error(alpha, looks):
    spent = [spent_on(look, alpha) for look in range(1, looks + 1)]
    assert sum(spent) <= alpha
    assert all(later < earlier for earlier, later in itertools.pairwise(spent))


@given(st.lists(st.text(max_size=2), max_size=20), st.text(max_size=2))
def test_the_same_answers_are_the_same_look(earlier, answers):
    number = number_of(answers, earlier)
    assert number_of(answers, [*earlier, answers]) == number
    assert 1 <= number <= len(set(earlier)) + 1
    assert (number == len(set(earlier)) + 1) == (answers not in earlier)


@pytest.mark.parametrize(("look", "alpha"), [(0, 0.05), (1, 0.0), (1, 1.0)])
def test_what_is_no_look_is_refused(look, alpha):
    with pytest.raises(ValueError, match="looks count from 1"):
        spent_on(look, alpha)

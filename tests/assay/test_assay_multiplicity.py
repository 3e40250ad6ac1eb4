import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.multiplicity import holm

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@given(P_VALUES, st.floats(0.001, 0.999))
def test_holm_rejects_what_stepping_down_rejects(p, level):
    rejected = np.zeros(len(p), bool)
    for step, at in enumerate(np.argsort(p, kind="stable")):
        if p[at] * (len(p) - step) > level:
            break
        rejected[at] = True
    assert ((holm(p) <= level) == rejected).all()


@given(P_VALUES)
def test_adjusting_never_helps_and_keeps_the_order(p):
    adjusted = holm(p)
    assert (adjusted >= np.array(p) - 1e-15).all()
    assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= 0).all()


def test_nothing_stays_nothing():
    assert holm([]).shape == (0,)


@pytest.mark.parametrize("p", [[-0.1], [1.1], [np.nan]], ids=["below 0", "above 1", "nan"])
def test_what_is_no_p_value_is_refused(p):
    with pytest.raises(ValueError, match="lie in"):
        holm(p)

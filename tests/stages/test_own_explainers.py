"""What a case's own explainer must not propose is one sentence that names it, and no crash."""

import sys
import types
from itertools import repeat

import numpy as np
import pytest

from assay.explain.proposal import Proposal, Samples
from sides.case_code import CaseCodeError
from stages.own_explainers import explainer

SAMPLES = Samples(values=np.ones((4, 6, 6)), channel_axis=None)


def proposal(apply=lambda samples: samples, **other) -> Proposal:
    return Proposal(**({"kind": "mine", "name": "it is mine", "apply": apply} | other))


@pytest.fixture
def asked(monkeypatch):
    """Ask a function as the search does: for its proposals, then for what each makes."""

    def ask(function):
        module = types.ModuleType("toy_mine")
        module.kind = function
        monkeypatch.setitem(sys.modules, "toy_mine", module)
        own = explainer("toy_mine:kind", 0)
        return [(one, one.apply(SAMPLES)) for one in own(SAMPLES, SAMPLES)]

    return ask


def test_what_it_proposes_goes_on_as_it_is_with_plain_parameters(asked):
    made = proposal(parameters={"by": np.float32(3), "of": np.arange(2), "way": "round"})
    [(told, samples)] = asked(lambda _reference, _candidate: [made])
    assert told.parameters == {"by": 3.0, "of": [0, 1], "way": "round"}
    assert samples is SAMPLES


def fails(_samples):
    raise KeyError("no such corner")


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (None, "failed: TypeError"),
        (5, "failed: TypeError"),
        ("abc", "proposed a str; expected a Proposal"),
        ([{"kind": "a"}], "proposed a dict; expected a Proposal"),
        (repeat(proposal()), "proposes more than 1000"),
        ([proposal(cost=float("nan"))], "a cost of 0 or more"),
        ([proposal(cost=-1.0)], "a cost of 0 or more"),
        ([proposal(kind="")], "a kind, a name"),
        ([proposal(parameters={"x": float("nan")})], "x: a parameter is a finite number"),
        ([proposal(parameters={"x": None})], "x: a parameter is a finite number"),
        ([proposal(fails)], "failed: KeyError"),
        ([proposal(lambda _: None)], "`apply` of mine made a NoneType; expected Samples"),
        ([proposal(lambda samples: samples.values)], "`apply` of mine made a ndarray"),
        ([proposal(lambda s: s.with_values(s.values.astype(str)))], "expected Samples of numbers"),
    ],
)
def test_nonsense_is_told(asked, made, says):
    with pytest.raises(CaseCodeError) as refused:
        asked(lambda _reference, _candidate: made)
    assert str(refused.value).startswith("explainers[0] (toy_mine:kind)")
    assert says in str(refused.value)

"""What a rule makes of outputs that are no numbers: no class, never the first one."""

import sys

import numpy as np
import pytest

from sides.predict_recorded import _told, named_rows
from sides.rows import Row
from sides.rules import Rule, rule_of

NAN, INF = np.nan, np.inf
RAW = np.array([[0, 2, 1], [NAN, NAN, NAN], [5, NAN, 1], [0, 0, INF], [-INF, 1, 0]], np.float32)


def test_the_largest_of_what_holds_a_nan_is_unknown():
    rule = rule_of(None, "classification", "candidate", "candidate.model")
    assert rule.label(RAW).tolist() == [1, -1, -1, 2, 1]
    assert _told("classification", RAW, "candidate").tolist() == [1, -1, -1, 2, 1]


@pytest.mark.parametrize("kind", ["i8", "u1", "b1"])
def test_a_rule_of_the_case_knows_nothing_of_nothing_but_nan(monkeypatch, kind):
    module = type(sys)("own_rule")
    module.first = lambda raw: (np.nan_to_num(raw[:, 0]) > 1).astype(kind)
    monkeypatch.setitem(sys.modules, "own_rule", module)
    rule = rule_of("own_rule:first", "classification", "candidate", "candidate.model")
    assert rule.label(RAW).tolist() == [0, -1, 1, 0, 0]


def test_a_number_that_is_none_stays_none():
    found = Rule("regression", None, "candidate.postprocess", "candidate.model").label(RAW[:2, :1])
    assert np.isnan(found).tolist() == [False, True]


def test_odd_rows_are_named_by_their_ids_unless_those_are_private(monkeypatch):
    rows = [Row("real", f"r{at}", str(at), "", "", "", "prove") for at in range(9)]
    assert named_rows({"a": [2, 4], "b": []}, rows) == {"a": ["r2", "r4"]}
    assert named_rows({"a": list(range(9))}, rows)["a"] == [f"r{at}" for at in range(5)]
    monkeypatch.setattr("sides.privacy.is_private", lambda: True)
    assert named_rows({"a": [2]}, rows) == {}

"""A rule is asked about made-up outputs, to learn what labels want of a model's outputs."""

import sys
import types

import numpy as np
import pytest

from stages.metric import Metric
from stages.probe_targets import classes, numbers


@pytest.fixture
def rules(monkeypatch):
    """Put functions into a module of the case."""
    module = types.ModuleType("toy_rules")
    monkeypatch.setitem(sys.modules, "toy_rules", module)
    return module


def of_five(outputs):
    if outputs.shape[1] != 5:
        raise ValueError("five outputs are read")
    return outputs[:, :3].argmax(axis=1)


def leaves(_outputs):
    raise SystemExit(3)


def test_a_rule_that_renames_says_which_output_a_label_wants(rules):
    rules.rule = lambda outputs: 2 - outputs.argmax(axis=1)
    found = classes(Metric("accuracy"), 3, "toy_rules:rule")
    assert found is not None
    assert found.columns.tolist() == [2, 1, 0]


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(of_five, id="of a model with other outputs than classes"),
        pytest.param(leaves, id="leaves the process"),
        pytest.param(lambda _: None, id="nothing"),
        pytest.param(lambda outputs: outputs, id="a matrix"),
        pytest.param(lambda outputs: ["a"] * len(outputs), id="texts"),
        pytest.param(lambda outputs: np.full(len(outputs), np.nan), id="no numbers"),
    ],
)
def test_a_rule_that_does_not_take_made_up_outputs_ends_nothing(rules, rule):
    rules.rule = rule
    assert classes(Metric("accuracy"), 3, "toy_rules:rule") is None
    assert numbers(Metric("r2"), "toy_rules:rule") is None

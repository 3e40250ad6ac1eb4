"""A planted difference is found, weighed and named; equal facts are silent."""

import pytest
from planted_facts import HASH, facts, step

from stages.environments import EnvironmentsParams, Inputs, run
from stages.fingerprints import compare
from stages.reports.collect import ModelFacts, Parameters


def differences(**change):
    found = compare(facts(), facts("candidate", **change)).differences
    return [(one.what, one.left, one.right, one.weight) for one in found]


PLANTED = {
    "another numpy": (
        {"packages": {"numpy": "1.26", "rich": "15", "pip": "26"}},
        [("numpy", "2.4.6", "1.26", "numbers")],
    ),
    "a package here only, a tool there": (
        {"packages": {"numpy": "2.4.6", "pip": "20"}},
        [("rich", "15", None, "perhaps"), ("pip", "26", "20", "unlikely")],
    ),
    "another python": (
        {"python": "3.8.1"},
        [("python", "3.11.2", "3.8.1", "unlikely")],
    ),
    "another machine with the same packages": (
        {"machine": "aarch64"},
        [("machine", "x86_64", "aarch64", "perhaps")],
    ),
    "other weights": (
        {"weights": {"weights.safetensors": "cd" * 32}},
        [("weights weights.safetensors", HASH[:12], "cd" * 6, "numbers")],
    ),
    "weights renamed": (
        {"weights": {"best.safetensors": HASH}},
        [("weights, renamed", "weights.safetensors", "best.safetensors", "unlikely")],
    ),
    "half precision": (
        {"parameters": Parameters(tensors=2, values=100, dtypes={"float16": 100})},
        [("types of weights", "float32", "float16", "numbers")],
    ),
    "a setting of the model": (
        {"model": ModelFacts(class_name="net.Net", training=False, config={"width": "9"})},
        [
            ("config width", "8", "9", "perhaps"),
            ("training mode as built", "True", "False", "perhaps"),
        ],
    ),
    "code behind the same name": (
        {"steps": [step("decode", sha256="ef" * 32), step("scale")]},
        [("step decode, its code", HASH[:12], "ef" * 6, "perhaps")],
    ),
    "an argument": (
        {"steps": [step("decode"), step("scale", args='{"by": 2}')]},
        [("step scale, its arguments", "{}", '{"by": 2}', "numbers")],
    ),
    "the same code under another name": (
        {"steps": [step("load", "steps:decode"), step("scale")]},
        [("step decode, renamed", "decode", "load", "unlikely")],
    ),
    "a step too many": (
        {"steps": [step("decode"), step("scale"), step("blur")]},
        [("step blur", None, "steps:blur", "numbers")],
    ),
}


@pytest.mark.parametrize(("change", "expected"), PLANTED.values(), ids=PLANTED.keys())
def test_a_planted_difference_is_named(change, expected):
    assert differences(**change) == expected


def test_equal_facts_are_one_environment():
    found = compare(facts(), facts("candidate"))
    assert found.differences == []
    assert found.not_compared == [
        "environments: both sides ran in one `torch`: the same Python, the same packages"
    ]


def test_what_nobody_recorded_is_not_compared():
    unknown = {"packages": None, "why_no_packages": "logs only", "weights": {}, "recorded": True}
    found = compare(facts(), facts("candidate", **unknown))
    assert found.not_compared == ["packages: candidate: logs only", "weights: candidate: recorded"]


def test_what_worked_is_compared_with_what_is_deployed(tmp_path):
    sides = {side: facts(side) for side in ("reference", "candidate", "last_good")}
    made = run(EnvironmentsParams(), Inputs(**sides), tmp_path)
    pairs = [(pair.left, pair.right) for pair in made.report.pairs]
    assert pairs == [("reference", "candidate"), ("last_good", "candidate")]
    made = run(EnvironmentsParams(), Inputs(**sides | {"last_good": None}), tmp_path)
    assert len(made.report.pairs) == 1

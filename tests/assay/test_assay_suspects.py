"""Suspects give causes their names; none is accused for what the metric does not lose."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from assay.causes import Different, Seen, Suspected
from assay.intervals import Interval
from assay.posterior import likeliest
from assay.ranking import rank
from assay.shares import (
    CELLS,
    CROSSED,
    MODEL,
    POSTPROCESSING,
    PREPROCESSING,
    Answers,
    attribute,
)
from assay.weighing import weigh

ROWS, MARGIN = 400, 0.02
PRE, RULE = PREPROCESSING, POSTPROCESSING


def cost(value, half=0.03):
    return Interval(value=value, low=value - half, high=value + half, n=200)


def suspect(component, kind, regained=None, *, at=0, explained=None, p=None):
    return Suspected(
        at=at,
        component=component,
        kind=kind,
        cost=None if regained is None else cost(regained),
        explained=explained,
        p_value=p,
    )


def world(*, broken=None, real=1.0, sim=0.97, steps=(), apart=True, seed=0):
    """Answers in which each broken factor spoils rows of its own, and `real` the reference's."""
    generator = np.random.default_rng(seed)
    broken = broken or {}
    spoilt = {name: generator.random(ROWS) < share for name, share in broken.items()}
    clean = generator.random(ROWS) < sim * real

    def right(*names):
        hit = [spoilt[name] for name in names if name in spoilt]
        return (clean & ~np.any([np.zeros(ROWS, bool), *hit], axis=0)).astype(float)

    def cell(preprocessing, model, rule):
        theirs = {PRE: preprocessing, MODEL: model, RULE: rule}
        own = [*steps] if preprocessing else []
        return right(*(name for name, is_theirs in theirs.items() if is_theirs), *own)

    return Answers(
        sim=(generator.random(ROWS) < sim).astype(float),
        on_sim=None,
        real={one: cell(PRE in one, MODEL in one, MODEL in one) for one in CELLS},
        crossed={one: cell(*one) for one in CROSSED} if apart else {},
        swaps={name: right(name) for name in steps},
        sim_groups=None,
        real_groups=np.arange(ROWS) % 40,
    )


def seen(*suspects, steps=(), model=False, rule=False, part=False):
    return Seen(
        steps=[Different(key=name, name=name, kind=kind) for name, kind in steps],
        first_differing_step=steps[0][0] if steps else None,
        model_differs=model or rule,
        raw_equal=rule and not model,
        domains_part=part,
        rules_differ=rule,
        suspects=[replace(one, at=at) for at, one in enumerate(suspects)],
    )


def diagnosed(made, beside):
    shares = attribute(made, num_draws=300)
    causes = rank(shares, beside, margin=MARGIN)
    weighed = weigh(causes, shares, beside, margin=MARGIN)
    guilty = [(c.component, c.kind) for c in causes if not c.harmless and not c.undecided]
    return guilty, [(one.component, one.kind) for one in likeliest(weighed)]


TURN = {"steps": ("turn",), "broken": {"turn": 0.4}}
SINGLE = {
    "a step": (TURN, {"steps": (("turn", "turn"),)}, (PRE, "turn")),
    "a step without a name": (TURN, {"steps": (("turn", None),)}, (PRE, "unknown")),
    "a model with a name": (
        {"broken": {MODEL: 0.4}},
        {"model": True, "beside": [suspect("model", "train_mode", explained=1.0)]},
        (MODEL, "train_mode"),
    ),
    "a model without one": ({"broken": {MODEL: 0.4}}, {"model": True}, (MODEL, "unknown")),
    "a label map": (
        {"broken": {RULE: 0.4}},
        {"rule": True, "beside": [suspect(RULE, "label_map", explained=0.98)]},
        (RULE, "label_map"),
    ),
    "a rule without a name": ({"broken": {RULE: 0.4}}, {"rule": True}, (RULE, "unknown")),
    "a softmax inside the model's file": (
        {"broken": {MODEL: 0.4}},
        {"model": True, "beside": [suspect(RULE, "softmax_doubled", explained=1.0)]},
        (RULE, "softmax_doubled"),
    ),
    "noise in the field": (
        {"real": 0.6},
        {"beside": [suspect("data", "sensor_noise", 0.3), suspect("data", "contrast", 0.05)]},
        ("data", "sensor_noise"),
    ),
    "a gap that layers see": ({"real": 0.6}, {"part": True}, ("data", "sim_to_real_gap")),
    "a gap that nothing sees": ({"real": 0.6}, {}, ("data", "unknown")),
    "leakage of all rows, whose cost nothing shows": (
        {"real": 0.8},
        {"beside": [suspect("data", "leakage", explained=1.0, p=0.001)], "part": True},
        ("data", "leakage"),
    ),
    "a figure that is not reached": (
        {},
        {"beside": [suspect("data", "replay", 0.2)]},
        ("data", "replay"),
    ),
    "leakage": (
        {"real": 0.8},
        {"beside": [suspect("data", "leakage", 0.17, explained=1.0)]},
        ("data", "leakage"),
    ),
}


@pytest.mark.parametrize(("made", "beside", "first"), SINGLE.values(), ids=SINGLE.keys())
@pytest.mark.parametrize("seed", [1, 2])
def test_a_single_fault_is_named_first_and_alone(made, beside, first, seed):
    beside = dict(beside)
    guilty, ranked = diagnosed(world(**made, seed=seed), seen(*beside.pop("beside", []), **beside))
    assert guilty == [first]
    assert ranked[0] == first


DOUBLE = {
    "two steps": (
        {"steps": ("turn", "crop"), "broken": {"turn": 0.4, "crop": 0.3}},
        {"steps": (("turn", "turn"), ("crop", "crop"))},
        {(PRE, "turn"), (PRE, "crop")},
    ),
    "a step and a label map": (
        {"steps": ("turn",), "broken": {"turn": 0.4, RULE: 0.3}},
        {"steps": (("turn", "turn"),), "rule": True, "beside": [suspect(RULE, "label_map")]},
        {(PRE, "turn"), (RULE, "label_map")},
    ),
    "a model and a label map": (
        {"broken": {MODEL: 0.4, RULE: 0.3}},
        {
            "model": True,
            "rule": True,
            "beside": [suspect(RULE, "label_map"), suspect("model", "train_mode")],
        },
        {(MODEL, "train_mode"), (RULE, "label_map")},
    ),
    "a step and the data": (
        {"steps": ("turn",), "broken": {"turn": 0.4}, "real": 0.7},
        {"steps": (("turn", "turn"),), "beside": [suspect("data", "blur", 0.28)]},
        {(PRE, "turn"), ("data", "blur")},
    ),
    "two in the data": (
        {"real": 0.5},
        {"beside": [suspect("data", "blur", 0.2), suspect("data", "lag", 0.25)]},
        {("data", "blur"), ("data", "lag")},
    ),
}


@pytest.mark.parametrize(("made", "beside", "both"), DOUBLE.values(), ids=DOUBLE.keys())
@pytest.mark.parametrize("seed", [1, 2])
def test_two_faults_are_both_among_the_first_three(made, beside, both, seed):
    beside = dict(beside)
    guilty, ranked = diagnosed(world(**made, seed=seed), seen(*beside.pop("beside", []), **beside))
    assert set(guilty) == both
    assert both <= set(ranked[:3])


@pytest.mark.parametrize(
    "suspects",
    [
        pytest.param([suspect("data", "class_prior", 0.0, p=0.001)], id="a prior without a loss"),
        pytest.param([suspect("data", "blur", 0.2)], id="the reference loses nothing"),
        pytest.param([suspect("model", "reduced_precision")], id="half precision that fits"),
        pytest.param([suspect("data", "leakage", 0.0, explained=1.0, p=0.4)], id="chance doubles"),
        pytest.param([], id="nothing at all"),
    ],
)
def test_what_costs_nothing_is_not_accused(suspects):
    guilty, ranked = diagnosed(world(seed=3), seen(*suspects))
    assert guilty == []
    assert ranked[0] == ("none", "none")


def test_data_are_not_accused_of_what_the_deployment_loses():
    beside = seen(suspect("data", "blur", 0.3), steps=(("turn", "turn"),), part=True)
    guilty, _ = diagnosed(world(**TURN, seed=1), beside)
    assert guilty == [(PRE, "turn")]


def test_a_small_rest_beside_a_named_cause_is_not_told():
    guilty, ranked = diagnosed(world(real=0.6), seen(suspect("data", "blur", 0.3), part=True))
    assert guilty == [("data", "blur")]
    assert ranked[0] == ("data", "blur")


def test_a_large_rest_is_told_beside_what_was_named():
    guilty, _ = diagnosed(world(real=0.4), seen(suspect("data", "blur", 0.15), part=True))
    assert guilty == [("data", "sim_to_real_gap"), ("data", "blur")]


def test_an_unlikely_suspect_names_nothing():
    beside = seen(suspect("data", "blur", 0.3, p=0.4))
    assert diagnosed(world(real=0.6), beside)[0] == [("data", "unknown")]


def test_the_order_of_the_steps_changes_no_answer():
    made = world(steps=("a", "b", "c"), broken={"a": 0.4, "b": 0.2, "c": 0.0})
    named = {"a": "turn", "b": "crop", "c": "gamma"}
    answers = {
        tuple(diagnosed(made, seen(steps=[(key, named[key]) for key in order]))[1])
        for order in permutations("abc")
    }
    assert len(answers) == 1


@pytest.mark.parametrize(("regained", "harmless"), [((-0.01, 0.01), True), ((0.0, 0.0), False)])
def test_doubles_without_a_measured_cost_are_told_and_shown_harmless_ones_not(regained, harmless):
    low, high = regained
    found = Interval(value=0.0, low=low, high=high, n=24)
    leak = Suspected(at=0, component="data", kind="leakage", cost=found, explained=1.0)
    _, ranked = diagnosed(world(seed=3), seen(leak))
    assert (ranked[0] == ("none", "none")) is harmless
    assert (ranked[0] == ("data", "leakage")) is not harmless


def test_what_regains_as_much_is_the_next_answer():
    made = world(real=0.6)
    swapped = suspect("data", "swapped_channel", 0.37, explained=0.9)
    _, alone = diagnosed(made, seen(swapped, part=True))
    _, beside = diagnosed(made, seen(replace(swapped, other_kinds=("inverted",)), part=True))
    assert ("data", "inverted") not in alone
    assert beside[:2] == [("data", "swapped_channel"), ("data", "inverted")]

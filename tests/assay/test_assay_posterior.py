"""Confidence is a share: it grows with what speaks for an answer, and fits what was planted."""

import numpy as np
import pytest

from assay.posterior import Weighed, calibration_error, confidence, fit, likeliest
from assay.posterior_fit import COEFFICIENTS


def planted(num_rows, seed=0):
    generator = np.random.default_rng(seed)
    clear, named = generator.random(num_rows), (generator.random(num_rows) < 0.5).astype(float)
    chance = 1 / (1 + np.exp(-(-2.0 + 4.0 * clear + named)))
    right = generator.random(num_rows) < chance
    return [{"clear": c, "named": n} for c, n in zip(clear, named, strict=True)], list(right)


def test_a_fit_finds_the_coefficients_that_made_the_answers():
    figures, right = planted(4000)
    found = fit(figures, right, prior={})
    assert found["bias"] == pytest.approx(-2.0, abs=0.3)
    assert found["clear"] == pytest.approx(4.0, abs=0.4)
    assert found["named"] == pytest.approx(1.0, abs=0.3)


def test_what_was_fitted_is_calibrated_on_answers_that_it_never_saw():
    found = fit(*planted(2000), prior={})
    figures, right = planted(2000, seed=1)
    stated = [confidence(one, found) for one in figures]
    assert calibration_error(stated, right) < 0.05


def test_a_figure_that_always_decides_stays_finite():
    found = fit([{"clear": 1.0}] * 30 + [{}] * 30, [True] * 30 + [False] * 30)
    assert 2 < found["clear"] < 20


def test_the_order_of_the_answers_changes_no_coefficient():
    figures, right = planted(300)
    assert fit(figures, right) == pytest.approx(fit(figures[::-1], right[::-1]), abs=1e-3)


def test_what_the_answers_say_nothing_of_stays_what_a_person_said():
    figures, right = planted(500)
    found = fit(figures, right, prior={"clear": 1.0, "fact": 4.5, "harmless": -4.0})
    assert (found["fact"], found["harmless"]) == (4.5, -4.0)


def test_no_coefficient_turns_against_what_its_figure_means():
    figures, right = planted(500)
    found = fit(figures, [not one for one in right], prior={"clear": 1.0, "named": 1.0})
    assert found["clear"] == pytest.approx(1 / 3, abs=1e-3)
    assert found["named"] == pytest.approx(1 / 3, abs=1e-3)


def test_no_answer_is_no_fit():
    with pytest.raises(ValueError, match="one right or wrong an answer"):
        fit([{}], [])


def test_the_likeliest_comes_first_and_only_once():
    weak, strong = {"undecided": 1.0}, {"clear": 1.0, "sure": 1.0, "named": 1.0}
    found = likeliest(
        [
            Weighed(component="model", kind="unknown", figures=weak),
            Weighed(component="data", kind="blur", figures=strong),
            Weighed(component="data", kind="blur", figures=weak),
        ]
    )
    assert [(one.component, one.kind) for one in found] == [("data", "blur"), ("model", "unknown")]
    assert found[0].confidence > 0.5 > found[1].confidence


def test_a_second_name_stands_behind_another_thing_that_is_likely_broken():
    figures = {"clear": 1.0, "sure": 1.0, "named": 1.0, "share": 1.0, "first": 1.0}
    other = {"clear": 1.0, "sure": 0.5, "named": 1.0}
    second = figures | {"other": 1.0}
    found = likeliest(
        [
            Weighed(component="preprocessing", kind="channel_permutation", figures=figures),
            Weighed(component="preprocessing", kind="channel_copy", figures=second),
            Weighed(component="data", kind="stuck_value", figures=other),
            Weighed(component="none", kind="none", figures={"none_gap": 1.0}),
        ]
    )
    assert [one.kind for one in found][:2] == ["channel_permutation", "stuck_value"]
    assert {one.kind for one in found[2:]} == {"channel_copy", "none"}


def test_every_coefficient_is_finite_and_speaks_as_its_name_says():
    assert all(np.isfinite(value) for value in COEFFICIENTS.values())
    assert COEFFICIENTS["clear"] > 0 > COEFFICIENTS["harmless"]

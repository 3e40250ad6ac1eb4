"""The page tells what restores service, what it costs to wait, and what labels really buy."""

import re

from planted_world import estimate, report_inputs, scratch_wins

from stages.report import Inputs, PageParams, run
from stages.reports.probe import Rung


def page(tmp_path, probe=None, **planted) -> str:
    given = report_inputs(tmp_path, **planted)
    given |= {"probe": probe} if probe else {}
    params = PageParams(case="digits", title="Digits", pictures="full")
    made = run(params, Inputs(**given), tmp_path).page
    return re.sub(r"\s+", " ", made.replace("&nbsp;", " "))


def test_offers_stand_with_their_figures_and_the_command_that_applies_one(tmp_path):
    made = page(tmp_path, rich=True, steps={"turn": (0.6, "transpose")})
    assert "What restores service now" in made
    assert "assay mitigate digits --apply reference_steps" in made
    assert re.search(r"\+5\d\.\d<small>\+\d\d\.\d to \+\d\d\.\d; p < 0\.001|p &lt; 0.001", made)
    assert "A person decides every case." in made
    assert "not judged, and why" in made


def test_where_nothing_can_be_judged_the_page_says_why(tmp_path):
    made = page(tmp_path, labelled=False)
    assert "0 real rows with a label fit a mitigation" in made


def rung(kind, labels, real, sim, says):
    return Rung(
        kind=kind,
        labels=labels,
        resamples=3,
        real=estimate(real, 0.04),
        sim=None if sim is None else estimate(sim, 0.04),
        gain=estimate(real - 0.32, 0.05),
        labels_gain=None if sim is None else estimate(real - sim, 0.05),
        says=says,
    )


def test_the_ladder_shows_real_labels_beside_those_of_simulation(tmp_path):
    rungs = [
        rung("last_layer", 10, 0.4, 0.39, "undecided"),
        rung("last_layer", 200, 0.6, 0.35, "labels help"),
        rung("whole_model", 200, 0.7, 0.68, "the probe helps anyway"),
        rung("bias", 10, 0.33, None, "undecided"),
    ]
    update = {"ladder": rungs, "not_probed": {"bn_statistics": "No layer has any."}}
    made = page(tmp_path, probe=scratch_wins().model_copy(update=update))
    assert "Is it the labels?" in made
    assert "the probe helps anyway" in made
    assert "+25.0" in made
    assert "Not probed, batch statistics: No layer has any." in made
    assert "3 ways to use them" in made

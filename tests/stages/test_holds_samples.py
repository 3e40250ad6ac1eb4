"""Whether a stage's folder may leave a private case's machine is decided, stage by stage."""

from stages.catalog import CATALOG

PUSHED = {  # figures, counts, facts and rows by their place: see docs/privacy.md before adding one
    "train",
    "parity",
    "collect",
    "environments",
    "features",
    "field",
    "inputs",
    "mitigate",
    "probe",
    "evaluate",
    "since",
    "diagnose",
    "gate",
    "report",
    "runtime",
}


def test_only_stages_that_hold_no_sample_and_no_line_a_row_are_pushed():
    assert {stage.name for stage in CATALOG if not stage.holds_samples} == PUSHED

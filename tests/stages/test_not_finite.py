"""Outputs that are no numbers are told before anything that is made of them."""

import pytest

from stages.not_finite import says
from stages.reports.predict import PredictReport


def predicted(side: str, **nonfinite: int) -> PredictReport:
    own = f"real-{side}"
    rows = {name.replace("_", "-"): number for name, number in nonfinite.items()}
    return PredictReport(
        side=side, model="m:f", sets={"sim": 200, own: 300}, errors={}, num_nonfinite_rows=rows
    )


def test_finite_outputs_are_no_news():
    assert not says(predicted("reference", sim=0), predicted("candidate"))


@pytest.mark.parametrize(
    ("reference", "candidate", "told"),
    [
        ({"sim": 3}, {}, "the reference's on 3 of 200 validation rows."),
        ({}, {"real_candidate": 300}, "the candidate's on 300 of 300 real rows."),
    ],
)
def test_each_side_and_its_rows_are_named(reference, candidate, told):
    said = says(predicted("reference", **reference), predicted("candidate", **candidate))
    assert told in said
    assert "Look at these first" in said


def test_the_first_rows_are_named():
    found = predicted("candidate", real_candidate=7)
    named = found.model_copy(update={"nonfinite_rows": {"real-candidate": ["a", "b"]}})
    assert "on 7 of 300 real rows (a, b, ...)." in says(predicted("reference"), named)

"""Raw outputs that hold NaN or infinity: a label is made of them all the same."""

from stages.reports.predict import PredictReport


def says(reference: PredictReport, candidate: PredictReport) -> str:
    """Say on how many rows of its own tensors a side's outputs are no numbers; "" where on none."""
    found = [
        f"the {side}'s on {report.num_nonfinite_rows[name]} of {report.sets[name]} {rows} rows"
        for side, report in (("reference", reference), ("candidate", candidate))
        for name, rows in (("sim", "validation"), (f"real-{side}", "real"))
        if report.num_nonfinite_rows.get(name) and report.sets.get(name)
    ]
    if not found:
        return ""
    return (
        f"Raw outputs hold NaN or infinity: {', '.join(found)}. What is made of NaN is scored like "
        f"an answer and is none: look at these first."
    )

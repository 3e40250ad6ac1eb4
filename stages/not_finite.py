"""Raw outputs that hold NaN or infinity: of a NaN no class is made, and its row counts as wrong."""

from stages.reports.predict import PredictReport


def says(reference: PredictReport, candidate: PredictReport) -> str:
    """Say on how many rows of its own tensors a side's outputs are no numbers; "" where on none."""
    found = [
        f"the {side}'s on {report.num_nonfinite_rows[name]} of {report.sets[name]} {rows} rows"
        f"{_named(report, name)}"
        for side, report in (("reference", reference), ("candidate", candidate))
        for name, rows in (("sim", "validation"), (f"real-{side}", "real"))
        if report.num_nonfinite_rows.get(name) and report.sets.get(name)
    ]
    if not found:
        return ""
    return (
        f"Raw outputs hold NaN or infinity: {', '.join(found)}. NaN is no class: such a row counts "
        f"as wrong. Look at these first."
    )


def _named(report: PredictReport, name: str) -> str:
    ids = report.nonfinite_rows.get(name, [])
    more = ", ..." if len(ids) < report.num_nonfinite_rows[name] else ""
    return f" ({', '.join(ids)}{more})" if ids else ""

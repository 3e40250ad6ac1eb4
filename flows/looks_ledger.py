"""The ledger of looks: which runs looked at the same held-out rows, as their tags tell.

Nothing is written down beside the tags. A look is another set of answers to the same rows; the same
answers again are the same look. What a run spends is stated in its params (`gate.look`), so that a
run can be repeated; here it is checked against what the tags count.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from assay.spending import number_of
from lineage.provenance import RunRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Which look a run is, and which one it says that it is."""

    number: int
    stated: int | None

    @property
    def overspends(self) -> bool:
        """Tell whether it spends more of the error than is left to it."""
        return self.number > (self.stated or 1)

    def says(self) -> str:
        """Tell it in one sentence; nothing where it is the first."""
        if self.number == 1:
            return ""
        told = f"It is look {self.number} at the same held-out rows"
        if not self.overspends:
            return f"{told}; stated: {self.stated}."
        stated = "none" if self.stated is None else str(self.stated)
        return (
            f"{told}, and its intervals are those of look {self.stated or 1} (stated: {stated}). "
            f"State it in case.yaml and run again: params: {{gate: {{look: {self.number}}}}}"
        )


def counted(record: RunRecord, records: Iterable[RunRecord]) -> Counted | None:
    """Count the looks before a run; None where its answers to held-out rows are not known."""
    look = record.look or {}
    if not look.get("answers"):
        return None
    earlier = _answers(look["rows"], (one for one in records if one.started < record.started))
    return Counted(number=number_of(look["answers"], earlier), stated=look.get("number"))


def lets_serve(record: RunRecord, records: Iterable[RunRecord]) -> bool:
    """Tell whether a run's gate is open, at a look that is stated.

    Args:
        record: the run's.
        records: of all runs that looked, pruned ones too: `lineage.run_tags.list_looks`.
    """
    look = counted(record, records)
    return record.verdict == "open" and not (look and look.overspends)


def next_look(rows: str, records: Iterable[RunRecord], judged: int = 1) -> int:
    """Return which look a new set of answers to these rows will be.

    Args:
        rows: which ones, as `look.rows` of a record tells.
        records: of all runs.
        judged: sets of answers to these rows of which this one is the best: whoever picks the best
            of five has looked five times.
    """
    return len(set(_answers(rows, records))) + judged


def _answers(rows: str, records: Iterable[RunRecord]) -> list[str]:
    known = sorted((one for one in records if one.look), key=lambda one: (one.started, one.id))
    looks = [one.look for one in known if one.look]
    return [look["answers"] for look in looks if look["rows"] == rows and look["answers"]]

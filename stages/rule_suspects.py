"""What is suspected of postprocessing: another rule, or raw outputs in another form."""

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.label_map import label_map
from assay.operating_point import Cut, cut, doubled, logistic, missing
from assay.output_relation import Relation, apart
from stages.dataset import open_tensor
from stages.reports.suspect import Suspect
from stages.stage import Estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

GRID = 3  # steps of the grid by which a threshold may be off
EVEN = 1e-9
KINDS = {
    "softmax_doubled": "softmax_doubled",
    "softmax_missing": "softmax_missing",
    "temperature": "temperature",
    "permuted": "label_map",
    "box_format": "box_format",
    "scaled": "output_scale",
}
ACTIONS = {
    "label_map": "put the reference's list of classes back, in its order",
    "threshold": "put the reference's threshold back",
    "softmax_doubled": "take the softmax once",
    "softmax_missing": "put the softmax back",
    "temperature": "put the reference's temperature back",
    "box_format": "convert the boxes to the reference's format",
    "output_scale": "undo the scale",
    "unknown": "put the reference's postprocessing back",
}


@dataclass(frozen=True, slots=True)
class Probe:
    """What a rule answers on the grid of made-up outputs."""

    classes: list[int]
    reach: float
    width: int
    shares: bool
    shifts: float | None  # labels that change when a number is added to a row's outputs
    labels: "NDArray[np.int64]"  # (classes, steps)


def read_probe(folder: Path) -> Probe | None:
    """Read a side's `probe.labels.npy`; None where its rule was not asked."""
    told = json.loads((folder / "sets.json").read_text(encoding="utf-8"))["probe"]
    if told is None:
        return None
    labels = np.asarray(open_tensor(folder / "probe.labels.npy"))
    return Probe(**told, labels=labels)


def rule_suspects(
    ours: "NDArray[Any] | None",
    theirs: "NDArray[Any] | None",
    probes: tuple[Probe | None, Probe | None],
    cost: Estimate | None,
) -> list[Suspect]:
    """Compare both rules' labels of the same raw outputs, (rows,), and their thresholds."""
    if ours is None or theirs is None or ours.shape != theirs.shape or not len(ours):
        return []
    if ours.dtype.kind == "f" or theirs.dtype.kind == "f":
        return _numbers(ours, theirs, cost)
    return [_classes(ours, theirs, probes, cost)] if (ours != theirs).any() else []


def _classes(
    ours: "NDArray[Any]",
    theirs: "NDArray[Any]",
    probes: tuple[Probe | None, Probe | None],
    cost: Estimate | None,
) -> Suspect:
    """Name how a rule's labels differ; the more particular first."""
    changed = float(np.mean(ours != theirs))
    share = f"The candidate's rule answers {100 * changed:.3g} % of {len(ours)} rows otherwise, "
    lines = [share + "given the same raw outputs."]
    if _lacks_softmax(probes):
        title = "The candidate's rule holds raw outputs against shares: its softmax is missing."
        lines.append("Unlike the reference's it changes when a number is added to all outputs.")
        return _rule("softmax_missing", title, lines, cost, explained=1.0)
    named = label_map(ours, theirs, least=1 - EVEN)
    cuts = _moved_cut(probes) if _one_label(ours, theirs) else None
    # One label for all rows is a threshold out of reach sooner than a list of one other name.
    if named is not None and (cuts is None or len(named.changed) > 1):
        title = f"The candidate's rule names classes otherwise: {named.says}."
        return _rule("label_map", title, lines, cost, explained=named.explained)
    if cuts is not None:
        kind, title = _of_cuts(*cuts)
        return _rule(kind, title, lines, cost, explained=1.0)
    title = "The candidate's rule makes other labels of the same outputs."
    return _rule("unknown", title, lines, cost, explained=None)


def _lacks_softmax(probes: tuple[Probe | None, Probe | None]) -> bool:
    ours, theirs = probes
    if ours is None or theirs is None or ours.shifts is None or theirs.shifts is None:
        return False
    return ours.shifts == 0 and theirs.shifts > 0


def _one_label(ours: "NDArray[Any]", theirs: "NDArray[Any]") -> bool:
    """Tell whether the rows that differ fall to one label on one side: a threshold's other side."""
    differ = ours != theirs
    return len(np.unique(ours[differ])) == 1 or len(np.unique(theirs[differ])) == 1


def _rule(
    kind: str, title: str, lines: list[str], cost: Estimate | None, *, explained: float | None
) -> Suspect:
    return Suspect(
        component="postprocessing",
        kind=kind,
        title=title,
        where="postprocess",
        cost=cost,
        explained=explained,
        evidence=lines,
        action=ACTIONS[kind],
    )


def _numbers(ours: "NDArray[Any]", theirs: "NDArray[Any]", cost: Estimate | None) -> list[Suspect]:
    from assay.output_relation import relation

    finite = np.isfinite(ours) & np.isfinite(theirs)
    if not finite.any():  # what was given were no numbers: that tells nothing of the rules
        return []
    found = relation(ours[:, None], theirs[:, None], boxes=True)
    if found.name == "equal":
        return []
    kind = KINDS.get(found.name, "unknown")
    says = f": {found.says}" if found.says else ""
    title = f"The candidate's rule makes other numbers of the same outputs{says}."
    spread = apart(ours[finite, None], theirs[finite, None])
    line = f"They differ by {100 * spread:.3g} % of their spread."
    return [_rule(kind, title, [line], cost, explained=None if kind == "unknown" else 1.0)]


def _moved_cut(probes: tuple[Probe | None, Probe | None]) -> tuple[Probe, Cut, Cut] | None:
    """Return the thresholds of both rules for the first class where they are apart."""
    ours, theirs = probes
    if ours is None or theirs is None or ours.labels.shape != theirs.labels.shape:
        return None
    steps = ours.labels.shape[1]
    grid = np.linspace(-ours.reach, ours.reach, steps)
    near = GRID * 2 * ours.reach / (steps - 1)
    for left, right in zip(ours.labels, theirs.labels, strict=True):
        appears = left[-1] if left[-1] != left[0] else right[-1]
        cuts = cut(grid, left == appears), cut(grid, right == appears)
        if cuts[0] is None or cuts[1] is None:
            continue
        between = abs(cuts[0].middle - cuts[1].middle)
        if between > near:
            return ours, cuts[0], cuts[1]
    return None


def _of_cuts(probe: Probe, ours: Cut, theirs: Cut) -> tuple[str, str]:
    """Name the move of a threshold: a softmax more or less moves it by a known function."""
    near = 2 * probe.reach / (probe.labels.shape[1] - 1)
    if not probe.shares and np.isfinite(ours.middle):
        known = {"softmax_doubled": partial(doubled, width=probe.width)}
        if probe.width <= 2:  # noqa: PLR2004
            known["softmax_missing"] = partial(missing)
        for kind, moved in known.items():
            # Both ends of the step are moved: near the end of the shares it becomes a wide one.
            low, high = moved(ours.low) - near, moved(ours.high) + near
            if theirs.high >= low and theirs.low <= high:
                word = "twice" if kind == "softmax_doubled" else "not at all"
                return kind, f"The candidate's rule takes the softmax {word}."
    # One logit of a against many of 0 is a share of e^a / (e^a + k - 1).
    others = 0.0 if probe.shares else float(np.log(max(probe.width - 1, 1)))
    digits = 3 if probe.width <= 2 else 2  # noqa: PLR2004  the grid is coarser for more classes
    told = [_threshold(one, probe.reach, others, digits) for one in (ours, theirs)]
    return "threshold", f"The candidate's rule has a threshold of {told[1]} instead of {told[0]}."


def _threshold(one: Cut, reach: float, others: float, digits: int) -> str:
    if abs(one.middle) >= reach:
        return "never" if one.middle > 0 else "always"
    return f"{logistic(one.middle - others):.{digits}f}"


def form_suspects(found: Relation, cost: Estimate | None, num_rows: int) -> list[Suspect]:
    """Suspect the form in which raw outputs come: nobody else undoes it."""
    kind = KINDS.get(found.name)
    if kind is None:
        return []
    stays = 0.0 if found.error is None else found.error
    before = found.before or 1.0
    line = f"On {num_rows} rows it leads from the reference's raw outputs to the candidate's: "
    line += f"{100 * stays:.2g} % of the spread stay, of {100 * before:.3g} %."
    title = f"The candidate's raw outputs have another form: {found.says}."
    explained = max(0.0, 1 - (stays / before) ** 2)
    return [_rule(kind, title, [line], cost, explained=explained)]

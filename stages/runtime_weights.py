"""How the candidate's weights relate to the reference's, by their numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from stages.reports.collect import CollectReport, Parameters

QUANTISED = ("int8", "uint8", "qint8", "quint8")
HALVES = ("float16", "bfloat16")
NEAR = 0.004  # of the weights' size: a number format, not another training
MOSTLY = 0.9  # of the numbers
LOST = 1e-3  # of the model's numbers: so few may lie elsewhere than in its file


@dataclass(frozen=True, slots=True)
class Weights:
    """How the candidate's weights relate to the reference's."""

    state: str  # same, rounded, quantised, different, not_loaded, unknown
    says: str


def compare_weights(reference: CollectReport, candidate: CollectReport) -> Weights:
    """Compare by content: the same numbers in another file are the same weights."""
    ours, theirs = reference.parameters, candidate.parameters
    if ours is None or theirs is None or ours.digest is None or theirs.digest is None:
        lacking = candidate if ours and ours.digest else reference
        why = lacking.why_no_parameters or "their numbers are not read here"
        return Weights("unknown", f"The {lacking.side}'s weights: {why}.")
    if ours.digest == theirs.digest:
        return Weights("same", "Both sides hold the same numbers.")
    narrowed = _narrowed(ours, theirs) or _not_loaded(ours, theirs)
    if narrowed is not None:
        return narrowed
    apart = _apart(ours, theirs)
    if apart is None:
        return Weights("unknown", "The sides hold other tensors: they cannot be compared.")
    files = [sorted(one.weights.values()) for one in (reference, candidate)]
    if files[0] and files[0] == files[1]:
        return Weights("not_loaded", "The files of weights are the same, the models' numbers not.")
    return Weights("different", f"The weights differ by {100 * apart:.0f} % of their size.")


def _narrowed(ours: Parameters, theirs: Parameters) -> Weights | None:
    """Tell whether the candidate's numbers are the reference's in a narrower format."""
    rounded = _rounded(ours, theirs)
    if rounded:
        return Weights("rounded", f"The candidate's weights are the reference's in {rounded}.")
    apart = _apart(ours, theirs)
    narrow = [name for name in theirs.dtypes if name in QUANTISED and name not in ours.dtypes]
    if narrow:
        return Weights("quantised", f"The candidate's weights are {', '.join(narrow)}.")
    if (theirs.on_grid or 0.0) > MOSTLY and (ours.on_grid or 0.0) < 1 - MOSTLY:
        by = "" if apart is None else f", {100 * apart:.2g} % off the reference's"
        says = f"The candidate's weights stand on few, evenly spaced levels{by}."
        return Weights("quantised", says)
    if apart is not None and apart <= NEAR:
        says = f"The candidate's weights are the reference's within {100 * apart:.2g} %."
        return Weights("rounded", says)
    return None


def _not_loaded(ours: Parameters, theirs: Parameters) -> Weights | None:
    """Tell whether the candidate's model holds other numbers than its own file of weights."""
    held = theirs.from_file
    if held is None or held >= 1 - LOST or (ours.from_file is not None and ours.from_file <= held):
        return None
    says = f"Of the candidate model's numbers {100 * held:.0f} % stand in its file of weights."
    return Weights("not_loaded", says)


def _apart(ours: Parameters, theirs: Parameters) -> float | None:
    """Return the samples' difference over their size; None where the tensors are others."""
    if not ours.samples or ours.sizes != theirs.sizes:
        return None
    left, right = _flat(ours), _flat(theirs)
    size = float(np.sqrt(np.mean(left**2)))
    return float(np.sqrt(np.mean((left - right) ** 2))) / size if size else None


def _rounded(ours: Parameters, theirs: Parameters) -> str | None:
    if not ours.samples or ours.sizes != theirs.sizes:
        return None
    left, right = _flat(ours).astype(np.float32), _flat(theirs).astype(np.float32)
    with np.errstate(over="ignore"):
        if np.array_equal(left.astype(np.float16).astype(np.float32), right):
            return "float16"
    bits = left.view(np.uint32).astype(np.uint64)
    nearest = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 << 16).astype(np.uint32)
    return "bfloat16" if np.array_equal(nearest.view(np.float32), right) else None


def _flat(one: Parameters) -> "np.ndarray[Any, np.dtype[np.float64]]":
    return np.concatenate([np.asarray(values, np.float64) for values in one.samples])


def halves(side: CollectReport) -> list[str]:
    """Return the half formats that a side's weights are held in."""
    found = side.parameters.dtypes if side.parameters else {}
    return [name for name in HALVES if name in found]

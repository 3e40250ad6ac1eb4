"""How sure a classifier is of its answers, read block by block from its raw outputs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.calibration import (
    Taken,
    brier,
    calibrate,
    certainty,
    coverage_sweep,
    expected_accuracy,
    histogram,
    precision_recall,
    probabilities,
    taken_as,
)
from assay.criteria import accuracy
from assay.intervals import bootstrap_mean
from stages.answers import is_known
from stages.figures import estimate
from stages.reports.evaluate import (
    CalibrationReport,
    OperatingPointReport,
    ReliabilityBin,
    SweepPoint,
    Unlabelled,
    Where,
)

if TYPE_CHECKING:
    from stages.answers import Rows, Side

Floats = NDArray[np.float64]

BLOCK = 8192  # rows
ASSUMES = (
    "It assumes that the field only shifts which inputs come, not what being sure means: "
    "a fault that makes the model surely wrong is not seen."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """Of rows whose outputs are all finite."""

    finite: NDArray[np.bool_]  # (all rows,): which those are
    highest: Floats  # the largest probability
    certainty: Floats  # negative entropy
    brier: Floats  # against the labels given
    second: Floats | None  # of two classes, the probability of class 1
    taken_as: Taken


def confidence(outputs: NDArray[Any] | None, labels: NDArray[np.int64]) -> Confidence | str:
    """Reduce (rows, classes) to a few figures a row; a reason where there is nothing to read."""
    if outputs is None:
        return "No raw outputs were recorded."
    if outputs.ndim != 2 or len(outputs) == 0:  # noqa: PLR2004
        return "The outputs are no (rows, classes)."
    finite = np.concatenate([np.isfinite(block).all(axis=1) for block in _blocks(outputs)])
    if not finite.any():
        return "No row's outputs are all finite."
    kept, truth = outputs[finite], labels[finite]
    taken = {taken_as(block) for block in _blocks(kept)}
    # Rows that happen to sum to one do not make logits probabilities.
    how: Taken = next((one for one in taken if one != "probabilities"), "probabilities")
    parts = [
        _figures(probabilities(block, how)[0], truth[start : start + BLOCK])
        for start, block in zip(range(0, len(kept), BLOCK), _blocks(kept), strict=True)
    ]
    columns = np.concatenate(parts)
    return Confidence(
        finite=finite,
        highest=columns[:, 0],
        certainty=columns[:, 1],
        brier=columns[:, 2],
        second=columns[:, 3] if outputs.shape[1] <= 2 else None,  # noqa: PLR2004
        taken_as=how,
    )


def _blocks(rows: NDArray[Any]) -> Iterator[NDArray[Any]]:
    for start in range(0, len(rows), BLOCK):
        yield rows[start : start + BLOCK]


def _figures(shares: Floats, labels: NDArray[np.int64]) -> Floats:
    columns = [shares.max(axis=1), certainty(shares), brier(shares, labels), shares[:, -1]]
    return np.stack(columns, axis=1)


def calibration(
    sure: Confidence,
    right: NDArray[np.bool_],
    groups: NDArray[Any],
    *,
    bins: int,
    resamples: int,
    seed: int,
) -> CalibrationReport:
    """Hold confidence against accuracy."""
    right, groups = right[sure.finite], groups[sure.finite]
    found = calibrate(sure.highest, right, groups, num_bins=bins, num_draws=resamples, seed=seed)
    return CalibrationReport(
        taken_as=sure.taken_as,
        bins=[
            ReliabilityBin(
                confidence=one.confidence,
                accuracy=one.accuracy,
                low=one.accuracy_low,
                high=one.accuracy_high,
                n=one.n,
            )
            for one in found.bins
        ],
        error=estimate(found.error),
        debiased=found.debiased,
        over=found.over,
        brier=estimate(bootstrap_mean(sure.brier, groups, resamples, seed).within(0, 2)),
    )


def sweep(sure: Confidence, right: NDArray[np.bool_]) -> list[SweepPoint]:
    """Follow accuracy over coverage."""
    return [
        SweepPoint(threshold=one.threshold, coverage=one.coverage, accuracy=one.accuracy)
        for one in coverage_sweep(sure.highest, right[sure.finite])
    ]


def operating(sure: Confidence, labels: NDArray[np.int64]) -> list[OperatingPointReport]:
    """Follow precision and recall of class 1, where there are two."""
    if sure.second is None:
        return []
    return [
        OperatingPointReport(threshold=one.threshold, precision=one.precision, recall=one.recall)
        for one in precision_recall(sure.second, labels[sure.finite] == 1)
    ]


def unlabelled(
    name: str,
    sets: Mapping[Where, str],
    side: "Side",
    rows: "Mapping[Where, Rows]",
    *,
    reference: NDArray[np.int64] | None,
    resamples: int,
    seed: int,
) -> Unlabelled | None:
    """Say what the real rows show without their labels; None where a side has no answers."""
    sim, real = rows["sim"], rows["real"]
    given = side.labels(sets["real"], real)
    if given is None or not len(real):
        return None
    found: dict[str, Any] = {"side": name, "n": len(real), "assumes": ASSUMES}
    if reference is not None:
        same = np.asarray(given == reference)
        agreed = accuracy(same, real.groups, num_draws=resamples, seed=seed)
        found["agreement"] = estimate(agreed)
    before = confidence(side.raw(sets["sim"], sim), sim.labels)
    now = confidence(side.raw(sets["real"], real), real.labels)
    if isinstance(now, str):
        return Unlabelled(**found)
    groups = real.groups[now.finite]
    mean = bootstrap_mean(now.highest, groups, resamples, seed).within(0, 1)
    found |= {"confidence_real": estimate(mean), "histogram_real": histogram(now.highest)}
    if isinstance(before, str):
        return Unlabelled(**found)
    found["confidence_sim"] = float(before.highest.mean())
    found["histogram_sim"] = histogram(before.highest)
    known = is_known(sim.labels[before.finite])
    right = np.asarray(side.labels(sets["sim"], sim) == sim.labels)[before.finite][known]
    if known.any():
        guessed = expected_accuracy(
            before.certainty[known], right, now.certainty, groups, num_draws=resamples, seed=seed
        )
        found["expected"] = estimate(guessed)
    return Unlabelled(**found)

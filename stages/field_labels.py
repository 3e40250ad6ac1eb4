"""What labels say about the loss: shares of classes, wrong labels, systematic confusions."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.calibration import probabilities
from assay.class_prior import class_prior
from assay.confusions import Systematic, best_relabelling, confusion, systematic
from assay.criteria import accuracy, drop
from assay.gains import paired_gain
from assay.label_noise import Doubts, doubts, votes
from stages.answers import Rows, Side, rows_of
from stages.figures import estimate
from stages.reports.field import (
    ClassShare,
    ConfusionReport,
    NamedConfusion,
    NoisePair,
    NoiseReport,
    PriorReport,
)

SEEN = ("diagnose", "fit", "unlabelled")
MOST_CLASSES = 40  # of a table that is shown
LEAST = 10
DRAWS = 2000
HELD = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """Where labels, answers and features stand."""

    roles: Path
    outputs: Path
    layers: Path
    sim_tensors: Path
    real_tensors: Path


def prior(found: Answers, sim: Rows, real: Rows, seed: int) -> PriorReport | None:
    """Compare classes' shares and successes; real rows are those of role diagnose."""
    side = Side(found.outputs)
    every = rows_of(found.roles, "real", SEEN, labelled=False)
    ours, theirs = side.labels("sim", sim), side.labels("real-reference", real)
    answered = side.labels("real-reference", every)
    if ours is None or theirs is None or answered is None:
        return None
    made = class_prior(
        sim.labels, ours, real.labels, theirs, real.groups, answered=answered, seed=seed
    )
    return PriorReport(
        classes=[
            ClassShare(
                name=str(name),
                sim=made.sim[at],
                real=made.real[at],
                estimated=None if made.estimated is None else made.estimated[at],
                right_sim=_number(made.right_sim[at]),
                right_real=_number(made.right_real[at]),
            )
            for at, name in enumerate(made.classes)
        ],
        explains=estimate(made.explains),
        p_shift=made.p_shift,
        p_assumption=made.p_assumption,
        holds=made.p_assumption > HELD,
    )


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def noise(found: Answers, seed: int) -> NoiseReport | None:
    """Ask the model and the neighbours about labels, of role diagnose and fit."""
    real, _ = _doubted(found, "real")
    sim, _ = _doubted(found, "sim")
    if real is None or sim is None:
        return None
    doubted, rows = real
    # As many are doubted in simulation, where labels are right: that share is an estimate too.
    share = drop(
        *(accuracy(one.confirmed, of.groups, num_draws=DRAWS, seed=seed) for one, of in (real, sim))
    )
    pairs: dict[tuple[int, int], int] = {}
    for label, other in zip(
        rows.labels[doubted.confirmed], doubted.looks_like[doubted.confirmed], strict=True
    ):
        pairs[int(label), int(other)] = pairs.get((int(label), int(other)), 0) + 1
    confirmed, refuted = int(doubted.confirmed.sum()), int(doubted.refuted.sum())
    return NoiseReport(
        share=estimate(share),
        confirmed=confirmed,
        refuted=refuted,
        pairs=[
            NoisePair(label=str(a), looks_like=str(b), n=n)
            for (a, b), n in sorted(pairs.items(), key=lambda one: (-one[1], one[0]))[:5]
        ],
        says=(
            f"Of {len(rows)} labelled real rows the model is surely of another class than the "
            f"label and the row's neighbours agree with the model in {confirmed}, with the label "
            f"in {refuted}."
        ),
    )


def _doubted(found: Answers, dataset: str) -> tuple[tuple[Doubts, Rows] | None, str]:
    role = None if dataset == "sim" else ("diagnose", "fit")
    rows = rows_of(found.roles, dataset, role)
    features, rows = features_of(found, dataset, rows)
    raw = Side(found.outputs).raw("sim" if dataset == "sim" else "real-reference", rows)
    if raw is None or len(rows) < LEAST or raw.shape[1] < 1:
        return None, "There are no raw outputs."
    both = np.isfinite(raw).all(axis=1), np.isfinite(features).all(axis=1)
    finite = np.asarray(both[0] & both[1], dtype=np.bool_)
    rows, features = rows.only(finite), features[finite]
    shares, _ = probabilities(raw[finite])
    width = shares.shape[1]
    if len(rows) < LEAST or rows.labels.max() >= width or rows.labels.min() < 0:
        return None, "The outputs are not one a class."
    neighbours = votes(features, rows.labels, rows.groups, width)
    return (doubts(shares, rows.labels, neighbours), rows), ""


def features_of(found: Answers, dataset: str, rows: Rows) -> tuple[NDArray[np.float64], Rows]:
    """Give what the last layer that was read answers, or else the tensors; at most 500 rows."""
    read: dict[str, Any] = json.loads((found.layers / "layers.json").read_text(encoding="utf-8"))
    if not read["why_not"] and len(read["layers"]) > 1:
        layer = read["files"][read["layers"][-1]]
        there = np.array(read[dataset], dtype=np.int64)
        rows = rows.only(np.isin(rows.positions, there))
        values = np.load(found.layers / f"{layer}.{dataset}.npy", mmap_mode="r")
        return np.asarray(values[np.searchsorted(there, rows.positions)], dtype=np.float64), rows
    rows = rows.only(np.arange(len(rows)) < 500)  # noqa: PLR2004
    path = found.sim_tensors if dataset == "sim" else found.real_tensors
    values = np.load(path, mmap_mode="r")[rows.positions]
    return np.asarray(values, dtype=np.float64).reshape(len(rows), -1), rows


def confusions(found: Answers, real: Rows) -> ConfusionReport | None:
    """Count truth by answer, name what follows a rule, and try another map of labels."""
    side = Side(found.outputs)
    fit = rows_of(found.roles, "real", "fit")
    answers, fitted = side.labels("real-reference", real), side.labels("real-reference", fit)
    if answers is None or fitted is None or not len(real):
        return None
    count = int(max(real.labels.max(), answers.max(), fit.labels.max(initial=0))) + 1
    if count > MOST_CLASSES or answers.min() < 0:
        return None
    table = confusion(real.labels, answers, count)
    # Found on other rows than it is judged on; of too few of them no map is learnt.
    learnt = confusion(fit.labels, fitted, count) if len(fit) >= LEAST else np.diag([1] * count)
    relabel = np.array(best_relabelling(learnt))
    gain = paired_gain(answers == real.labels, relabel[answers] == real.labels, real.groups)
    better = gain.interval.low > 0
    after = confusion(real.labels, relabel[answers], count).tolist() if better else None
    return ConfusionReport(
        before=table.tolist(),
        after=after,
        relabel=[int(at) for at in relabel] if better else None,
        regained=estimate(gain.interval) if better else None,
        named=[
            NamedConfusion(kind=one.kind, title=_title(one), rows=one.rows)
            for one in systematic(table)
        ],
    )


def _title(one: Systematic) -> str:
    names = [str(at) for at in one.classes]
    if one.kind == "everything_to_one":
        return f"most rows are called {names[0]}"
    if one.kind == "exchanged":
        return f"{names[0]} and {names[1]} are called each other"
    if one.kind == "swallowed":
        return f"most of {names[0]} are called {names[1]}"
    if one.kind == "off_by_one":
        return f"answers are off by one ({'+' if one.classes[0] > 0 else ''}{one.classes[0]})"
    return "answers are counted from the other end"

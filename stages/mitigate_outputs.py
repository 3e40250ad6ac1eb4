"""Mitigations of what comes out: maps of raw outputs, of labels, of the confidence."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.calibration import Taken, taken_as
from assay.recalibrate import (
    fit_bias,
    fit_line,
    fit_monotone,
    fit_prior,
    fit_relabel,
    fit_temperature,
    fit_threshold,
    log_shares,
    softmax,
)
from stages.mitigate_rows import Answers, CannotTry, Judging, Name, Tried, loading, npz, text
from stages.reports.mitigate import Kind

TWO = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What the candidate answers, and which output column stands for which label."""

    judging: Judging
    labels: Answers
    raw: Answers
    columns: NDArray[np.int64] | None  # of each label; None: postprocessing does more than that
    classes: int | None  # None: labels are numbers

    @property
    def how(self) -> Taken:
        """How raw outputs are read."""
        return taken_as(self._known())

    def logs(self) -> Mapping[Name, NDArray[np.float64] | None]:
        """Return log-probabilities of each set, (rows, classes)."""
        how = self.how
        return {
            name: None if one is None else log_shares(np.asarray(one, np.float64), how)
            for name, one in self.raw.items()
        }

    def truth(self) -> NDArray[np.int64]:
        """Return the right column of each row of role fit."""
        labels = self.judging.rows["fit"].labels
        made: NDArray[np.int64] = labels if self.columns is None else self.columns[labels]
        return made

    def _known(self) -> NDArray[Any]:
        raw = self.raw["fit"]
        if raw is None:
            raise CannotTry("The candidate's raw outputs are not known.")
        if not np.isfinite(raw).all():
            raise CannotTry("Some of the candidate's raw outputs are not finite.")
        return raw


def attempts(given: Given) -> Iterator[tuple[Kind, Any]]:
    """Return {kind: what tries it} for the case's task, in the order in which they are told."""
    if given.classes is None:
        yield from (("straight_line", straight_line), ("monotone_answers", monotone_answers))
        return
    yield from (
        ("output_bias", output_bias),
        ("class_prior", class_prior),
        ("threshold", threshold),
        ("relabel", relabel),
        ("temperature", temperature),
        ("isotonic", isotonic),
    )


def output_bias(given: Given) -> Tried:
    """Add to each output what the labels of role fit ask for."""
    _must_be_columns(given)
    shift = fit_bias(_fit(given), given.truth())
    return _shifted(given, "output_bias", "A bias added to each output", shift, _num_fit(given))


def class_prior(given: Given) -> Tried:
    """Correct for classes that are rarer or more frequent in the field; no label is used."""
    _must_be_columns(given)
    logs, sim = _fit(given), given.judging.rows["sim"].labels
    if not len(sim) or given.columns is None:
        raise CannotTry("Validation has no labels that say how frequent classes were.")
    counts = np.bincount(given.columns[sim], minlength=logs.shape[1]).astype(np.float64) + 1
    trained = counts / counts.sum()
    found = np.maximum(fit_prior(logs, trained), 1 / (TWO * len(logs)))
    shift = np.log(found / found.sum()) - np.log(trained)
    title = "Outputs weighed by how frequent classes are in the field, estimated without labels"
    return _shifted(given, "class_prior", title, shift, _num_fit(given))


def threshold(given: Given) -> Tried:
    """Move the threshold of a single output."""
    raw, labels = given.raw["fit"], given.labels["fit"]
    if given.classes != TWO or raw is None or labels is None or raw.shape[1] != 1:
        raise CannotTry("It is for two classes that one output tells apart.")
    values, ones = np.asarray(raw[:, 0], np.float64), labels == 1
    rises = (
        bool(values[ones].mean() >= values[~ones].mean()) if 0 < ones.sum() < len(ones) else True
    )
    above, below = (1, 0) if rises else (0, 1)
    at = fit_threshold(values, given.judging.rows["fit"].labels == above)
    made = {
        name: None if one is None else np.where(one[:, 0] > at, above, below)
        for name, one in given.raw.items()
    }
    use = 'answer = np.where(outputs[:, 0] > made["threshold"], made["above"], made["below"])'
    return Tried(
        kind="threshold",
        title=f"The threshold moved to {at:.4g}",
        acts_on="outputs",
        answers=made,
        fitted=_num_fit(given),
        files={"threshold.json": text(threshold=at, above=above, below=below)},
        load=loading("threshold.json", use),
    )


def relabel(given: Given) -> Tried:
    """Put each answer's name right, one for one."""
    labels, classes = given.labels["fit"], given.classes or 0
    if labels is None:
        raise CannotTry("The candidate's answers are not known.")
    names = fit_relabel(np.asarray(labels), given.judging.rows["fit"].labels, classes)
    moved = [f"{was} is {now}" for was, now in enumerate(names.tolist()) if was != now]
    if not moved:
        raise CannotTry("No other map of labels fits better than the one in use.")

    def renamed(answers: NDArray[Any]) -> NDArray[Any]:
        inside = (answers >= 0) & (answers < classes)
        return np.where(inside, names[np.clip(answers, 0, classes - 1)], answers)

    return Tried(
        kind="relabel",
        title=f"Labels renamed: {', '.join(moved[:6])}{' ...' if len(moved) > 6 else ''}",  # noqa: PLR2004
        acts_on="labels",
        answers={name: None if a is None else renamed(a) for name, a in given.labels.items()},
        fitted=_num_fit(given),
        files={"relabel.json": text(map=names.tolist())},
        load=loading("relabel.json", 'answer = np.array(made["map"])[labels]'),
    )


def straight_line(given: Given) -> Tried:
    """Turn numbers by a slope and an offset."""
    slope, offset = fit_line(_numbers(given), given.judging.rows["fit"].labels)
    return Tried(
        kind="straight_line",
        title=f"Answers times {slope:.4g}, plus {offset:.4g}",
        acts_on="labels",
        answers={n: None if a is None else slope * a + offset for n, a in given.labels.items()},
        fitted=_num_fit(given),
        files={"straight_line.json": text(slope=slope, offset=offset)},
        load=loading("straight_line.json", 'answer = made["slope"] * labels + made["offset"]'),
    )


def monotone_answers(given: Given) -> Tried:
    """Turn numbers by a rising curve."""
    curve = fit_monotone(_numbers(given), given.judging.rows["fit"].labels)
    return Tried(
        kind="monotone_answers",
        title="Answers through a rising curve",
        acts_on="labels",
        answers={n: None if a is None else curve(a) for n, a in given.labels.items()},
        fitted=_num_fit(given),
        files={"monotone_answers.npz": npz(x=curve.x, y=curve.y)},
        load=loading("monotone_answers.npz", 'answer = np.interp(labels, made["x"], made["y"])'),
    )


def temperature(given: Given) -> Tried:
    """Make the confidence say how often it is right; no answer changes."""
    _must_be_columns(given)
    number = fit_temperature(_fit(given), given.truth())
    made = {
        name: None if logs is None else softmax(logs / number).max(axis=1)
        for name, logs in given.logs().items()
    }
    outputs = "np.log(np.maximum(outputs, 1e-12))" if _is_shares(given) else "outputs"
    return Tried(
        kind="temperature",
        title=f"Outputs divided by a temperature of {number:.3g}: no answer changes",
        acts_on="confidence",
        answers=made,
        fitted=_num_fit(given),
        measure="brier",
        files={"temperature.json": text(temperature=number)},
        load=loading("temperature.json", f'answer = {outputs} / made["temperature"]'),
    )


def isotonic(given: Given) -> Tried:
    """Map the confidence to how often it is right; no answer changes."""
    sure, labels = confidence(given), given.labels["fit"]
    if sure["fit"] is None or labels is None:
        raise CannotTry("The candidate's confidence is not known.")
    right = labels == given.judging.rows["fit"].labels
    curve = fit_monotone(sure["fit"], right)
    return Tried(
        kind="isotonic",
        title="Confidence through a rising curve: no answer changes",
        acts_on="confidence",
        answers={name: None if c is None else curve(c) for name, c in sure.items()},
        fitted=_num_fit(given),
        measure="brier",
        files={"isotonic.npz": npz(x=curve.x, y=curve.y)},
        load=loading("isotonic.npz", 'answer = np.interp(confidence, made["x"], made["y"])'),
    )


def confidence(given: Given) -> Mapping[Name, NDArray[np.float64] | None]:
    """Return the largest probability of each row."""
    return {
        name: None if logs is None else np.exp(logs).max(axis=1)
        for name, logs in given.logs().items()
    }


def _shifted(
    given: Given, kind: Kind, title: str, shift: NDArray[np.float64], fitted: int
) -> Tried:
    assert given.columns is not None  # noqa: S101  asked before
    labels = np.argsort(given.columns)
    made = {
        name: None if logs is None else labels[(logs + shift).argmax(axis=1)]
        for name, logs in given.logs().items()
    }
    outputs = "np.log(np.maximum(outputs, 1e-12))" if _is_shares(given) else "outputs"
    use = f'answer = made["labels"][({outputs} + made["shift"]).argmax(axis=1)]'
    return Tried(
        kind=kind,
        title=title,
        acts_on="outputs",
        answers=made,
        fitted=fitted,
        files={f"{kind}.npz": npz(shift=shift, labels=labels)},
        load=loading(f"{kind}.npz", use),
    )


def _must_be_columns(given: Given) -> None:
    raw = given.raw["fit"]
    if raw is not None and raw.shape[1] == 1:
        raise CannotTry("The model has one output: see `threshold`.")
    if given.columns is None:
        raise CannotTry("candidate.postprocess does more than rename the largest output.")
    if raw is not None and raw.shape[1] != len(given.columns):
        raise CannotTry(f"The model has {raw.shape[1]} outputs for {len(given.columns)} classes.")


def _is_shares(given: Given) -> bool:
    return given.how == "probabilities"


def _fit(given: Given) -> NDArray[np.float64]:
    logs = given.logs()["fit"]
    assert logs is not None  # noqa: S101  `how` has refused it
    return logs


def _numbers(given: Given) -> NDArray[np.float64]:
    labels = given.labels["fit"]
    if labels is None or not np.isfinite(labels).all():
        raise CannotTry("Some of the candidate's answers are not numbers.")
    return np.asarray(labels, np.float64)


def _num_fit(given: Given) -> int:
    return len(given.judging.rows["fit"])

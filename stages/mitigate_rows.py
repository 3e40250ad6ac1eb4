"""The rows that fit and judge a mitigation, and what is answered to them before and after."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from assay.scores import Scores, scores
from stages.answers import Rows, Side, answered, rows_of
from stages.metric import Metric
from stages.reports.mitigate import Acts, Kind, Measure
from stages.reports.predict import PredictReport

Name = Literal["fit", "prove", "sim"]
NAMES: tuple[Name, ...] = ("fit", "prove", "sim")
Answers = Mapping[Name, NDArray[Any] | None]  # labels, or confidence; None: nobody knows


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """Three sets of rows with labels, and how answers to them are scored."""

    metric: Metric
    rows: Mapping[Name, Rows]

    def scores(self, name: Name, answers: NDArray[Any]) -> Scores:
        """Score labels, a row each."""
        return scores(self.metric.name, answers, self.rows[name].labels)

    def of(self, side: Side, real: str, sim: str | None, *, raw: bool = False) -> Answers:
        """Read what a side answered: labels, or raw outputs."""
        read: Callable[[str, Rows], NDArray[Any] | None] = side.raw if raw else side.labels
        return {
            name: None if (of := sim if name == "sim" else real) is None else read(of, rows)
            for name, rows in self.rows.items()
        }

    def each(self, make: Callable[[Name], NDArray[Any] | None]) -> Answers:
        """Make the answers of all sets."""
        return {name: make(name) for name in NAMES}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One mitigation, fitted: what it answers, and the file that it is."""

    kind: Kind
    title: str
    acts_on: Acts
    answers: Answers  # labels; of measure `brier` confidence
    fitted: int = 0
    measure: Measure = "metric"
    files: Mapping[str, bytes] = field(default_factory=dict)
    load: tuple[str, str]  # two lines


class CannotTry(Exception):  # noqa: N818  a fact, and no error
    """This mitigation has nothing to do here; the message says why."""


def judging(roles: Path, metric: Metric, candidate: Side, report: PredictReport) -> Judging:
    """Read the labelled rows of role fit and prove that the candidate answered, and validation."""
    real = {
        role: answered(
            rows_of(roles, "real", role, task=metric.task), candidate, report, "real-candidate"
        )
        for role in ("fit", "prove")
    }
    sim = rows_of(roles, "sim", "validation", task=metric.task)
    return Judging(metric=metric, rows={"fit": real["fit"], "prove": real["prove"], "sim": sim})


def npz(**arrays: NDArray[Any]) -> bytes:
    """Write arrays as the same bytes each time."""
    import io
    import zipfile

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:  # np.savez stamps the time of day
        for name, array in arrays.items():
            inside = io.BytesIO()
            np.save(inside, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), inside.getvalue())
    return buffer.getvalue()


def text(**values: Any) -> bytes:
    """Write values as JSON."""
    import json

    return (json.dumps(values, indent=2, allow_nan=False) + "\n").encode()


def loading(file: str, use: str) -> tuple[str, str]:
    """Return the two lines that load a file and use it."""
    opened = f'np.load("{file}")'
    if file.endswith(".json"):
        return f'import json, numpy as np; made = json.load(open("{file}"))', use
    return f"import numpy as np; made = {opened}", use

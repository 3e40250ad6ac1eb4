"""Which weights does the reference carry, and what made them?"""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from sides import privacy
from sides.case_code import CaseCodeError, calling, load
from stages.reports.data import TRAIN_SET
from stages.reports.train import MODEL, TRAIN, TrainReport
from stages.stage import CasePath, FromCase, InputFault, Needs, Params, Stage


class TrainParams(Params):
    """How the case trains, where it does not give the weights."""

    call: Annotated[str | None, FromCase("train.call")] = None
    seed: Annotated[int, FromCase("train.seed")] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The training samples, and the weights that the case may give: nothing is trained then."""

    train: Annotated[Path, TRAIN_SET]
    weights: Annotated[Path | None, CasePath("reference.weights")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The model's folder."""

    report: Annotated[TrainReport, TRAIN]
    model: Annotated[Path, MODEL]


def run(params: TrainParams, inputs: Inputs, into: Path) -> Outputs:
    """Copy the given weights, or else train by the case's own function.

    What stands in `model` afterwards is the reference, for every stage that reads it.
    """
    model = MODEL.under(into)
    model.mkdir()
    metrics: dict[str, float] = {}
    origin: Literal["trained", "given"] = "given"
    if inputs.weights is None:
        origin, metrics = "trained", _train(params, inputs.train, model)
    elif inputs.weights.is_dir():
        shutil.copytree(inputs.weights, model, dirs_exist_ok=True)
    else:
        shutil.copyfile(inputs.weights, model / inputs.weights.name)
    files = _digests(model)
    if not files:
        source = "reference.weights" if inputs.weights else f"train.call ({params.call})"
        raise CaseCodeError(f"{source} left no file: there is no model.")
    return Outputs(report=TrainReport(origin=origin, files=files, metrics=metrics), model=model)


def _train(params: TrainParams, samples: Path, model: Path) -> dict[str, float]:
    import math

    from stages.dataset import read_manifest

    if params.call is None:
        raise InputFault("case.yaml states neither train.call nor reference.weights.")
    call = f"train.call ({params.call})"
    if read_manifest(samples).empty:
        raise InputFault(
            f"{call} needs training samples: give data.train, or let data.make write train/."
        )
    train = load(params.call, "train.call")
    with calling(call):
        metrics = train(samples, model, params.seed)
    try:
        numbers = {str(name): float(value) for name, value in dict(metrics or {}).items()}
    except (TypeError, ValueError):
        got = type(metrics).__name__ if privacy.is_private() else repr(metrics)
        raise CaseCodeError(f"{call} returned {got}; expected {{name: number}}.") from None
    bad = [name for name, value in numbers.items() if not math.isfinite(value)]
    if bad:
        raise CaseCodeError(f"{call} returned no finite number for {', '.join(bad)}.")
    return numbers


def _digests(folder: Path) -> dict[str, str]:
    import hashlib

    digests = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        digests[path.relative_to(folder).as_posix()] = digest
    return digests


STAGE = Stage(run, image="{train.image}", needs=Needs(memory="4GiB", timeout_s=3600))

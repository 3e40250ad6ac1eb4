"""Which samples are under examination, and is their folder whole?"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from sides.case_code import CaseCodeError, calling, load
from stages.reports.data import (
    DATA,
    REAL_SET,
    RECORDED,
    SIM_SET,
    TRAIN_SET,
    DataReport,
    DatasetSummary,
    RecordedSummary,
)
from stages.stage import CasePath, FromCase, InputFault, Needs, Params, Stage


class DataParams(Params):
    """Where the samples come from when no folder is given."""

    make: Annotated[str | None, FromCase("data.make")] = None
    seed: Annotated[int, FromCase("data.seed")] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The user's folders; absent when the case makes its data, or runs all its sides."""

    train: Annotated[Path | None, CasePath("data.train")]
    sim: Annotated[Path | None, CasePath("data.sim")]
    real: Annotated[Path | None, CasePath("data.real")]
    candidate: Annotated[Path | None, CasePath("candidate.recorded")]
    last_good: Annotated[Path | None, CasePath("last_good.recorded")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The same samples under canonical manifests."""

    report: Annotated[DataReport, DATA]
    train: Annotated[Path, TRAIN_SET]  # a manifest without rows where there is none
    sim: Annotated[Path, SIM_SET]
    real: Annotated[Path, REAL_SET]
    recorded: Annotated[Path, RECORDED]


def run(params: DataParams, inputs: Inputs, into: Path) -> Outputs:
    """Make the samples or take them in; structure is checked here, content by the contract."""
    given = {"train": inputs.train, "sim": inputs.sim, "real": inputs.real}
    datasets = _make(params, into) if params.make else _copy(given, into)
    recorded = _recorded({"candidate": inputs.candidate, "last_good": inputs.last_good}, into)
    return Outputs(
        report=DataReport(datasets=datasets, recorded=recorded),
        train=TRAIN_SET.under(into),
        sim=SIM_SET.under(into),
        real=REAL_SET.under(into),
        recorded=RECORDED.under(into),
    )


def _recorded(given: dict[str, Path | None], into: Path) -> dict[str, RecordedSummary]:
    """Take in what was logged of the sides that are not run."""
    place = RECORDED.under(into)
    place.mkdir()
    summaries = {}
    for side, folder in given.items():
        if folder is not None:
            from stages.recording import take_in

            summaries[side] = take_in(folder, place / side, f"{side}.recorded")
    held = {side: summary.arrays for side, summary in summaries.items()}
    (place / "sides.json").write_text(json.dumps(held) + "\n", encoding="utf-8")
    return summaries


def _make(params: DataParams, into: Path) -> dict[str, DatasetSummary]:
    from stages.dataset_folder import take_in

    make = load(str(params.make), "data.make")
    with calling(f"data.make ({params.make})"):
        make(into, params.seed)
    made = [name for name in ("train", "sim", "real") if name != "train" or (into / name).is_dir()]
    summaries = {}
    for name in made:
        try:
            summaries[name] = take_in(into / name, into / name, name, str(params.make))
        except InputFault as fault:
            raise CaseCodeError(
                f"data.make ({params.make}) made what cannot be used. {fault}"
            ) from None
    return _with_train(summaries, into)


def _copy(given: dict[str, Path | None], into: Path) -> dict[str, DatasetSummary]:
    from stages.dataset_folder import take_in

    summaries, faults = {}, []
    for name, folder in given.items():
        if folder is None:
            continue
        try:
            summaries[name] = take_in(folder, into / name, f"data.{name}", f"data.{name}")
        except InputFault as fault:
            faults.append(str(fault))
    faults += [f"data.{name}: no folder given." for name in ("sim", "real") if not given[name]]
    if faults:
        raise InputFault("\n".join(faults))
    return _with_train(summaries, into)


def _with_train(summaries: dict[str, DatasetSummary], into: Path) -> dict[str, DatasetSummary]:
    if "train" not in summaries:
        # DVC keeps no empty folder: a manifest without rows says that there is none.
        (into / "train").mkdir()
        (into / "train" / "manifest.csv").write_text("id,row,path,label,group\n", encoding="utf-8")
    return summaries


STAGE = Stage(run, image="{data.image}", needs=Needs(timeout_s=1800), holds_samples=True)

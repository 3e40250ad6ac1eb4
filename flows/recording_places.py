"""Does a recording's folder hold what the case says was logged, of rows that there are?"""

import csv
import zipfile
from collections.abc import Sequence
from pathlib import Path

from flows.case import LoadedCase, Side, relative
from stages.dataset import UNREADABLE
from stages.stage import InputFault

TENSORS = "tensors.npz"
PREDICTIONS = ("predictions.parquet", "predictions.csv", "predictions.npz")
NUM_SHOWN = 3


def recording_faults(loaded: LoadedCase, name: str, side: Side) -> list[str]:
    """Return what is wrong, each with its key and the next step; nothing where all is there.

    Of the tensors, names and ids are read; predictions are read whole.
    """
    stated = side.recorded or ""
    folder = loaded.workspace / relative(loaded.folder, stated)
    if not folder.is_dir():
        return []  # that it is not there is said elsewhere
    there = [file for file in (TENSORS, *PREDICTIONS) if (folder / file).is_file()]
    if not there:
        names = ", ".join((TENSORS, *PREDICTIONS))
        return [f"recorded: {stated} holds none of {names}: log at least one."]
    faults = _steps_faults(side, [step.name for step in loaded.case.reference.steps])
    if TENSORS in there:
        try:
            with zipfile.ZipFile(folder / TENSORS) as archive:
                held = {name.removesuffix(".npy") for name in archive.namelist()}
        except UNREADABLE as error:
            text = f"recorded: {stated}/{TENSORS} is no .npz ({error}): save it with `np.savez`."
            return [*faults, text]
        # The last step's output is what the model got: `input`.
        wanted = ["ids", "input", *(f"step_{step.name}" for step in side.steps[:-1])]
        lacking = [name for name in wanted if name not in held]
        if lacking:
            has = f"{stated}/{TENSORS} has no"
            told = ", ".join(sorted(held))
            return [*faults, *(f"recorded: {has} {one}; it has: {told}." for one in lacking)]
    return faults + _content_faults(loaded, name, folder)


def _steps_faults(side: Side, reference: Sequence[str]) -> list[str]:
    """Hold the named steps to the reference's.

    One that is left out would look as if production did not have it, and the model's input would
    be taken for another step's output.
    """
    names = [step.name for step in side.steps]
    if not names:
        return []
    if names[-1] != reference[-1]:
        text = "steps: the last one is the step whose output is `input`"
        return [f"{text}; add {reference[-1]}, or leave steps out."]
    return [
        f"steps: {name} is not listed. Log step_{name}, or leave steps out: the preprocessing is "
        "then compared as a whole."
        for name in reference
        if name not in names
    ]


def _content_faults(loaded: LoadedCase, name: str, folder: Path) -> list[str]:
    from stages.recording import logged_ids

    try:
        ids = logged_ids(folder, f"{name}.recorded")
    except InputFault as error:
        return [str(error).removeprefix(f"{name}.")]
    real = _real_ids(loaded)
    if real is None or not real.isdisjoint(ids):
        return []
    text = "recorded: none of its ids is one of data.real"
    if loaded.case.pictures == "full":
        theirs, ours = ", ".join(ids[:NUM_SHOWN]), ", ".join(sorted(real)[:NUM_SHOWN])
        text += f": it has {theirs}; the manifest {ours}"
    return [f"{text}. Log with the ids of the manifest."]


def _real_ids(loaded: LoadedCase) -> set[str] | None:
    """Return the ids of the real rows; None where they are not at hand, or not told by the file."""
    stated = loaded.case.data.real
    if stated is None:
        return None
    manifest = loaded.workspace / relative(loaded.folder, stated) / "manifest.csv"
    try:
        with manifest.open(encoding="utf-8", newline="") as file:
            return {row["id"] for row in csv.DictReader(file)}
    except (OSError, KeyError, UnicodeDecodeError, csv.Error):
        return None

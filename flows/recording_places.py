"""Does a recording's folder hold what the case says was logged? Names alone; no array is read."""

import zipfile
from pathlib import Path

from flows.case import Side

TENSORS = "tensors.npz"
PREDICTIONS = ("predictions.parquet", "predictions.csv", "predictions.npz")


def recording_faults(folder: Path, side: Side) -> list[str]:
    """Return what is missing, each with its key and the next step; nothing where all is there."""
    if not folder.is_dir():
        return []  # that it is not there is said elsewhere
    stated = side.recorded
    there = [name for name in (TENSORS, *PREDICTIONS) if (folder / name).is_file()]
    if not there:
        names = ", ".join((TENSORS, *PREDICTIONS))
        return [f"recorded: {stated} holds none of {names}: log at least one."]
    if TENSORS not in there:
        return []
    try:
        with zipfile.ZipFile(folder / TENSORS) as archive:
            held = {name.removesuffix(".npy") for name in archive.namelist()}
    except (OSError, zipfile.BadZipFile) as error:
        return [f"recorded: {stated}/{TENSORS} is no .npz ({error}): save it with `np.savez`."]
    # The last step's output is what the model got: `input`.
    wanted = ["ids", "input", *(f"step_{step.name}" for step in side.steps[:-1])]
    return [
        f"recorded: {stated}/{TENSORS} has no {name}; it has: {', '.join(sorted(held))}."
        for name in wanted
        if name not in held
    ]

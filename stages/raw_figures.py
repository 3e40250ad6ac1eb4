"""Raw samples of a dataset, each in a few named figures; one sample is in memory at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.sample_figures import picture_figures, row_figures, signal_figures
from sides.tensors import RowReader
from stages.dataset import SAMPLES, open_tensor, read_roles
from stages.reports.inputs import Kind
from stages.sample_table import FORMATS, PICTURES, UnreadableError, read_sample

if TYPE_CHECKING:
    import pandas as pd

    from stages.answers import Rows

PICTURE_RANK, SIGNAL_RANK = 3, 2
LONG = 4  # a signal has at least so many moments to a channel; a small picture has not
COLOURS = (1, 3, 4)  # the last axis of a picture
ORIENTATION = 0x0112  # the tag that says which side is up


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """Figures of one dataset's rows; NaN where a sample has none."""

    columns: dict[str, NDArray[Any]]
    groups: NDArray[Any]
    num_unreadable: int


def kind_of(folder: Path, roles: Path) -> Kind | None:
    """Guess from the first sample what all are; None where it is neither of the kinds."""
    own = _own(roles, "sim")
    if own["path"].iloc[0]:
        if Path(own["path"].iloc[0]).suffix.lower() in PICTURES:
            return "pictures"
        try:
            return _kind(read_sample(folder, own["path"].iloc[0]))
        except UnreadableError:
            return None
    return _kind(open_tensor(folder / SAMPLES)[int(own["row"].iloc[0])])


def _kind(sample: NDArray[Any]) -> Kind | None:
    if sample.dtype.kind not in "biuf":
        return None
    shape = sample.shape
    if len(shape) == PICTURE_RANK and (shape[-1] in COLOURS or shape[0] in COLOURS):
        return "pictures"
    if len(shape) == SIGNAL_RANK:
        return "signals" if shape[0] >= LONG * shape[1] else "pictures"
    return "table" if len(shape) == 1 else None


def describe(
    folder: Path,
    roles: Path,
    dataset: str,
    rows: "Rows",
    *,
    kind: Kind,
    columns: Sequence[str],
    max_rows: int,
    seed: int,
) -> Described:
    """Describe at most `max_rows` of the rows, a seeded choice; what cannot be read is counted."""
    own = _own(roles, dataset)
    chosen: NDArray[np.intp] = np.arange(len(rows))
    if len(chosen) > max_rows:
        generator = np.random.default_rng(seed)
        chosen = np.sort(generator.choice(len(rows), max_rows, replace=False))
    tensor = None if own["path"].all() else RowReader(folder / SAMPLES)
    found: list[dict[str, Any]] = []
    groups = []
    for at in chosen:
        line = own.iloc[int(rows.positions[at])]
        try:
            found.append(_figures(folder, tensor, line, kind, columns))
        except UnreadableError:
            continue
        groups.append(rows.groups[at])
    return Described(
        columns=_columns(found),
        groups=np.array(groups),
        num_unreadable=len(chosen) - len(found),
    )


def _own(roles: Path, dataset: str) -> "pd.DataFrame":
    table = read_roles(roles)
    return table.loc[table["dataset"] == dataset]


def _figures(
    folder: Path,
    tensor: RowReader | None,
    line: "pd.Series[str]",
    kind: Kind,
    columns: Sequence[str],
) -> dict[str, Any]:
    path = line["path"]
    if path or tensor is None:
        sample = read_sample(folder, path)
    else:
        sample = tensor.take([int(line["row"])])[0]
    if sample.dtype.kind not in "biuf" or not sample.size:
        raise UnreadableError("it holds no numbers")
    if kind == "table":
        return row_figures(sample.ravel(), columns) | _missing(sample)
    if kind == "signals":
        return _signal(sample)
    about = _of_file(folder / path) if path else {}
    return picture_figures(_upright(sample)) | about


def _missing(sample: NDArray[Any]) -> dict[str, float]:
    return {"missing share": float((~np.isfinite(sample.astype(np.float64))).mean())}


def _signal(sample: NDArray[Any]) -> dict[str, float]:
    if sample.ndim == 1:
        sample = sample[:, None]
    if sample.ndim != SIGNAL_RANK:
        raise UnreadableError(f"a signal is (time, channels), this is {list(sample.shape)}")
    finite = np.isfinite(sample.astype(np.float64))
    whole = np.where(finite, sample, 0.0)
    return {**signal_figures(whole), "missing share": float((~finite).mean())}


def _upright(sample: NDArray[Any]) -> NDArray[Any]:
    """Return (height, width[, channels])."""
    if (
        sample.ndim == PICTURE_RANK
        and sample.shape[-1] not in COLOURS
        and sample.shape[0] in COLOURS
    ):
        return np.moveaxis(sample, 0, -1)
    if sample.ndim not in (SIGNAL_RANK, PICTURE_RANK):
        raise UnreadableError(f"a picture has two or three axes, this is {list(sample.shape)}")
    return np.nan_to_num(sample) if sample.dtype.kind == "f" else sample


def _of_file(path: Path) -> dict[str, Any]:
    """Say what the file itself is: its header is read, no pixel."""
    from PIL import Image

    if path.suffix.lower() not in PICTURES:
        return {}
    with Image.open(path, formats=FORMATS) as picture:
        width, height = picture.size
        return {
            "width": float(width),
            "height": float(height),
            "aspect": width / height,
            "bytes a pixel": path.stat().st_size / (width * height),
            "format": str(picture.format),
            "mode": picture.mode,
            "orientation tag": str(picture.getexif().get(ORIENTATION, "none")),
        }


def _columns(found: list[dict[str, Any]]) -> dict[str, NDArray[Any]]:
    names = list(dict.fromkeys(name for row in found for name in row))
    columns: dict[str, NDArray[Any]] = {}
    for name in names:
        cells = [row.get(name) for row in found]
        if any(isinstance(cell, str) for cell in cells):
            columns[name] = np.array([str(cell or "none") for cell in cells])
        else:
            columns[name] = np.array([np.nan if cell is None else cell for cell in cells], float)
    return columns

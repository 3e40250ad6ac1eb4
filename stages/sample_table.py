"""One row a sample: its manifest, and what its content looks like. Read as a stream."""

import hashlib
import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stages.dataset import SAMPLES, UNREADABLE, open_foreign, read_manifest

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

BLOCK_BYTES = 4 << 20
PICTURES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm"}
FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM")
"""PIL goes by a file's content, and would start a program for some: PostScript named `a.png`."""
STATISTICS = ("mean", "std", "min", "max", "finite_share", "zero_share")


class UnreadableError(Exception):
    """Why a sample cannot be used, without any path of this machine."""


def sample_table(folder: Path) -> "pd.DataFrame":
    """Join the manifest of a dataset folder with statistics of each sample's content.

    Manifest columns hold text, None where empty. Added: `position` (0, 1, ...), `sample_readable`,
    `sample_fault`, `sample_dtype`, `sample_shape` ("8x8"), `sample_digest` of the content, and
    `sample_<statistic>` for each of `STATISTICS`; None or NaN where a sample has none.
    """
    import pandas as pd

    columns = read_manifest(folder).to_dict("list")
    table = pd.DataFrame({name: _or_none(cells) for name, cells in columns.items()}, dtype=object)
    table["position"] = range(len(table))
    rows: list[Any] = table.to_dict("records")
    described = pd.DataFrame(_described(folder, rows), columns=_COLUMNS)
    return pd.concat([table, described], axis=1)


def _or_none(cells: list[Any]) -> list[Any]:
    return [cell or None for cell in cells]


_COLUMNS = [
    "sample_readable",
    "sample_fault",
    "sample_dtype",
    "sample_shape",
    "sample_digest",
    *(f"sample_{name}" for name in STATISTICS),
]


def _described(folder: Path, rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    import numpy as np

    samples = None
    if (folder / SAMPLES).is_file():
        samples = np.load(folder / SAMPLES, mmap_mode="r", allow_pickle=False)
    mapped = getattr(samples, "_mmap", None)
    step = 1 if samples is None else max(1, BLOCK_BYTES // max(1, samples[:1].nbytes))
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        indices = [_index(row.get("row"), samples) for row in block]
        inside = [index for index in indices if index is not None]
        found = iter(_describe(samples[inside]) if samples is not None else ())
        for row, index in zip(block, indices, strict=True):
            if index is not None:
                yield next(found)
            elif row.get("row"):
                yield _unreadable(f"{SAMPLES} has no row {row['row']}")
            else:
                yield _of_file(folder, row.get("path"))
        if mapped is not None:  # else every page that was read stays in memory
            mapped.madvise(mmap.MADV_DONTNEED)


def _index(text: str | None, samples: "NDArray[Any] | None") -> int | None:
    if samples is None or not text or not text.isdecimal():
        return None
    return int(text) if int(text) < len(samples) else None


def _of_file(folder: Path, name: str | None) -> dict[str, Any]:
    try:
        return next(iter(_describe(read_sample(folder, name)[None])))
    except UnreadableError as error:
        return _unreadable(str(error))


def read_sample(folder: Path, name: str | None) -> "NDArray[Any]":
    """Decode one file of a dataset; what is no picture and no array comes as its bytes.

    Raises:
        UnreadableError: there is no such file, or it is corrupt.
    """
    import numpy as np
    from PIL import Image

    if not name or Path(name).is_absolute() or ".." in Path(name).parts:
        raise UnreadableError("its path does not lie in the dataset's folder")
    path = folder / name
    unreadable = (*UNREADABLE, Image.DecompressionBombError)
    try:
        if path.suffix.lower() in PICTURES:
            with Image.open(path, formats=FORMATS) as picture:
                picture.verify()  # checksums; it leaves the picture unusable, so it is opened again
            with Image.open(path, formats=FORMATS) as picture:
                return np.asarray(picture)
        if path.suffix.lower() == ".npy":
            return np.array(open_foreign(path))
        return np.frombuffer(path.read_bytes(), dtype="S1")
    except FileNotFoundError:
        raise UnreadableError(f"{name} is not there") from None
    # SyntaxError is what PIL raises on a broken PNG.
    except unreadable as error:
        raise UnreadableError(str(error).replace(f"{folder}/", "")) from None


def _describe(block: "NDArray[Any]") -> Iterator[dict[str, Any]]:
    from assay.array_statistics import row_statistics

    countable = block.dtype.kind in "biuf" and block[:1].size > 0
    statistics = row_statistics(block) if countable and len(block) else {}
    for at, sample in enumerate(block):
        yield {
            "sample_readable": True,
            "sample_fault": None,
            "sample_dtype": "bytes" if block.dtype.kind == "S" else block.dtype.name,
            "sample_shape": "x".join(map(str, sample.shape)),
            "sample_digest": _digest(sample),
        } | {f"sample_{name}": _number(statistics, name, at) for name in STATISTICS}


def _number(statistics: "dict[str, NDArray[np.float64]]", name: str, at: int) -> float | None:
    return float(statistics[name][at]) if name in statistics else None


def _digest(sample: "NDArray[Any]") -> str:
    content = hashlib.blake2b(f"{sample.dtype}{sample.shape}".encode(), digest_size=8)
    content.update(sample.tobytes())
    return content.hexdigest()


def _unreadable(fault: str) -> dict[str, Any]:
    return dict.fromkeys(_COLUMNS) | {"sample_readable": False, "sample_fault": fault}

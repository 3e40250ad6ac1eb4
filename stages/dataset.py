"""How the folders, roles and tensors that stages hand each other are read."""

import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

MANIFEST = "manifest.csv"
SAMPLES = "samples.npy"
ROLE_COLUMNS = ("dataset", "id", "row", "path", "label", "group", "role")
UNLABELLED = -1
UNREADABLE = (
    ValueError,
    OSError,
    EOFError,
    TypeError,
    KeyError,
    IndexError,
    SyntaxError,
    ArithmeticError,
    MemoryError,
    RecursionError,
    RuntimeError,
    struct.error,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What opening somebody else's array may raise: its header is an expression, its shape a claim."""


def read_table(path: Path) -> "pd.DataFrame":
    """Read a CSV, every cell as the text that stands there; a byte order mark is skipped."""
    import pandas as pd

    return pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")


def read_manifest(folder: Path) -> "pd.DataFrame":
    """Read a dataset folder's canonical manifest: id, row, path, label, group and free columns."""
    return read_table(folder / MANIFEST)


def read_roles(path: Path) -> "pd.DataFrame":
    """Read roles.csv; its order is the order of all tensors, its index the row in the file."""
    return read_table(path)


def of(
    roles: "pd.DataFrame", dataset: str, wanted: str | Iterable[str] | None = None
) -> "NDArray[np.int64]":
    """Return the positions, in one dataset's tensors, of the rows that have a role.

    Args:
        roles: as `read_roles` returns it.
        dataset: sim or real.
        wanted: one role or several; None for all.
    """
    import numpy as np

    own = roles.loc[roles["dataset"] == dataset, "role"]
    if wanted is None:
        return np.arange(len(own))
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    return np.flatnonzero(own.isin(names).to_numpy())


def labels_of(roles: "pd.DataFrame", dataset: str) -> "NDArray[np.int64]":
    """Return one dataset's labels in the order of its tensors; -1 where there is none."""
    import numpy as np

    texts = roles.loc[roles["dataset"] == dataset, "label"]
    return np.array([int(text) if text else UNLABELLED for text in texts], dtype=np.int64)


def targets_of(roles: "pd.DataFrame", dataset: str) -> "NDArray[np.float64]":
    """Return one dataset's targets, as numbers, in the order of its tensors; NaN without one."""
    import numpy as np

    texts = roles.loc[roles["dataset"] == dataset, "label"]
    return np.array([float(text) if text else np.nan for text in texts], dtype=np.float64)


def groups_of(roles: "pd.DataFrame", dataset: str) -> "NDArray[Any]":
    """Return one dataset's groups in the order of its tensors; a row without is its own group."""
    own = roles.loc[roles["dataset"] == dataset]
    return own_group(own).to_numpy(dtype=str)


def own_group(rows: "pd.DataFrame") -> "pd.Series[str]":
    """Return the group of each row; a row without one is a group by itself."""
    return rows["group"].where(rows["group"] != "", "row " + rows["id"])


def check_header(stream: IO[bytes]) -> None:
    """Read an array's header, and no more of it.

    numpy ends the whole process by a division by zero where a type of no size meets a negative
    length, so that its readers are not asked before this has been.

    Raises:
        ValueError: it is none, or claims what no array can be. Others of `UNREADABLE` too.
    """
    from numpy.lib import format as npy

    version = npy.read_magic(stream)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(stream)
    if dtype.itemsize == 0 or not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError(f"it says that it is {dtype} {list(shape)}")


def open_foreign(path: Path) -> "NDArray[Any]":
    """Map somebody else's array.

    Raises:
        ValueError: it is none. Others of `UNREADABLE` too.
    """
    with path.open("rb") as file:
        check_header(file)
    return open_tensor(path)


def open_tensor(path: Path) -> "NDArray[Any]":
    """Map an array; nothing is read before it is used."""
    import numpy as np

    mapped: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return mapped


def read_step(folder: Path, file: str) -> "NDArray[Any] | list[NDArray[Any]]":
    """Read one step's outputs for the paired rows.

    Returns:
        One array (rows, ...) from `.npy`; a list of one array a row from `.npz`.
    """
    import numpy as np

    if file.endswith(".npy"):
        return open_tensor(folder / file)
    with np.load(folder / file, allow_pickle=False) as arrays:
        return [arrays[str(i)] for i in range(len(arrays.files))]


def find_step(folder: Path, key: str) -> str | None:
    """Return the name of a step's file, `.npy` or `.npz`; None when it is not there."""
    names = (f"{key}.npy", f"{key}.npz")
    return next((name for name in names if (folder / name).is_file()), None)

"""Arrays on disk, read and written a few rows at a time: memory is bounded by the batch.

Reads and writes are plain file operations. A memory map would do as well, but its pages count as
the process's own, and a stage's peak would then grow with the data.
"""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from numpy.typing import NDArray


class RowReader:
    """Rows of a .npy file."""

    def __init__(self, path: Path) -> None:
        mapped = np.load(str(path), mmap_mode="r", allow_pickle=False)
        self.shape: Tuple[int, ...] = mapped.shape
        self._dtype = mapped.dtype
        self._path = path
        self._mapped = None if mapped.flags.c_contiguous else mapped
        self._offset: int = mapped.offset
        self._size = int(np.prod(self.shape[1:], dtype=np.int64))
        self._file: Optional[IO[bytes]] = None

    def __len__(self) -> int:
        return self.shape[0]

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return rows [start, stop) as a fresh array; `stop` may lie beyond the end."""
        stop = min(stop, len(self))
        if self._mapped is not None:  # column-major: a row is scattered over the file
            return np.array(self._mapped[start:stop], order="C")
        if self._file is None:
            self._file = open(str(self._path), "rb")  # noqa: SIM115  closed with the reader
        self._file.seek(self._offset + start * self._size * self._dtype.itemsize)
        flat = np.fromfile(self._file, dtype=self._dtype, count=(stop - start) * self._size)
        return flat.reshape((stop - start, *self.shape[1:]))

    def take(self, rows: Sequence[int]) -> NDArray[Any]:
        """Return the rows at these positions as a fresh array."""
        if not len(rows):
            return self.read(0, 0)
        return np.concatenate([self.read(row, row + 1) for row in rows])

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            self._file.close()  # type: ignore[union-attr]


class RowWriter:
    """Writes (rows, ...) into a .npy file block by block, C-contiguous, in one type.

    The number of rows is known from the start, the shape of a row from the first block.
    """

    def __init__(self, path: Path, num_rows: int, dtype: str = "<f4") -> None:
        self._path = path
        self._num_rows = num_rows
        self._dtype = np.dtype(dtype)
        self._file: Optional[IO[bytes]] = None
        self._shape: Tuple[int, ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, block: NDArray[Any]) -> None:
        """Append rows.

        Raises:
            ValueError: their shape is not that of the rows before.
        """
        if self._file is None:
            self._shape = block.shape[1:]
            self._file = open(str(self._path), "wb", buffering=1 << 20)  # noqa: SIM115  see close
            header = {
                "descr": np.lib.format.dtype_to_descr(self._dtype),
                "fortran_order": False,
                "shape": (self._num_rows, *self._shape),
            }
            np.lib.format.write_array_header_1_0(self._file, header)
        if block.shape[1:] != self._shape:
            text = f"has shape {list(block.shape[1:])}, the rows before it {list(self._shape)}"
            raise ValueError(text)
        with np.errstate(over="ignore"):  # beyond float32 is infinity, and recorded as such
            self._file.write(np.ascontiguousarray(block, dtype=self._dtype).tobytes())

    def close(self) -> None:
        """Finish the file."""
        if self._file is not None:
            self._file.close()

    def drop(self) -> None:
        """Close and remove what was written."""
        self.close()
        if self._path.exists():
            self._path.unlink()


def save_step(folder: Path, key: str, outputs: List[NDArray[Any]]) -> Dict[str, Any]:
    """Save one step's outputs, exactly as the step typed them.

    One `.npy` where all have one shape and type, else `.npz`: one array a row, keyed by position.

    Returns:
        The file's name, the type (several joined by `|`), the shape of one sample or None.
    """
    shapes = {output.shape for output in outputs}
    dtypes = sorted({output.dtype.name for output in outputs})
    shape = list(outputs[0].shape) if len(shapes) == 1 else None
    if shape is not None and len(dtypes) == 1:
        name = key + ".npy"
        np.save(str(folder / name), np.stack(outputs), allow_pickle=False)
    else:
        name = key + ".npz"
        arrays: Dict[str, Any] = {str(i): output for i, output in enumerate(outputs)}
        np.savez(str(folder / name), **arrays)
    return {"file": name, "dtype": "|".join(dtypes), "shape": shape}

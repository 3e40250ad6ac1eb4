"""Arrays of any shapes, one after another in one file; memory is bounded by one of them."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any, Iterator, Optional

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from numpy.typing import NDArray


class RecordWriter:
    """Writes a file of `.npy` arrays, each with its own header; the file is there at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: Optional[IO[bytes]] = open(str(path), "wb")  # noqa: SIM115  see close

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, array: NDArray[Any]) -> None:
        """Append one array, exactly as it is typed."""
        assert self._file is not None  # noqa: S101  nothing is written once it is closed
        np.lib.format.write_array(self._file, np.asarray(array, order="C"), allow_pickle=False)

    def close(self) -> None:
        """Finish the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def drop(self) -> None:
        """Close and remove what was written."""
        self.close()
        if self._path.exists():
            self._path.unlink()


def read_records(path: Path) -> Iterator[NDArray[Any]]:
    """Yield the arrays of a file in order, each free to be written to."""
    with open(str(path), "rb") as file:
        while file.peek(1):
            yield np.lib.format.read_array(file, allow_pickle=False)

"""Whether something can be written at a place that was named, asked before any work is done."""

import errno
import os
import tempfile
from pathlib import Path


class PlaceRefused(Exception):  # noqa: N818 - reads as the fact that it is
    """Nothing can be written at a place; the message names it and the next step."""

    exit_status = 2


def place(named: str, option: str) -> Path:
    """Return the place that an option names.

    Args:
        named: as a person wrote it.
        option: how to name another one.

    Raises:
        PlaceRefused: it is empty, below a file, or in a folder that takes no file.
    """
    if not named.strip():
        raise PlaceRefused(f"{option} names nothing. Name a place: {option} PATH")
    path = Path(named)
    try:
        os.lstat(path)
    except FileNotFoundError:
        pass  # it will be made
    except (OSError, ValueError) as error:
        raise _refused(path, option, _why(error)) from None
    try:
        above = next(one for one in path.absolute().parents if one.exists())
        if not above.is_dir():
            raise _refused(path, option, f"{above} is no folder")
        with tempfile.TemporaryFile(dir=above):
            pass
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):  # that is told where it is written
            raise _refused(path, option, _why(error)) from None
    return path


def file_place(named: str, option: str) -> Path:
    """Return the place of a file that an option names; what is no plain file is not replaced.

    Raises:
        PlaceRefused: as `place`, or something else than a file stands there.
    """
    path = place(named, option)
    if path.exists() and not path.is_file():
        raise _refused(path, option, "it is a folder" if path.is_dir() else "it is no plain file")
    return path


def _why(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def _refused(path: Path, option: str, why: str) -> PlaceRefused:
    return PlaceRefused(f"{path} cannot be written: {why}. Name another place: {option} PATH")

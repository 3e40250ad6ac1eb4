"""What may be told of samples: with `pictures: none`, no id, no value, no message of the case."""

from __future__ import annotations

import os
import sys
import traceback
from typing import List

WITHHELD = "its message is withheld, as case.yaml says `pictures: none`"
NOT_KEPT = "what this stage prints is not kept: case.yaml says `pictures: none`"

_told_by: List[int] = []  # the log's descriptor, once it is kept from everybody else
_private: List[bool] = [False]  # one job a process: what job.json says


def is_private() -> bool:
    """Tell whether this job's samples are kept from reports, messages and the log."""
    return _private[0]


def named(sample: str) -> str:
    """Return a sample's id to stand behind its number; nothing where ids are private."""
    return "" if is_private() or not sample else f" ({sample})"


def message(error: BaseException) -> str:
    """Return an exception's type and text; the type alone where its text may hold data."""
    imported = isinstance(error, ImportError) and error.name is not None  # names of modules
    if is_private() and not imported:
        return f"{type(error).__name__} ({WITHHELD})"
    return "".join(traceback.format_exception_only(type(error), error)).strip()


def begin(private: bool, prints: bool) -> None:
    """State what job.json says; a private job's prints go nowhere from here on, `say` to the log.

    For good: what C has buffered, and what is printed at exit, comes when the job is done.

    Args:
        private: what job.json says.
        prints: somebody else's code runs in it, so that its silence has to be explained.
    """
    _private[0] = private
    if not private:
        return
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    _told_by.append(os.dup(2))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    # The descriptors, not Python's streams: libraries and programs print past those.
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    if prints:
        say(NOT_KEPT)


def say(text: str) -> None:
    """Write a line of ours to the log."""
    if _told_by:
        os.write(_told_by[-1], (text + "\n").encode("utf-8", "replace"))
    else:
        print(text, file=sys.stderr)


def say_traceback(error: BaseException) -> None:
    """Write where an exception came from; private: the lines of code, not what it says."""
    if is_private():
        frames = traceback.format_tb(error.__traceback__)
        say("".join(frames) + type(error).__name__)
    else:
        traceback.print_exception(type(error), error, error.__traceback__)

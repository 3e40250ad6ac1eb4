"""What may be told of samples: with `pictures: none`, no id, no value, no message of the case."""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import contextmanager
from typing import Iterator, List

WITHHELD = "its message is withheld, as case.yaml says `pictures: none`"
NOT_KEPT = "what this stage prints is not kept: case.yaml says `pictures: none`"

_told_by: List[int] = []  # the descriptor of the log while it is kept from everybody else
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


@contextmanager
def kept(private: bool, prints: bool) -> Iterator[None]:
    """Run a job inside; where it is private, what it prints goes nowhere, and `say` to the log.

    Args:
        private: what job.json says.
        prints: somebody else's code runs in it, so that its silence has to be explained.
    """
    _private[0] = private
    if not private:
        yield
        return
    _flush()
    log, out, nowhere = os.dup(2), os.dup(1), os.open(os.devnull, os.O_WRONLY)
    # The descriptors, not Python's streams: libraries and programs print past those.
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    _told_by.append(log)
    try:
        if prints:
            say(NOT_KEPT)
        yield
    finally:
        _flush()
        _told_by.pop()
        os.dup2(out, 1)
        os.dup2(log, 2)
        os.close(out)
        os.close(log)


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


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()

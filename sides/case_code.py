"""Finds functions in a case's own code, and says whose line it was when one of them fails."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
import traceback
from contextlib import contextmanager
from typing import Any, Callable, Iterator, List, Sequence

from sides import privacy

FOLDERS: List[str] = []
"""The folders of the case's code, in the order in which they are searched."""


class CaseCodeError(Exception):
    """The case's own code could not be found, failed, or returned what it must not."""


def look_in(folders: Sequence[str]) -> None:
    """Put the folders of the case's code on the path, before everything that is installed."""
    FOLDERS[:] = [os.path.abspath(folder) for folder in folders]
    sys.path[1:1] = FOLDERS


def load(call: str, where: str) -> Callable[..., Any]:
    """Return the function that `module:function` names.

    Args:
        call: as the case states it.
        where: the key that states it, for the message: `reference.steps[1]`.

    Raises:
        CaseCodeError: it is not there, or its module cannot be imported.
    """
    module_name, _, name = call.partition(":")
    if not module_name or not name:
        raise CaseCodeError(f"{where}: expected module:function, got {call!r}.")
    module = _module(module_name, f"{where}: {call}")
    function = getattr(module, name, None)
    if callable(function):
        return function  # type: ignore[no-any-return]
    what = f"{_place(module)} has no function {name}"
    if function is not None:
        what = f"{name} in {_place(module)} is not a function"
    names = [key for key, value in vars(module).items() if callable(value)]
    raise CaseCodeError(f"{where}: {call}: {what}.{_nearest(name, names)}")


def _module(name: str, where: str) -> Any:
    importlib.invalidate_caches()  # the case's own `make` may have written a module a moment ago
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        parts = name.split(".")
        if error.name not in [".".join(parts[: i + 1]) for i in range(len(parts))]:
            raise CaseCodeError(_report(where + " cannot be imported", error)) from error
        searched = ", ".join(FOLDERS) or "no folder of the case's code"
        text = "%s: no module %s. Looked in: %s.%s"
        nearest = _nearest(name, _modules())
        raise CaseCodeError(text % (where, name, searched, nearest)) from error
    except (Exception, SystemExit) as error:
        raise CaseCodeError(_report(where + " cannot be imported", error)) from error


def _modules() -> List[str]:
    entries = [entry for folder in FOLDERS if os.path.isdir(folder) for entry in os.listdir(folder)]
    return sorted(entry[:-3] for entry in entries if entry.endswith(".py"))


def _nearest(name: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, names, 3)
    return " Did you mean {}?".format(" or ".join(near)) if near else ""


def _place(module: Any) -> str:
    return _relative(getattr(module, "__file__", None) or module.__name__)


@contextmanager
def calling(what: str, number: int | None = None, sample: str = "") -> Iterator[None]:
    """Run the case's code inside: its exceptions come out as one error that names the place.

    Args:
        what: whose code it is: `reference.steps[1] 'scale' (steps:scale)`.
        number: the sample's position in its set, from 0; None when it is not about one sample.
        sample: the sample's id.

    Raises:
        CaseCodeError: with the traceback cut to the case's own lines.
    """
    try:
        yield
    except CaseCodeError:
        raise
    except (Exception, SystemExit) as error:
        place = "" if number is None else f" on sample {number}{privacy.named(sample)}"
        raise CaseCodeError(_report(f"{what} failed{place}", error)) from error


def _report(what: str, error: BaseException) -> str:
    text = privacy.message(error)
    # Code that cannot be read is no sample; text that the case's code parsed may be one.
    if isinstance(error, SyntaxError) and not (
        privacy.is_private() and not _root(error.filename or "")
    ):
        text = "{}: {} ({}, line {})".format(
            type(error).__name__,
            error.msg,
            _relative(error.filename or "?"),
            error.lineno,
        )
    return "\n".join([f"{what}: {text}", *user_traceback(error)])


def user_traceback(error: BaseException) -> List[str]:
    """Return the lines of a traceback that lie in the case's own code, paths relative to it.

    The message is then the same on every host, and holds nothing of ours.
    """
    lines = []
    for frame in traceback.extract_tb(error.__traceback__):
        if _root(frame.filename):
            place = (_relative(frame.filename), frame.lineno, frame.name)
            lines.append('  File "{}", line {}, in {}'.format(*place))
            if frame.line:
                lines.append("    " + frame.line)
    return lines


def _root(file: str) -> str:
    path = os.path.abspath(file)
    return next((root for root in FOLDERS if path.startswith(root + os.sep)), "")


def _relative(file: str) -> str:
    root = _root(file)
    return os.path.relpath(os.path.abspath(file), root) if root else file

"""What all commands share: options, how an answer is told, and the exit status.

Only click and the standard library are imported here and in the `cli` modules beside it, so that
`--help` answers at once.
"""

import importlib
import json
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from flows.shown_text import for_terminal

Answer = tuple[Any, str, int]  # for --json, for people, exit status

USAGE, BROKE, CANCELLED = 2, 3, 130

as_json = click.option("--json", "json_", is_flag=True, help="Print one JSON document.")
isolation = click.option(
    "--isolation",
    type=click.Choice(["auto", "docker", "process"]),
    default="auto",
    show_default=True,
    help="Where stages run: containers, or plain processes of this host.",
)


def budget(_context: click.Context, _option: click.Parameter, text: str | None) -> str | None:
    """Check a stated budget."""
    from flows.budget import stated

    try:
        return None if text is None else stated(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def say(line: str) -> None:
    """Report progress: on stderr, so that stdout holds the answer alone."""
    click.echo(for_terminal(line), err=True)


def answer(json_: bool, module: str, function: str, *args: Any) -> None:
    """Run one command and leave with its exit status; errors are one message, never a traceback."""
    try:
        with _told_to_end():
            command: Callable[..., Answer] = getattr(
                importlib.import_module(f"flows.commands.{module}"), function
            )
            data, text, status = command(*args)
    except KeyboardInterrupt:
        _fail(json_, "cancelled", CANCELLED)
    except Exception as error:  # noqa: BLE001  the process ends here
        known = status_of(error)
        if known is None:  # a fault of ours: show where; never exit 1, which means a closed gate
            traceback.print_exc()
        _fail(json_, str(error), known or BROKE)
    else:
        # What went well is the answer, on stdout; what broke belongs beside the progress.
        said = json.dumps(data, indent=2, allow_nan=False) if json_ else text
        click.echo(for_terminal(said), err=not json_ and status >= USAGE)
        sys.exit(status)


@contextmanager
def _told_to_end() -> Iterator[None]:
    """Take SIGTERM as Ctrl-C: what was begun is cleared away. A command may set its own handler."""
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    ):
        yield
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _fail(json_: bool, message: str, status: int) -> NoReturn:
    say(message)
    if json_:
        click.echo(json.dumps({"error": message, "status": status}, indent=2))
    sys.exit(status)


def status_of(error: BaseException) -> int | None:
    """Return the status that an error written for a person states; None for a fault of ours."""
    stated: int | None = getattr(error, "exit_status", None)
    return BROKE if stated is None and isinstance(error, OSError) else stated


class TellingGroup(click.Group):
    """Usage errors are told like all others, also under --json."""

    def main(self, *args: Any, **settings: Any) -> Any:
        """Run a command line."""
        try:
            return super().main(*args, **{**settings, "standalone_mode": False})
        except click.ClickException as error:
            error.show()
            if "--json" in sys.argv:
                told = {"error": error.format_message(), "status": error.exit_code}
                click.echo(json.dumps(told, indent=2))
            sys.exit(error.exit_code)
        except click.Abort:
            sys.exit(CANCELLED)


def case_names() -> list[str]:
    """Return the cases of the workspace that this process stands in; none outside of one."""
    from pathlib import Path

    for folder in (Path.cwd(), *Path.cwd().parents):
        found = sorted(path.parent.name for path in folder.glob("cases/*/case.yaml"))
        if found:
            return found
    return []

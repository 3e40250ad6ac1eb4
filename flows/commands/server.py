"""`assay server`: the workspace's own Prefect server."""

from dataclasses import asdict
from pathlib import Path

from flows import server, workspace
from flows.cli_words import BROKE, Answer
from flows.investigation import Say


def start(say: Say) -> Answer:
    """Start it and wait until it answers."""
    found = server.start(workspace.find(Path.cwd()), say)
    return asdict(found), f"up: {found.ui_url}", 0


def stop() -> Answer:
    """Stop it."""
    stopped = server.stop(workspace.find(Path.cwd()))
    return {"stopped": stopped}, "stopped" if stopped else "it did not run", 0


def status() -> Answer:
    """Tell where it is."""
    found = server.status(workspace.find(Path.cwd()))
    if found is None:
        return None, "down; the next run starts it, or: assay server start", 0
    word = "up" if found.answers else "does not answer"
    return asdict(found), f"{word}: {found.ui_url}", 0 if found.answers else BROKE

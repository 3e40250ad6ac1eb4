"""`assay server`: the workspace's own Prefect server."""

from dataclasses import asdict
from pathlib import Path

from flows import server, workspace
from flows.cli_words import BROKE, Answer
from flows.investigation import Say


def start(host: str | None, port: int | None, say: Say) -> Answer:
    """Start it and wait until it answers."""
    root = workspace.find(Path.cwd())
    found = server.start(root, say, host, port)
    text = f"up: {found.ui_url}"
    if found.auth_file:
        text += f"\nwho asks it needs what stands in {found.auth_file}"
    return asdict(found), text, 0


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

"""What a run makes outside of DVC: stand-ins for what it had no time for, and what rests on them.

Neither is put into the cache or named in a lock: what was cut short is never restored as a whole.
"""

import shutil
import threading
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path

from containers.job import Runner
from lineage import atomic, lock_text
from lineage.artifacts import REPORTS
from lineage.execute import StageFailed, execute
from lineage.provenance import Provenance
from lineage.row import Row
from lineage.staging import KEEP
from lineage.witness import Witness


def stand_in(row: Row, root: Path, contents: Mapping[str, str | None], seen: Witness) -> Provenance:
    """Write what stands in for a stage's outputs.

    Args:
        row: the stage that is left out.
        root: the run's worktree.
        contents: field -> text of the file; None: an empty folder.
        seen: what is known of the stage.
    """
    shutil.rmtree(root / row.folder, ignore_errors=True)
    for field, path in row.outputs.items():
        text, place = contents[field], root / path
        if text is None:
            place, text = place / KEEP, ""
        place.parent.mkdir(parents=True, exist_ok=True)
        atomic.write(place, text, flushed=False)
    return seen.left_out()


def run_apart(
    row: Row,
    root: Path,
    runner: Runner,
    seen: Witness,
    *,
    on_line: Callable[[str], None],
    cancel: threading.Event,
    logs: Path,
) -> Provenance:
    """Run a stage whose inputs are not whole.

    Raises:
        StageFailed: it did not end well.
    """
    started = datetime.now(UTC)
    try:
        executed = execute(
            row, root, runner, run_id=seen.run_id, on_line=on_line, cancel=cancel, logs=logs
        )
    except StageFailed as failed:
        failed.provenance = seen.saw("failed", failed.executed, started)
        raise
    return seen.saw("apart", executed, started)


def forget(root: Path, case: str, names: Collection[str]) -> None:
    """Take stages out of a worktree's lock: an older entry would pass for this run's."""
    name = f"cases/{case}/dvc.lock"
    lock_text.drop(root / name, root / ".assay/journal" / name, names)


def keep(workspace: Path, run_id: str, root: Path, folders: Collection[str]) -> None:
    """Copy what was made apart to where `open_artifact` looks for what no lock names."""
    for folder in folders:
        target = workspace / REPORTS / run_id / folder
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(root / folder, target)

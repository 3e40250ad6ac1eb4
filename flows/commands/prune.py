"""`assay prune`: let go of runs that nobody keeps, and of what only they needed."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from flows import workspace
from flows.cli_words import CANCELLED, Answer
from lineage import prune as pruning
from lineage import runs

SHOWN = 20


def prune(
    stated: Mapping[str, Any], ask: Callable[[str], bool], say: Callable[[str], None]
) -> Answer:
    """Say what would go, and drop it where that is confirmed."""
    root = workspace.find(Path.cwd())
    runs.reconcile(root, say)
    keep = pruning.Keep(newest=stated["keep"], days=stated["keep_days"], runs=stated["runs"])
    now, alone = datetime.now(UTC), stated["alone"]
    todo = pruning.plan(root, keep, now, alone=alone)
    if stated["dry_run"] or not (todo.dropped or todo.objects):
        return _data(todo, done=False), "\n".join(_lines(todo, "would free")), 0
    if not stated["yes"]:
        say("\n".join(_lines(todo, "frees")))
        if not ask("Drop these?"):
            text = "Nothing was dropped. Answer `y` at a terminal, or say --yes."
            return _data(todo, done=False), text, CANCELLED
    done = pruning.prune(root, keep, now, alone=alone)
    return _data(done, done=True), "\n".join(_lines(done, "freed")), 0


def _data(todo: pruning.Plan, *, done: bool) -> dict[str, Any]:
    return {
        "done": done,
        "kept": dict(todo.kept),
        "dropped": [run.id for run in todo.dropped],
        "num_objects": len(todo.objects),
        "size_bytes": todo.size_bytes,
        "cache": str(todo.cache),
    }


def _lines(todo: pruning.Plan, frees: str) -> Iterator[str]:
    reasons: dict[str, int] = {}
    for why in todo.kept.values():
        reasons[why] = reasons.get(why, 0) + 1
    for why, count in reasons.items():
        yield f"keep     {count}: {why}"
    for run in todo.dropped[:SHOWN]:
        yield f"drop     {run.id}  {run.state}"
    if len(todo.dropped) > SHOWN:
        yield f"drop     and {len(todo.dropped) - SHOWN} more: --json lists them"
    if not todo.dropped:
        yield "drop     none"
    size = todo.size_bytes / 2**20
    yield f"{frees:<8} {len(todo.objects)} objects, {size:.1f} MiB of {todo.cache}"

"""Takes what production logged of its preprocessing for what its code would make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Sequence

import numpy as np

from sides.recorded import INPUT, Recording, named_steps
from sides.steps import step_key
from sides.tensors import save_step

if TYPE_CHECKING:
    from pathlib import Path

    from sides.rows import Row

BATCH = 64
NO_TENSORS = "recorded: no tensors were logged, so that the preprocessing cannot be compared."


def preprocess_recorded(
    folder: Path,
    stated: List[Dict[str, Any]],
    real: Sequence[Row],
    watched: Sequence[int],
    *,
    into: Path,
    side: str,
) -> Dict[str, Any]:
    """Write real.npy and the steps of the watched rows; return the report's fields.

    There are no tensors of simulated rows: production never saw one.

    Raises:
        CaseCodeError: a step that the case names was not logged.
    """
    recording = Recording(folder, side)
    lacking = recording.lacks(real)
    why_not = None
    if not recording.has(INPUT):
        why_not = NO_TENSORS
    elif lacking:
        why_not = f"recorded: {lacking} of {len(real)} real rows are not in the recording."
    steps: List[Dict[str, Any]] = []
    if why_not:
        np.save(str(into / "sim.npy"), np.zeros(0, np.float32))
        np.save(str(into / "real.npy"), np.zeros(0, np.float32))
    else:
        shape = recording.reader(INPUT).shape[1:]
        np.save(str(into / "sim.npy"), np.zeros((0, *shape), np.float32))
        recording.copy(INPUT, real, into / "real.npy", "<f4", BATCH)
        rows = [real[position] for position in watched]
        steps = _steps(recording, named_steps(stated), rows, into / "steps") if rows else []
    num_real = 0 if why_not else len(real)
    return {"steps": steps, "num_sim": 0, "num_real": num_real, "why_not": why_not}


def _steps(
    recording: Recording, stated: List[Dict[str, Any]], rows: Sequence[Row], folder: Path
) -> List[Dict[str, Any]]:
    made = []
    for position, step in enumerate(stated):
        taken = recording.take(recording.reader(recording.step(stated, position)), rows)
        saved = save_step(folder, step_key(position, step["name"]), list(taken))
        made.append({"name": step["name"], "call": "recorded", **saved})
    return made

"""The process of a side's stage: reads job.json, runs the work; grammar of Python 3.8.

Exit status as in `stages.enter`: 0 the report is written; 1 the case's own code or the stage
failed; 2 an input is missing. What went wrong stands in `error.json` in the stage's folder.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any, Dict

from sides import case_code, inside, privacy


def main(job_file: str) -> int:
    """Run one job and return its exit status."""
    job = json.loads(Path(job_file).read_text(encoding="utf-8"))
    into = Path(job["into"])
    try:
        privacy.begin(bool(job.get("private")), prints=bool(job["code"]))
        return _run(job, into)
    finally:
        _save(into / "inside.json", inside.describe())


def _run(job: Dict[str, Any], into: Path) -> int:
    inputs = {name: Path(place) if place else None for name, place in job["inputs"].items()}
    missing = [str(path) for path in inputs.values() if path and not path.exists()]
    if missing:
        text = "%s needs %s, which is not there. Build it with `dvc repro`."
        return _refuse(into, text % (job["name"], ", ".join(missing)), "input", 2)
    case_code.look_in(job["code"])
    try:
        module = importlib.import_module(job["module"])
        module.run(job["params"], inputs, into, job["side"] or "reference")
    except case_code.CaseCodeError as error:
        return _refuse(into, str(error), "case_code", 1)
    except Exception as error:  # noqa: BLE001  the process ends here
        privacy.say_traceback(error)
        return _refuse(into, privacy.message(error), "stage", 1)
    return 0


def _refuse(into: Path, message: str, kind: str, status: int) -> int:
    _save(into / "error.json", {"kind": kind, "message": message})
    privacy.say(message)
    return status


def _save(path: Path, content: Dict[str, Any]) -> None:
    os.makedirs(str(path.parent), exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

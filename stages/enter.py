"""The process of a stage: reads job.json, runs the stage, writes its outputs.

Exit status: 0 the report is written, whatever it says; 2 the stage could not start (params or
inputs); 1 the case's own code or the stage failed. `error.json` in the stage's folder says what.
"""

import importlib
import json
import sys
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from sides import privacy
from sides.case_code import CaseCodeError, look_in
from sides.inside import describe
from stages.stage import At, Field, InputFault, Params, Stage, is_report, read_report, to_json


def _params(stage: Stage, job: dict[str, Any]) -> Params:
    try:
        return stage.params.model_validate(job["params"])
    except ValidationError as error:
        raise SystemExit(_refuse(job, _all_faults(f"params of {job['name']}", error))) from None


def _all_faults(where: str, error: ValidationError) -> str:
    faults = [f"{where}, {'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
    return "\n".join(faults)


def _refuse(job: dict[str, Any], message: str, kind: str = "input", status: int = 2) -> int:
    error = {"kind": kind, "message": message}
    (Path(job["into"]) / "error.json").write_text(json.dumps(error), encoding="utf-8")
    privacy.say(message)
    return status


def _input(field: Field, job: dict[str, Any]) -> Any:
    place = job["inputs"].get(field.name)
    if place is None:  # a path that the case does not name
        return None
    path = Path(place)
    if not path.exists():
        message = f"{job['name']} needs {place}, which is not there. Build it with `dvc repro`."
        raise SystemExit(_refuse(job, message))
    if not is_report(field.type):
        return path
    try:
        return read_report(field.type, path)
    except ValidationError as error:
        raise SystemExit(_refuse(job, _all_faults(place, error))) from None


def _write(field: Field, value: Any, into: Path) -> None:
    path = cast("At", field.place).under(into)
    if is_report(field.type):
        path.write_text(to_json(value), encoding="utf-8")
    elif isinstance(value, bytes):
        path.write_bytes(value)
    elif isinstance(value, str):
        path.write_text(value, encoding="utf-8")
    elif not path.exists():
        raise TypeError(f"output {field.name} was to be written at {path} by the stage itself")


def main(job_file: str) -> int:
    """Run one job and return its exit status."""
    job = json.loads(Path(job_file).read_text(encoding="utf-8"))
    look_in(job["code"])
    stage: Stage = importlib.import_module(job["module"]).STAGE
    privacy.begin(bool(job.get("private")), prints=bool(job["code"]))
    return _run(stage, job, Path(job["into"]))


def _run(stage: Stage, job: dict[str, Any], into: Path) -> int:
    params = _params(stage, job)
    inputs = stage.inputs_type(**{field.name: _input(field, job) for field in stage.inputs})
    try:
        outputs = stage.run(params, inputs, into)
        for field in stage.outputs:
            _write(field, getattr(outputs, field.name), into)
    except InputFault as error:
        return _refuse(job, str(error))
    except CaseCodeError as error:
        return _refuse(job, str(error), "case_code", 1)
    except Exception as error:  # noqa: BLE001  the process ends here, and its last words must reach the engine
        privacy.say_traceback(error)
        return _refuse(job, privacy.message(error), "stage", 1)
    finally:
        (into / "inside.json").write_text(json.dumps(describe()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

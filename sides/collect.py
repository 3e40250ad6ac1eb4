"""What a side's environment, weights, model and steps are: facts, nothing judged.

Bytes have to be the same wherever the same environment runs: no host name, path, kernel or clock.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from importlib import metadata, util
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

from sides import case_code
from sides.parameters import facts
from sides.weights import dtypes_of, files_of

if TYPE_CHECKING:
    from pathlib import Path

RECORDED = "the side was recorded: only what its folder says is known"
ENVIRONMENT = "environment.json"
"""What a recording may say of where it was made: python, platform, machine, packages."""

BLOCK_BYTES = 1 << 20


def run(params: Dict[str, Any], inputs: Dict[str, Optional[Path]], into: Path, side: str) -> None:
    """Write report.json as `stages.reports.collect` says."""
    recorded = inputs["recorded"]
    report: Dict[str, Any] = {"schema_version": 1, "side": side, "image": params["image"]}
    if recorded is not None:
        report.update(_of_recording(recorded))
    else:
        weights = inputs["weights"] or inputs["model"]
        files = [] if weights is None else files_of(weights)
        report.update(_environment())
        report["weights"] = {name: _sha256(path) for name, path in files}
        model, why_not = _model(params["model"], side, weights)
        report.update(_of_model(model, why_not))
        report.update(_parameters(files, model))
    called = {"model": params["model"], "postprocess": params["postprocess"]}
    report["code"] = {name: _code(what) for name, what in called.items() if what}
    report["steps"] = [_step(step) for step in params["steps"]]
    text = json.dumps(report, indent=2, allow_nan=False) + "\n"
    (into / "report.json").write_text(text, encoding="utf-8")


def _environment() -> Dict[str, Any]:
    found = {}
    for one in metadata.distributions():
        name = one.metadata["Name"]
        if name:
            found[name.lower().replace("_", "-")] = one.version
    return {
        "recorded": False,
        "python": platform.python_version(),
        "platform": _platform(),
        "machine": platform.machine(),
        "packages": dict(sorted(found.items())),
        "why_no_packages": None,
    }


def _platform() -> str:
    libc = " ".join(part for part in platform.libc_ver() if part)
    names = [platform.system(), libc, _distribution()]
    return ", ".join(name for name in names if name)


def _distribution() -> str:
    try:
        with open("/etc/os-release", encoding="utf-8") as file:
            lines = dict(line.rstrip("\n").partition("=")[::2] for line in file)
    except OSError:  # not Linux, or an image that says nothing
        return ""
    return lines.get("PRETTY_NAME", "").strip('"')


def _sha256(path: Path | str) -> str:
    digest = hashlib.sha256()
    with open(str(path), "rb") as file:
        for block in iter(lambda: file.read(BLOCK_BYTES), b""):
            digest.update(block)
    return digest.hexdigest()


def _of_recording(folder: Path) -> Dict[str, Any]:
    said: Dict[str, Any] = {}
    if (folder / ENVIRONMENT).is_file():
        read = json.loads((folder / ENVIRONMENT).read_text(encoding="utf-8"))
        said = read if isinstance(read, dict) else {}
    packages = said.get("packages")
    if not isinstance(packages, dict):
        packages = None
    why_not = f"{RECORDED}; it may hold {ENVIRONMENT} with packages"
    return {
        "recorded": True,
        **{key: _text(said.get(key)) for key in ("python", "platform", "machine")},
        "packages": packages and {str(name): str(it) for name, it in sorted(packages.items())},
        "why_no_packages": None if packages else why_not,
        "weights": {},
        "model": None,
        "why_no_model": RECORDED,
        "parameters": None,
        "why_no_parameters": RECORDED,
    }


def _text(value: Any) -> Optional[str]:
    return None if value is None else str(value)


def _model(spec: Any, side: str, weights: Optional[Path]) -> Tuple[Any, str]:
    """Build the model; one that cannot be built is a reason, not a failure of this stage."""
    if not isinstance(spec, str) or ":" not in spec:
        kind = "a program" if isinstance(spec, dict) else f"of the runtime {spec}"
        return None, f"the model is {kind}: it is no object of Python"
    if weights is None:
        return None, "there are no weights"
    from sides.model import build

    try:
        return build(spec, f"{side}.model", weights), ""
    except case_code.CaseCodeError as error:
        return None, "it cannot be built: " + str(error).splitlines()[0]


def _of_model(model: Any, why_not: str) -> Dict[str, Any]:
    if model is None:
        return {"model": None, "why_no_model": why_not}
    training = getattr(model, "training", None)
    kind = type(model)
    return {
        "model": {
            "class_name": f"{kind.__module__}.{kind.__qualname__}",
            "training": training if isinstance(training, bool) else None,
            "config": _config(getattr(model, "config", None)),
        },
        "why_no_model": None,
    }


def _config(config: Any) -> Optional[Dict[str, str]]:
    """Return a model's own settings as {key: JSON}; None where it has none that can be written."""
    for way in ("to_dict", "dict", "_asdict"):
        if not isinstance(config, dict) and callable(getattr(config, way, None)):
            try:
                config = getattr(config, way)()
            except Exception:  # noqa: BLE001  somebody else's object; it only serves to tell more
                return None
    if not isinstance(config, dict):
        return None
    found = {}
    for key, value in config.items():
        try:
            found[str(key)] = json.dumps(value, sort_keys=True, allow_nan=False)
        except (TypeError, ValueError):
            found[str(key)] = f"({type(value).__name__})"
    return dict(sorted(found.items()))


def _parameters(files: List[Tuple[str, Path]], model: Any) -> Dict[str, Any]:
    found, why_not = dtypes_of(files, model)
    if found is None:
        return {"parameters": None, "why_no_parameters": why_not}
    dtypes: Dict[str, int] = {}
    for dtype, count in found:
        dtypes[dtype] = dtypes.get(dtype, 0) + count
    parameters = {
        "tensors": len(found),
        "values": sum(dtypes.values()),
        "dtypes": dict(sorted(dtypes.items())),
        **facts(files, model),
    }
    return {"parameters": parameters, "why_no_parameters": None}


def _step(step: Dict[str, Any]) -> Dict[str, Any]:
    called = step.get("call") or step.get("command")
    named = {"name": step["name"], "args": json.dumps(step.get("args") or {}, sort_keys=True)}
    return {**named, **_code(called)}


def _code(called: Any) -> Dict[str, Any]:
    """Say what is called, and the file that defines it with its sha256; None where not found."""
    words = called.get("command") if isinstance(called, dict) else called
    if isinstance(words, str):
        says, file = words, _module_file(words.partition(":")[0]) if ":" in words else None
    else:
        says, file = " ".join(words or ["(logged)"]), _program_file(words or [])
    return {"says": says, "file": file and _within(file), "sha256": file and _sha256(file)}


def _module_file(module: str) -> Optional[str]:
    try:
        spec = util.find_spec(module)
    except (ImportError, ValueError, AttributeError):  # a package of it cannot be imported
        return None
    return spec.origin if spec and spec.origin and os.path.isfile(spec.origin) else None


def _program_file(words: List[str]) -> Optional[str]:
    """Find the program, or the script among its words, in the folders of the case's code."""
    places = [os.path.join(root, word) for root in case_code.FOLDERS for word in words]
    return next((place for place in places if os.path.isfile(place)), None)


def _within(file: str) -> str:
    path = os.path.abspath(file)
    root = next((root for root in case_code.FOLDERS if path.startswith(root + os.sep)), "")
    return os.path.relpath(path, root) if root else os.path.basename(path)

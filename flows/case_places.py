"""Is what a case names really there? Folders, weights, programs, functions; nothing is run."""

import difflib
import os
import re
from collections.abc import Sequence
from pathlib import Path

from containers.keys import FAMILIES
from flows.case import CaseCommand, LoadedCase, Side, relative
from flows.module_names import defined_names
from flows.recording_places import recording_faults
from sides.runtime_files import FAMILIES as RUNTIME_FAMILIES
from sides.runtime_files import SUFFIXES
from stages.stage import RUNTIMES, InputFault

IMAGE = r"\w\S*(:\w[\w.-]*|@\w+:[0-9a-f]+)"  # a host's port is no tag


def missing_places(loaded: LoadedCase, file: str) -> list[str]:
    """Return every fault of what case.yaml names, each with its key and the next step."""
    case, workspace, faults = loaded.case, loaded.workspace, []
    faults += [
        f"{file}: code: there is no folder {root}."
        for root in loaded.code_roots
        if not (workspace / root).is_dir()
    ]
    contract = f"data_contracts/{case.data.contract}.yaml"
    if not (workspace / contract).is_file():
        faults.append(f"{file}: data.contract: there is no {contract}.")
    else:
        faults += _contract_faults(workspace / contract)
    named = {f"data.{key}": getattr(case.data, key) for key in ("train", "sim", "real")}
    for name, side in loaded.sides.items():
        named |= {f"{name}.weights": side.weights, f"{name}.recorded": side.recorded}
    for key, path in named.items():
        place = workspace / relative(loaded.folder, path or "")
        if path and not place.exists():
            faults.append(f"{file}: {key}: there is no {path}. Bring it with `dvc pull {path}`.")
        elif path and key.endswith("recorded") and not place.is_dir():
            faults.append(f"{file}: {key}: {path} is a file; state the folder that holds it.")
    families = ", ".join(FAMILIES)
    ours = {"data.image": case.data.image, "train.image": case.train.image if case.train else ""}
    faults += [
        f"{file}: {key}: one of {families}; got {image}."
        for key, image in ours.items()
        if image and image not in FAMILIES
    ]
    faults += [
        f"{file}: {name}.image: one of {families}, or a full image reference with its tag or "
        f"digest; got {side.image}."
        for name, side in loaded.sides.items()
        if side.image not in FAMILIES and not re.fullmatch(IMAGE, side.image)
    ]
    for name, side in loaded.sides.items():
        faults += [f"{file}: {name}.{fault}" for fault in _side_faults(loaded, name, side)]
    return faults + _missing_calls(loaded, file)


def _side_faults(loaded: LoadedCase, name: str, side: Side) -> list[str]:
    """Find what a side lacks: weights, an image that opens them, what its recording must hold."""
    if side.recorded:
        return recording_faults(loaded, name, side)
    faults = []
    if side.weights is None and loaded.case.train is None:
        faults.append("weights: missing; give the weights' path, as nothing trains the model.")
    if side.model not in RUNTIMES:
        return faults
    runtime = str(side.model)
    family = RUNTIME_FAMILIES[runtime]
    if side.image in FAMILIES and side.image != family:
        text = f"image: {side.image} cannot open a model that is {runtime}: state {family}"
        faults.append(f"{text}, or an image of your own that can.")
    path = loaded.workspace / relative(loaded.folder, side.weights or "")
    if side.weights and path.exists():
        faults += _weights_faults(runtime, path, side.weights)
    return faults


def _weights_faults(runtime: str, path: Path, stated: str) -> list[str]:
    """Find out whether a folder holds just one file of a runtime's kind; a file is taken as is."""
    kinds = SUFFIXES[runtime]
    wanted = " or ".join(f"*{kind}" for kind in kinds)
    found = sorted(p.name for p in path.rglob("*") if p.suffix in kinds) if path.is_dir() else [""]
    if not found:
        return [f"weights: {stated} holds no {wanted}, which a model that is {runtime} needs."]
    if len(found) > 1:
        return [f"weights: {stated} holds {', '.join(found)}: name one of them."]
    return []


def _contract_faults(path: Path) -> list[str]:
    from stages.contract_terms import read_contract

    try:
        read_contract(path)
    except InputFault as error:
        return str(error).splitlines()
    return []


def _missing_calls(loaded: LoadedCase, file: str) -> list[str]:
    """Find modules that no code folder holds; the functions in them only their image can tell."""
    case, faults = loaded.case, []
    calls = {"data.make": case.data.make, "train.call": case.train.call if case.train else None}
    calls |= {f"explainers.{i}": call for i, call in enumerate(case.explainers)}
    programs: dict[str, list[str]] = {}
    for name, side in loaded.sides.items():
        model, postprocess = side.model, side.postprocess
        calls |= {f"{name}.postprocess": postprocess}
        calls |= {f"{name}.steps.{i}.call": step.call for i, step in enumerate(side.steps)}
        stated = {f"{name}.steps.{i}.command": step.command for i, step in enumerate(side.steps)}
        if isinstance(model, CaseCommand):
            stated[f"{name}.model.command"] = model.command
        elif model not in RUNTIMES:
            calls[f"{name}.model"] = model
        if side.image in FAMILIES:  # they hold nothing but Python's packages
            programs |= {key: words for key, words in stated.items() if words}
    for key, words in programs.items():
        faults += _program_faults(loaded, f"{file}: {key}", words)
    for key, call in calls.items():
        if not call:
            continue
        module, _, function = call.partition(":")
        root = root_of(loaded, call)
        if root is None:
            faults.append(f"{file}: {key}: no module {module} in {', '.join(loaded.code_roots)}.")
            continue
        names = defined_names(_module_file(loaded, root, call))
        if names is not None and function not in names:
            near = difflib.get_close_matches(function, names, 1)
            hint = f" Did you mean {near[0]}?" if near else ""
            faults.append(f"{file}: {key}: {module} has no function {function}.{hint}")
    return faults


def _module_file(loaded: LoadedCase, root: int, call: str) -> Path:
    base = loaded.workspace / loaded.code_roots[root] / call.partition(":")[0].replace(".", "/")
    return base.with_suffix(".py") if base.with_suffix(".py").is_file() else base / "__init__.py"


def root_of(loaded: LoadedCase, call: str) -> int | None:
    """Return which of the code folders holds a call's module; None when none does."""
    path = call.partition(":")[0].replace(".", "/")
    for index, root in enumerate(loaded.code_roots):
        base = loaded.workspace / root / path
        if base.with_suffix(".py").is_file() or (base / "__init__.py").is_file():
            return index
    return None


def _program_faults(loaded: LoadedCase, where: str, words: Sequence[str]) -> list[str]:
    root = root_of_program(loaded, words)
    if root is None:
        return [f"{where}: no program {words[0]} in {', '.join(loaded.code_roots)}."]
    place = f"{loaded.code_roots[root]}/{words[0]}"
    program = loaded.workspace / place
    if program.is_file() and not os.access(program, os.X_OK):
        return [f"{where}: {words[0]} may not be executed. Run: chmod +x {place}"]
    return []


def root_of_program(loaded: LoadedCase, words: Sequence[str]) -> int | None:
    """Return which of the code folders holds a command's program (or a script among its words)."""
    for index, root in enumerate(loaded.code_roots):
        if any((loaded.workspace / root / word).is_file() for word in words):
            return index
    return None

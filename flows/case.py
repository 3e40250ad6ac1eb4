"""A case: the model under examination, as its owner describes it in cases/NAME/case.yaml."""

import ast
import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from containers.keys import FAMILIES
from flows.faults import Faults, plain, read_yaml, validate
from stages.stage import InputFault, Step

SIDES = ("reference", "candidate")


def is_call(text: str) -> bool:
    """Tell whether a text names a function of the case: module:function."""
    return re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", text) is not None


def _is_call(text: str) -> str:
    if not is_call(text):
        raise ValueError("expected module:function in the case's own code")
    return text


def _is_inside(text: str) -> str:
    if text.startswith("/") or text.endswith("/") or text in ("", "."):
        raise ValueError("expected a path relative to the case's folder")
    return text


Call = Annotated[str, AfterValidator(_is_call)]
CaseRelative = Annotated[str, AfterValidator(_is_inside)]
Slug = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class CaseStep(Step):
    """One preprocessing step as a case states it."""

    name: Slug
    call: Call


class Side(_Part):
    """How a model is trained (reference) or deployed (candidate)."""

    image: str = "torch"
    steps: list[CaseStep] = Field(min_length=1)
    model: Call
    weights: CaseRelative | None = None  # None: what the case's training made
    postprocess: Call | None = None  # None: the largest output wins
    layers: list[str] = []  # where features are read, in forward order

    @model_validator(mode="after")
    def _names_are_unique(self) -> "Side":
        names = [step.name for step in self.steps]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"steps: the name {twice[0]} stands twice")
        return self


class Data(_Part):
    """Where the raw samples come from: the case's own maker, or folders that hold a manifest."""

    make: Call | None = None
    seed: int = 0
    image: str = "base"
    train: CaseRelative | None = None
    sim: CaseRelative | None = None
    real: CaseRelative | None = None
    contract: Slug

    @model_validator(mode="after")
    def _has_one_source(self) -> "Data":
        given = [key for key in ("sim", "real") if getattr(self, key)]
        if self.make and (given or self.train):
            raise ValueError("state either make, or the folders sim and real, not both")
        if not self.make and given != ["sim", "real"]:
            raise ValueError("state make (module:function), or the folders sim and real")
        return self


class Train(_Part):
    """How the model is made, when the case can do so."""

    call: Call
    image: str = "torch"
    seed: int = 0


class Case(_Part):
    """All that case.yaml says, with `like:` filled in."""

    schema_version: Literal[1] = Field(alias="schema")
    title: str
    task: Literal["classification"]
    metric: Literal["accuracy"]
    classes: int = Field(ge=2)
    pictures: Literal["full", "none"] = "full"
    code: list[str] = ["code"]
    data: Data
    train: Train | None = None
    reference: Side
    candidate: Side
    params: dict[str, dict[str, Any]] = {}  # stage -> param -> value: over params.yaml

    @model_validator(mode="after")
    def _has_weights(self) -> "Case":
        if self.train is None and self.reference.weights is None:
            raise ValueError("reference.weights: give the weights' path, or say how to `train`")
        if self.train is not None and self.reference.weights is not None:
            raise ValueError("state train or reference.weights, not both")
        return self


@dataclass(frozen=True, slots=True)
class LoadedCase:
    """A valid case and the file that it came from."""

    name: str
    case: Case
    raw: Mapping[str, Any]  # as written: what DVC reads
    workspace: Path

    @property
    def folder(self) -> str:
        """Its place in the workspace."""
        return f"cases/{self.name}"

    @property
    def code_roots(self) -> tuple[str, ...]:
        """The folders of its code, relative to the workspace."""
        return tuple(relative(self.folder, root) for root in self.case.code)


def relative(folder: str, path: str) -> str:
    """Join a case-relative path to its folder and fold the dots; never leaves the workspace.

    Raises:
        Faults: the path leads out of the workspace.
    """
    parts: list[str] = []
    for part in f"{folder}/{path}".split("/"):
        if part == "..":
            if not parts:
                raise Faults(f"{folder}/case.yaml: {path} leads out of the workspace.")
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def case_names(workspace: Path) -> tuple[str, ...]:
    """Return the cases of a workspace, sorted."""
    return tuple(sorted(path.parent.name for path in workspace.glob("cases/*/case.yaml")))


def load_case(workspace: Path, name: str) -> LoadedCase:
    """Read and check one case.

    Raises:
        Faults: every fault of case.yaml at once, or the case is unknown.
    """
    known = case_names(workspace)
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        hint = f" Did you mean `{near[0]}`?" if near else ""
        raise Faults(f"Which case? One of: {', '.join(known) or 'none yet'}. Got: `{name}`.{hint}")
    file = f"cases/{name}/case.yaml"
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,39}", name):
        allowed = "small letters, digits and dashes, at most 40: it names tags and containers"
        raise Faults(f"cases/{name}: a case's name has {allowed}. Rename the folder.")
    marks = read_yaml(workspace / file, file)
    raw = plain(marks, file)
    case = validate(Case, _fill_in(raw, file), marks, file)
    loaded = LoadedCase(name, case, raw, workspace)
    faults = _missing_places(loaded, file)
    if faults:
        raise Faults(*faults)
    return loaded


def _fill_in(raw: dict[str, Any], file: str) -> dict[str, Any]:
    """Give a side that is `like` another the fields that it does not state itself."""
    filled = dict(raw)
    for side in SIDES:
        stated = filled.get(side)
        if not isinstance(stated, dict) or "like" not in stated:
            continue
        other = raw.get(stated["like"]) if stated["like"] in SIDES else None
        if not isinstance(other, dict) or "like" in other:
            raise Faults(f"{file}: {side}.like: expected the other side, stated in full.")
        own = {key: value for key, value in stated.items() if key != "like"}
        filled[side] = {**other, **own}
    return filled


def _missing_places(loaded: LoadedCase, file: str) -> list[str]:
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
    named |= {f"{side}.weights": getattr(case, side).weights for side in SIDES}
    for key, path in named.items():
        if path and not (workspace / relative(loaded.folder, path)).exists():
            faults.append(f"{file}: {key}: there is no {path}. Bring it with `dvc pull {path}`.")
    images = {f"{side}.image": getattr(case, side).image for side in SIDES}
    images |= {
        "data.image": case.data.image,
        "train.image": case.train.image if case.train else "base",
    }
    for key, image in images.items():
        if image not in FAMILIES:
            faults.append(f"{file}: {key}: one of {', '.join(FAMILIES)}; got {image}.")
    return faults + _missing_calls(loaded, file)


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
    for side in SIDES:
        stated: Side = getattr(case, side)
        calls |= {f"{side}.model": stated.model, f"{side}.postprocess": stated.postprocess}
        calls |= {f"{side}.steps.{i}.call": step.call for i, step in enumerate(stated.steps)}
    for key, call in calls.items():
        if not call:
            continue
        module, _, function = call.partition(":")
        root = root_of(loaded, call)
        if root is None:
            faults.append(f"{file}: {key}: no module {module} in {', '.join(loaded.code_roots)}.")
            continue
        names = _top_level(_module_file(loaded, root, call))
        if names is not None and function not in names:
            near = difflib.get_close_matches(function, names, 1)
            hint = f" Did you mean {near[0]}?" if near else ""
            faults.append(f"{file}: {key}: {module} has no function {function}.{hint}")
    return faults


def _top_level(path: Path) -> set[str] | None:
    """Return the names that a module defines, unrun; None where only running it could tell."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError):
        return None
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif not isinstance(node, ast.Expr):  # an import, a condition: it may define anything
            if not isinstance(node, ast.Import) and not (
                isinstance(node, ast.ImportFrom) and node.names[0].name != "*"
            ):
                return None
            names |= {alias.asname or alias.name for alias in node.names}
    return names


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

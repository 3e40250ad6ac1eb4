"""A case: the model under examination, as its owner describes it in cases/NAME/case.yaml."""

import difflib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)

from flows.budget import DEFAULT
from flows.case_triggers import Hours, Notify, Release, Schedule, Time
from flows.faults import Faults, plain, read_yaml, validate
from stages.stage import RUNTIMES, SIDES, Command, Step


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


def _is_model(text: str) -> str:
    if text not in RUNTIMES and not is_call(text):
        raise ValueError(f"expected module:function, {', '.join(RUNTIMES)}, or a command")
    return text


def _is_program(words: list[str]) -> list[str]:
    if not words or not all(word.strip() for word in words):
        raise ValueError("expected a program and its arguments, as a list of words")
    return words


def _is_list(words: Any) -> Any:
    if isinstance(words, str):
        raise ValueError(f"expected a list of words: [{', '.join(words.split())}]")  # noqa: TRY004  pydantic asks for it
    return words


def _form(model: Any) -> str:
    return "(program)" if isinstance(model, dict | CaseCommand) else "(text)"


Call = Annotated[str, AfterValidator(_is_call)]
Program = Annotated[list[str], BeforeValidator(_is_list), AfterValidator(_is_program)]
CaseRelative = Annotated[str, AfterValidator(_is_inside)]
Slug = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class CaseStep(Step):
    """One preprocessing step as a case states it."""

    name: Slug
    call: Call | None = None
    command: Program | None = None


class CaseCommand(Command):
    """A program as a case states it."""

    command: Program


CaseModel = Annotated[
    Annotated[str, AfterValidator(_is_model), Tag("(text)")]
    | Annotated[CaseCommand, Tag("(program)")],
    Discriminator(_form),
]

CODE_KEYS = ("image", "model", "weights", "postprocess", "layers")


class Side(_Part):
    """How a model is trained (reference), deployed (candidate) or was deployed (last_good).

    Code that is run, or a recording of what it made where it cannot be run.
    """

    image: str = "torch"  # a family, or a full image reference
    steps: list[CaseStep] = []
    model: CaseModel | None = None
    weights: CaseRelative | None = None  # None: what the case's training made
    postprocess: Call | None = None  # None: the largest output wins
    layers: list[str] = []  # where features are read, in forward order
    recorded: CaseRelative | None = None  # a folder of logged tensors and predictions

    @model_validator(mode="before")
    @classmethod
    def _recorded_alone(cls, stated: Any) -> Any:
        if not isinstance(stated, dict) or not stated.get("recorded"):
            return stated
        beside = [key for key in CODE_KEYS if key in stated]
        if beside:
            raise ValueError(f"a recorded side runs no code: leave out {', '.join(beside)}")
        # Our own code copies a recording, in the smallest of our images.
        return {**stated, "image": "base"}

    @model_validator(mode="after")
    def _is_whole(self) -> "Side":
        names = [step.name for step in self.steps]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"steps: the name {twice[0]} stands twice")
        if self.recorded:
            coded = [step.name for step in self.steps if step.call or step.command]
            if coded:
                raise ValueError(f"steps: {coded[0]} was recorded: state its name alone")
            return self
        if not self.steps:
            raise ValueError("steps: missing; at least one must be given")
        if self.model is None:
            raise ValueError("model: missing; it must be given")
        unclear = [step.name for step in self.steps if bool(step.call) == bool(step.command)]
        if unclear:
            raise ValueError(f"steps: {unclear[0]}: state either call or command")
        return self


class Data(_Part):
    """Where the raw samples come from: the case's own maker, or folders that hold a manifest."""

    make: Call | None = None
    seed: int = 0
    image: str = "base"
    train: CaseRelative | None = None
    sim: CaseRelative | None = None
    real: CaseRelative | None = None
    columns: list[str] = []  # names of a table's columns, in their order
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


METRICS = {"classification": ("accuracy",), "regression": ("r2", "mae")}
BOUNDS = {"accuracy": (0.0, 1.0), "r2": (-math.inf, 1.0), "mae": (0.0, math.inf)}


class Case(_Part):
    """All that case.yaml says, with `like:` filled in."""

    schema_version: Literal[1] = Field(alias="schema")
    title: str
    task: Literal["classification", "regression"]
    metric: Literal["accuracy", "r2", "mae"]
    classes: int | None = Field(default=None, ge=2, le=100_000)  # of a classification
    unit: str | None = Field(default=None, min_length=1, max_length=20)  # of a regression's target
    pictures: Literal["full", "none"] = "full"
    code: list[str] = ["code"]
    data: Data
    train: Train | None = None
    reference: Side
    candidate: Side
    last_good: Side | None = None  # what worked before the incident
    reported: float | None = None  # the metric on validation, as it was told of the reference
    budget: Time = DEFAULT  # of a run: 90s, 10m, 2h
    explainers: list[Call] = []  # of the case's own kinds of difference, beside those known
    schedule: Schedule | None = None  # of runs that `assay serve` starts
    reproduce: Hours | None = None  # when the last finished run is repeated in a clean clone
    release: Release = Release()  # of runs that a deploy event starts
    notify: Notify | None = None  # who is told how a run ended
    params: dict[str, dict[str, Any]] = {}  # stage -> param -> value: over params.yaml

    @model_validator(mode="after")
    def _fits_its_task(self) -> "Case":
        allowed = METRICS[self.task]
        if self.metric not in allowed:
            raise ValueError(f"metric: a {self.task} has {' or '.join(allowed)}")
        if (self.classes is not None) != (self.task == "classification"):
            what = "state how many" if self.classes is None else "leave it out"
            raise ValueError(f"classes: a {self.task}: {what}")
        low, high = BOUNDS[self.metric]
        if self.reported is not None and not low <= self.reported <= high:
            raise ValueError(
                f"reported: {self.metric} lies from {low:g} to {high:g}; got {self.reported:g}"
            )
        if self.unit is not None and self.task != "regression":
            raise ValueError("unit: of a regression's target; leave it out")
        if self.reference.recorded:
            raise ValueError("reference.recorded: the reference must run; record the other side")
        return self

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
    def sides(self) -> Mapping[str, Side]:
        """The sides that it states."""
        stated = {side: getattr(self.case, side) for side in SIDES}
        return {name: side for name, side in stated.items() if side is not None}

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
    from flows.case_places import missing_places  # it knows what a loaded case is

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
    faults = missing_places(loaded, file)
    if faults:
        raise Faults(*faults)
    return loaded


def _fill_in(raw: dict[str, Any], file: str) -> dict[str, Any]:
    """Give a side that is `like` another the fields that it does not state itself."""
    stated = [side for side in SIDES if isinstance(raw.get(side), dict)]
    return {**raw, **{side: _in_full(raw, side, file, (side,)) for side in stated}}


def _in_full(raw: dict[str, Any], side: str, file: str, passed: tuple[str, ...]) -> dict[str, Any]:
    stated: dict[str, Any] = raw[side]
    if "like" not in stated:
        return stated
    like = stated["like"]
    if like not in SIDES or like in passed or not isinstance(raw.get(like), dict):
        others = " or ".join(name for name in SIDES if name not in passed and name in raw)
        raise Faults(f"{file}: {side}.like: {others or 'no other side'} may be named; got {like}.")
    own = {key: value for key, value in stated.items() if key != "like"}
    return {**_in_full(raw, like, file, (*passed, like)), **own}

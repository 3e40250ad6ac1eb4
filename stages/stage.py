"""How a stage is declared: once; graph, params, container and task derive from it."""

import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
from pydantic import BaseModel, ConfigDict, TypeAdapter

Root = Literal["case", "workspace"]

SIDES = ("reference", "candidate", "last_good")
"""How the model was trained, how it is deployed, and, where stated, what worked before."""


@dataclass(frozen=True, slots=True)
class Plot:
    """How `dvc plots` draws a table of figures, the cases one beside another."""

    name: str
    x: str  # columns
    y: str
    y_label: str
    template: str = "linear"


@dataclass(frozen=True, slots=True)
class At:
    """The one place of an artifact: a path relative to the case's folder (or the workspace).

    `{side}` is filled in for each side; `{data.contract}` and the like come from case.yaml.
    """

    path: str
    root: Root = "case"
    side: str | None = None  # the one side that it belongs to: an input from a side that a case
    # does not state is None
    plot: Plot | None = None

    def of(self, side: str) -> "At":
        """Return the same place on one side."""
        return replace(self, path=self.path.replace("{side}", side), side=side)

    def under(self, into: Path) -> Path:
        """Return where a running stage writes this output; `into` is the stage's own folder."""
        return into / "/".join(self.path.split("/")[2:])


@dataclass(frozen=True, slots=True)
class CasePath:
    """An input whose path the case names at this key, relative to its folder; may be absent."""

    key: str


@dataclass(frozen=True, slots=True)
class FromCase:
    """A param whose value the case states at this dotted key; `{side}` is filled in."""

    key: str


class InputFault(Exception):  # noqa: N818  house word: a fault is what a person mends
    """What the stage was given cannot be examined: exit status 2; names file, row and next step."""


class Params(BaseModel):
    """A stage's knobs: a section of params.yaml, or values of the case."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Report(BaseModel):
    """What a stage found. Numbers are finite: absence is None with a reason beside it."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    schema_version: Literal[1] = 1


NOT_EXAMINED = "not examined"
"""How the reason begins where a stage was left out of a run that was cut short."""


class NotApplicable(Report):
    """The stage ran and its question has no answer here, or a run was cut short before it."""

    not_applicable: str  # the reason, one sentence


Share = Annotated[float, pydantic.Field(ge=0, le=1)]
Task = Literal["classification", "regression"]
MetricName = Literal["accuracy", "r2", "mae", "agreement"]
"""What is measured; agreement with the reference where no label says what is right."""


class Estimate(BaseModel):
    """A figure with its 95 % interval and the rows that it rests on."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    value: float
    low: float
    high: float
    n: int
    groups: int | None = None  # the groups that the rows came in; None: rows count one by one


class Step(BaseModel):
    """One named preprocessing step of a side: a function, a program, or only what was logged."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    name: str
    call: str | None = None  # module:function in the case's own code
    command: list[str] | None = None  # a program and its arguments, see docs/protocol.md
    args: dict[str, Any] = {}


class Command(BaseModel):
    """A model that is a program of its own, see docs/protocol.md."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    command: list[str]


RUNTIMES = ("onnx", "torchscript", "exported")
"""Models that need no code of the case: the weights' file says it all."""

Model = str | Command  # module:function, one of RUNTIMES, or a program


@dataclass(frozen=True, slots=True)
class Field:
    """One declared input or output."""

    name: str
    type: Any  # Path, a Report, a union of Reports, bytes or str
    place: At | CasePath


def _declared(record: type) -> Iterator[Field]:
    hints = typing.get_type_hints(record, include_extras=True)
    for field in fields(record):
        hint = hints[field.name]
        if typing.get_origin(hint) is not Annotated:
            raise TypeError(
                f"{record.__module__}.{record.__name__}.{field.name} names no place: At"
            )
        kind, place = typing.get_args(hint)[:2]
        yield Field(field.name, kind, place)


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a stage asks of the host."""

    threads: int = 1
    memory: str = "2GiB"
    timeout_s: float = 900.0
    gpu: bool = False

    @property
    def memory_bytes(self) -> int:
        """The limit in bytes."""
        number, unit = self.memory[:-3], self.memory[-3:]
        return int(number) * {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}[unit]


@dataclass(frozen=True, kw_only=True)
class Declared:
    """A question with its types and needs, whoever's code answers it."""

    module: str  # the declaring module
    params: type[Params]
    inputs_type: type
    outputs_type: type
    image: str  # a family, or a key of the case in braces: "{train.image}"
    entry: str  # the module that a runner starts
    needs: Needs = Needs()
    files: tuple[str, ...] = ()  # templates and the like, of the workspace: mounted and hashed
    sides: tuple[str, ...] = ()  # that it runs for; empty when it runs once
    holds_samples: bool = False  # it writes samples, tensors, ids or a line for each row: a case
    # that says `pictures: none` keeps its folder from remotes

    @property
    def name(self) -> str:
        """The module's last word; also its section in params.yaml."""
        return self.module.rpartition(".")[2]

    @property
    def question(self) -> str:
        """The first line of the module's docstring."""
        return str(sys.modules[self.module].__doc__).strip().splitlines()[0]

    @property
    def inputs(self) -> tuple[Field, ...]:
        """What it reads."""
        return tuple(_declared(self.inputs_type))

    @property
    def outputs(self) -> tuple[Field, ...]:
        """What it writes."""
        return tuple(_declared(self.outputs_type))


class Stage(Declared):
    """A question answered in one of our images.

    `run(params, inputs, into)` returns the outputs. An output that is a `Path` was written by the
    stage itself, under `into`, at `PLACE.under(into)`; all others are written for it.
    """

    run: Callable[..., Any]

    def __init__(
        self,
        run: Callable[..., Any],
        *,
        image: str,
        needs: Needs = Needs(),
        files: tuple[str, ...] = (),
        holds_samples: bool = False,
    ) -> None:
        hints = typing.get_type_hints(run)
        super().__init__(
            module=run.__module__,
            params=hints["params"],
            inputs_type=hints["inputs"],
            outputs_type=hints["return"],
            image=image,
            entry="stages.enter",
            needs=needs,
            files=files,
            holds_samples=holds_samples,
        )
        object.__setattr__(self, "run", run)


class SideStage(Declared):
    """A question answered by a side's own code, in the side's own image and interpreter.

    The work stands in `sides.<name>`, which sees the standard library, numpy and the case's code.
    """

    def __init__(
        self,
        module: str,
        params: type[Params],
        inputs_type: type,
        outputs_type: type,
        *,
        needs: Needs = Needs(),
        sides: tuple[str, ...] = SIDES,
        holds_samples: bool = True,
    ) -> None:
        super().__init__(
            module=module,
            params=params,
            inputs_type=inputs_type,
            outputs_type=outputs_type,
            image="{{side}.image}",
            entry="sides.enter",
            needs=needs,
            sides=sides,
            holds_samples=holds_samples,
        )


def case_keys(params: type[Params]) -> Mapping[str, str]:
    """Return {param: key of the case} for the params that the case states."""
    found = {}
    for name, field in params.model_fields.items():
        for mark in field.metadata:
            if isinstance(mark, FromCase):
                found[name] = mark.key
    return found


def is_report(kind: Any) -> bool:
    """Tell whether a field's type is a report, or a union of reports; it may be None too."""
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        parts = [part for part in typing.get_args(kind) if part is not types.NoneType]
        return all(is_report(part) for part in parts)
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def read_report(kind: Any, path: Path) -> Any:
    """Read a report back as the type that its reader declares.

    Raises:
        pydantic.ValidationError: lists every fault of the file with its key path.
    """
    return TypeAdapter(kind).validate_json(path.read_bytes())


def to_json(report: BaseModel) -> str:
    """Write a report in the order of its declaration; finite numbers only."""
    import json

    # allow_nan=False: JSON has no NaN, and a null in its place would lie to the reader.
    return json.dumps(report.model_dump(mode="json"), indent=2, allow_nan=False) + "\n"

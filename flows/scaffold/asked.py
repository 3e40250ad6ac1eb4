"""What a person asks `assay new` for, and what is still missing of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flows.case import is_call
from flows.faults import Faults

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
SLUG = re.compile(r"[a-z][a-z0-9_]{0,39}")
RUNTIMES = {".onnx": "onnx", ".pt2": "exported"}  # told by their name alone
TASKS = {"classification": ("accuracy",), "regression": ("r2", "mae")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The flags of `assay new`; None and () where one is not given."""

    name: str
    task: str = "classification"
    title: str | None = None
    sim: str | None = None
    real: str | None = None
    train: str | None = None
    weights: str | None = None
    model: str | None = None
    code: str | None = None
    step: tuple[str, ...] = ()
    candidate_step: tuple[str, ...] = ()
    image: str | None = None
    candidate_image: str | None = None
    recorded: str | None = None
    label_column: str | None = None
    id_column: str | None = None
    group_column: str | None = None
    sample_column: str | None = None
    classes: str | None = None
    metric: str | None = None
    unit: str | None = None
    contract: str | None = None
    private: bool = False
    dry_run: bool = False

    @property
    def contract_name(self) -> str:
        """The contract's name: the given one, or the case's."""
        return self.contract or self.slug

    @property
    def slug(self) -> str:
        """The case's name as one of a contract or a module: no dash, no digit at its beginning."""
        return re.sub(r"^(\d)", r"c\1", self.name.replace("-", "_"))

    @property
    def steps(self) -> list[tuple[str, str]]:
        """The reference's steps: name, call."""
        return [_step(text) for text in self.step]

    @property
    def candidate_steps(self) -> list[tuple[str, str]]:
        """The candidate's steps, in full; steps that bear a name of the reference replace it."""
        own = [_step(text) for text in self.candidate_step]
        names = [name for name, _ in self.steps]
        if not own or {name for name, _ in own} - set(names):
            return own
        return [(name, dict(own).get(name, call)) for name, call in self.steps]


def _step(text: str) -> tuple[str, str]:
    name, _, call = text.partition("=")
    return name, call


def _step_faults(asked: Asked) -> list[str]:
    texts = [("--step", text) for text in asked.step]
    texts += [("--candidate-step", text) for text in asked.candidate_step]
    expected = "expected NAME=module:function, the name in small letters, digits, underscores"
    return [
        f"{flag} {text}: {expected}."
        for flag, text in texts
        if not SLUG.fullmatch(_step(text)[0]) or not is_call(_step(text)[1])
    ]


WANTED: Mapping[str, str] = {
    "sim": "SOURCE, the samples that the model was validated on",
    "real": "SOURCE, samples of the field",
    "weights": "PATH, the model's file or folder (or --train SOURCE, to begin with a simple model)",
    "model": "module:function of --code that builds the model; or onnx, torchscript, exported",
    "code": "FOLDER, yours, that holds the steps and the model",
}


def model_of(asked: Asked) -> str | None:
    """Return the model as it is stated, or as the name of its file tells."""
    if asked.model or not asked.weights:
        return asked.model
    path = Path(asked.weights)
    names = [path] if path.is_file() else sorted(path.glob("*.onnx")) + sorted(path.glob("*.pt2"))
    return RUNTIMES.get(names[0].suffix.lower()) if len(names) == 1 else None


def missing(asked: Asked) -> list[str]:
    """Return the flags that must still be given."""
    found = [name for name in ("sim", "real") if getattr(asked, name) is None]
    if asked.weights is None and (asked.train is None or asked.model is not None):
        found.append("weights")
    if asked.weights is not None and model_of(asked) is None:
        found.append("model")
    model = model_of(asked)
    named = asked.step or asked.candidate_step or (model and is_call(model))
    return [*found, "code"] if named and not asked.code else found


def check(asked: Asked, workspace: Path) -> None:
    """Refuse what could not become a case, before anything is read.

    Raises:
        Faults: every fault at once.
    """
    faults = _name_faults(asked, workspace) + _step_faults(asked)
    faults += [f"--{flag}: not given. Give {WANTED[flag]}." for flag in missing(asked)]
    if asked.metric and asked.metric not in TASKS[asked.task]:
        faults.append(f"--metric: a {asked.task} has {' or '.join(TASKS[asked.task])}.")
    if asked.task == "regression" and asked.classes:
        faults.append("--classes: a regression has none.")
    if asked.unit and asked.task != "regression":
        faults.append("--unit: only a regression has one.")
    model = model_of(asked)
    if model and not is_call(model) and model not in ("onnx", "torchscript", "exported"):
        faults.append(f"--model {model}: expected {WANTED['model']}.")
    for flag in ("weights", "code", "recorded"):
        path = getattr(asked, flag)
        if path and not Path(path).exists():
            faults.append(f"--{flag}: there is no {path}.")
    if asked.recorded and (asked.candidate_step or asked.candidate_image):
        faults.append("--recorded: a recorded candidate runs no code: no step, no image.")
    if faults:
        raise Faults(*faults)


def _name_faults(asked: Asked, workspace: Path) -> list[str]:
    faults = []
    if not NAME.fullmatch(asked.name):
        faults.append(f"{asked.name}: a case's name has small letters, digits, dashes; at most 40.")
    elif (workspace / "cases" / asked.name).exists():
        faults.append(
            f"cases/{asked.name} is there already and is not overwritten. "
            "Choose another name, or remove its folder and its contract first."
        )
    if asked.contract and not SLUG.fullmatch(asked.contract):
        faults.append(f"--contract {asked.contract}: small letters, digits, underscores.")
    elif (workspace / f"data_contracts/{asked.contract_name}.yaml").exists():
        faults.append(
            f"data_contracts/{asked.contract_name}.yaml is there already and is not overwritten. "
            "Give --contract another name."
        )
    return faults


def with_flags(asked: Asked, told: Mapping[str, Any]) -> Asked:
    """Return the same with flags that were asked for meanwhile."""
    return replace(asked, **told)

"""A case that is being made: a healthy base, what a fault changes of it, and how it is written."""

import hashlib
import shutil
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from bench.planted import rows as files
from bench.planted.base import CODE, Base, Made
from bench.planted.rows import Rows

PARAMS: Mapping[str, Any] = {
    "split": {"roles": {"diagnose": 0.5, "fit": 0.25, "prove": 0.25}},
    "inputs": {"num_permutations": 199, "resamples": 200},
    "features": {"num_permutations": 199},
    "parity": {"num_pictures": 1},
    "probe": {
        "labels": [25],
        "resamples": 3,
        "steps": 20,
        "learning_rates": [0.01],
        "ladder": [],
        "ladder_deep": [],
        "ladder_resamples": 3,
        "batch": 25,
    },
}
"""What is asked for less than by default: it costs much and decides nothing here."""

Lines = str
"""Lines of Python that stand in the deployed code."""


@dataclass(slots=True)
class Draft:
    """A healthy case until a kind changes it. Kinds call the methods, or set fields."""

    base: Base
    made: Made
    train: Rows | None  # None: the case does not give its training data
    sim: Rows
    real: Rows
    clean: Rows  # the field as it would be without a fault
    weights: Path  # of the reference
    other_weights: Path | None = None  # of the candidate, where they are others
    edits: dict[str, Lines] = field(default_factory=dict)  # step -> lines that change `value`
    net_lines: Lines = ""  # lines that change `model`
    answer_lines: Lines = ""  # lines that make `labels` of `outputs`
    both: dict[str, Lines] = field(default_factory=dict)  # step -> lines, on both sides
    reported: float | None = None  # the metric that training claimed
    params: dict[str, dict[str, Any]] = field(default_factory=dict)
    loss_of: str = "pairs"  # pairs: clean against deployed; sets: validation against the field;
    # claim: what was reported against validation

    def after(self, step: str, lines: Lines) -> str:
        """Let the deployed step change its `value`, as the reference made it; return the step.

        The lines see `value`, `sample` (the step's input), `np`, and `own`, the reference's steps.
        """
        self.edits[step] = self.edits.get(step, "") + textwrap.dedent(lines).strip() + "\n"
        return step

    def net(self, lines: Lines) -> None:
        """Let the deployed side change its `model`, a module; lines see `torch` and `nn` too."""
        self.net_lines += textwrap.dedent(lines).strip() + "\n"

    def answer(self, lines: Lines) -> None:
        """Let the deployed side make `labels` of `outputs`, (rows, outputs), by these lines."""
        self.answer_lines += textwrap.dedent(lines).strip() + "\n"

    def see(self, samples: Any) -> None:
        """Let the field's raw samples be others, of the same rows; both sides get them."""
        self.real = self.real.seen_as(samples)


def drafted(made: Made) -> Draft:
    """Return a healthy case."""
    return Draft(made.base, made, None, made.sim, made.real, made.real, made.weights)


def neutral(text: str, num: int = 6) -> str:
    """Return letters that tell nothing, the same for the same text."""
    digest = hashlib.sha256(text.encode()).digest()
    return "".join(chr(97 + byte % 26) for byte in digest[:num])


def write(draft: Draft, root: Path, identity: str) -> str:
    """Write the case into a workspace and return its name, which tells nothing."""
    name = f"c{neutral(identity, 8)}"
    folder, base = root / "cases" / name, draft.base
    shutil.rmtree(folder, ignore_errors=True)
    words = [f"{part}_{neutral(identity + part, 4)}" for part in ("steps", "net", "field", "unit")]
    steps, net, field_module, unit = words
    (folder / "code").mkdir(parents=True)
    (folder / "site").mkdir()
    shutil.copyfile(CODE / f"{base.net}.py", folder / "code" / f"{net}.py")
    own = (CODE / f"{base.chain}.py").read_text(encoding="utf-8")
    (folder / "code" / f"{steps}.py").write_text(own, encoding="utf-8")
    shared = _steps_code(steps, draft.both)
    (folder / "code" / f"{unit}.py").write_text(shared, encoding="utf-8")
    deployed = _steps_code(steps, {**draft.both, **draft.edits}, net, draft)
    (folder / "site" / f"{field_module}.py").write_text(deployed, encoding="utf-8")
    for key, rows in (("train", draft.train), ("sim", draft.sim), ("real", draft.real)):
        if rows is not None:
            files.write(rows, folder / "data" / key)
    unfinished = shutil.ignore_patterns("*.part")
    shutil.copytree(draft.weights, folder / "weights", ignore=unfinished)
    if draft.other_weights is not None:
        shutil.copytree(draft.other_weights, folder / "served", ignore=unfinished)
    content = _case(draft, name, words)
    (folder / "case.yaml").write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    _write_contract(base, root / "data_contracts" / f"{name}.yaml")
    return name


def _steps_code(
    steps: str, edits: Mapping[str, Lines], net: str | None = None, draft: Draft | None = None
) -> str:
    """Return a module with the changed steps; with a network, also what else is deployed."""
    head = f'"""Steps."""\n\nimport numpy as np\nimport {steps} as own\n'
    parts = [
        f"def {step}(sample):\n    value = own.{step}(sample)\n"
        f"{textwrap.indent(lines, '    ')}    return value\n"
        for step, lines in edits.items()
    ]
    if draft is not None and draft.net_lines:
        head += f"import torch\nfrom torch import nn\nimport {net} as network\n"
        body = textwrap.indent(draft.net_lines, "    ")
        parts.append(
            f"def build(folder):\n    model = network.build(folder)\n{body}    return model\n"
        )
    if draft is not None and draft.answer_lines:
        body = textwrap.indent(draft.answer_lines, "    ")
        parts.append(f"def answer(outputs):\n{body}    return labels\n")
    return "\n\n".join([head, *parts])


def _case(draft: Draft, name: str, words: list[str]) -> dict[str, Any]:
    base = draft.base
    steps, net, field_module, unit = words
    reference: dict[str, Any] = {
        "image": "torch",
        "steps": [
            {"name": step, "call": f"{unit if step in draft.both else steps}:{step}"}
            for step in base.steps
        ],
        "model": f"{net}:build",
        "weights": "weights",
        "layers": base.layers,
    }
    if base.answers:
        reference["postprocess"] = f"{steps}:answer"
    candidate: dict[str, Any] = {"like": "reference"}
    if draft.edits:
        candidate["steps"] = [
            {"name": step, "call": f"{field_module}:{step}"}
            if step in draft.edits
            else {"name": step, "call": f"{unit if step in draft.both else steps}:{step}"}
            for step in base.steps
        ]
    if draft.net_lines:
        candidate["model"] = f"{field_module}:build"
    if draft.answer_lines:
        candidate["postprocess"] = f"{field_module}:answer"
    if draft.other_weights is not None:
        candidate["weights"] = "served"
    is_classes = base.classes is not None
    data: dict[str, Any] = {"sim": "data/sim", "real": "data/real", "contract": name}
    if draft.train is not None:
        data["train"] = "data/train"
    if base.columns:
        data["columns"] = list(base.columns)
    content: dict[str, Any] = {
        "schema": 1,
        "title": "A model in the field",
        "task": "classification" if is_classes else "regression",
        "metric": "accuracy" if is_classes else "r2",
        **({"classes": base.classes} if is_classes else {"unit": "MJ/kg"}),
        "code": ["code", "site"],
        "data": data,
        "reference": reference,
        "candidate": candidate,
        "params": _params(draft.params),
    }
    if draft.reported is not None:
        content["reported"] = round(float(draft.reported), 4)
    return content


def _params(more: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the knobs that the stages know, so that an older tree can be measured too."""
    from flows.plan import catalog

    known = {stage.name: set(stage.params.model_fields) for stage in catalog()}
    found = {}
    for name in (*PARAMS, *(name for name in more if name not in PARAMS)):
        stated = {**PARAMS.get(name, {}), **more.get(name, {})}
        found[name] = {key: value for key, value in stated.items() if key in known.get(name, ())}
    return {name: values for name, values in found.items() if values}


def _write_contract(base: Base, path: Path) -> None:
    terms = {
        "columns": ["id", "label", "group"],
        "samples": {**base.contract, "duplicate_share": 1.0},
        "labels": {"null_share": 0.0, "every_class": False},
        "groups": {"null_share": 0.0, "min": 2},
    }
    content = {"schema": 1, "sim": terms, "real": terms}
    path.parent.mkdir(exist_ok=True)
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")

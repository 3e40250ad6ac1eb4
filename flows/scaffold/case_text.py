"""The files of a new case that people read and change: case.yaml and README.md."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from flows.scaffold.asked import TASKS, Asked
from flows.scaffold.case_code import CaseCode
from flows.scaffold.class_names import Classes, shown
from flows.scaffold.intake import ORDER, Source, TakenIn
from flows.scaffold.set_facts import SetFacts

PLAIN = re.compile(r"[A-Za-z][\w ./,()-]*")
MAX_COLUMNS = 500
LINE = 98
WORDS = {"train": "trained on", "sim": "validated on", "real": "met in the field"}


@dataclass(slots=True, kw_only=True)
class Described:
    """All that the texts of a case are made of."""

    asked: Asked
    sources: Mapping[str, Source]
    sets: Mapping[str, TakenIn]
    facts: Mapping[str, SetFacts]
    classes: Classes | None
    code: CaseCode
    recorded_steps: list[str] = field(default_factory=list)
    in_dvc: list[str] = field(default_factory=list)  # folders of the case that DVC holds
    differences: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        """Its title: the given one, or its name."""
        return self.asked.title or self.asked.name.replace("-", " ").capitalize()


def scalar(text: str) -> str:
    """Return a text as YAML: plain where that is safe, else quoted."""
    is_plain = PLAIN.fullmatch(text) and text == text.strip() and ": " not in text
    words = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
    return text if is_plain and text.lower() not in words else json.dumps(text, ensure_ascii=False)


def case_yaml(said: Described) -> str:
    """Write case.yaml, with a word on what may be changed."""
    asked, code = said.asked, said.code
    lines = [
        "# How a model was trained (reference) and how it is deployed (candidate). The keys:",
        f'# docs/design.md, "A case". What is wrong in this file: assay check {asked.name}',
        "schema: 1",
        f"title: {scalar(said.title)}",
        f"task: {asked.task}",
        f"metric: {asked.metric or TASKS[asked.task][0]}",
        *_task_lines(said),
        f"pictures: {'none' if asked.private else 'full'} # none: samples stay on this machine",
        "code: [code] # folders put on the path, relative to this file",
        *_data_lines(said),
    ]
    if code.train:
        lines += ["train:", f"  call: {code.train}", f"  image: {scalar(code.image)}", "  seed: 0"]
    lines += [
        "reference: # how the model was trained and validated",
        f"  image: {scalar(code.image)}",
        "  steps: # one after another on each sample; the first gets it raw",
        *_step_lines(code.steps),
        f"  model: {code.model}",
    ]
    lines += [] if code.train else ["  weights: weights"]
    if code.image == "torch":
        names = ", ".join(code.layers) or "conv1, fc1"
        known = "" if code.layers else "; names as model.named_modules() has them"
        lines.append(f"  # layers: [{names}] # where features are read, in forward order{known}")
    return "\n".join([*lines, *_candidate_lines(said), *_params_lines(asked)]) + "\n"


_THRESHOLDS = {"accuracy": "min_accuracy: 0.9", "r2": "min_r2: 0.9", "mae": "max_mae: 1.0"}


def _params_lines(asked: Asked) -> list[str]:
    threshold = _THRESHOLDS[asked.metric or TASKS[asked.task][0]]
    told = "# params: # stage -> param -> value, over params.yaml"
    return [told, f"#   gate: {{{threshold}}} # what the candidate is held to"]


def _task_lines(said: Described) -> list[str]:
    if said.classes is None:
        return [f"unit: {scalar(said.asked.unit)}"] if said.asked.unit else []
    names = said.classes.names
    told = [f"{number} {name}" for number, name in enumerate(names)]
    if not said.classes.renamed:
        told = [f"labels are 0 to {len(names) - 1}"]
    more = "; all in README.md" if len(shown(told)) < len(", ".join(told)) else ""
    return [f"classes: {len(names)} # {shown(told)}{more}"]


def _data_lines(said: Described) -> list[str]:
    lines = ["data: # raw samples, as they are before any preprocessing"]
    for name in [name for name in ("train", "sim", "real") if name in said.sets]:
        taken = said.sets[name]
        told = f"{taken.rows} rows, {taken.labelled} labelled"
        lines.append(f"  {name}: data/{name} # {WORDS[name]}: {told}")
    contract = said.asked.contract_name
    lines += _columns_lines(said.sets["sim"].features or ())
    return [*lines, f"  contract: {contract} # data_contracts/{contract}.yaml"]


def _columns_lines(names: Sequence[str]) -> list[str]:
    if not names or len(names) > MAX_COLUMNS:
        return []
    said = [json.dumps(name, ensure_ascii=False) if "," in name else scalar(name) for name in names]
    words = [f"{name}," for name in said[:-1]] + [said[-1]]
    told, line = ["  # a sample's columns, as reports call them"], "  columns: ["
    for at, word in enumerate(words):
        if len(line) + len(word) > LINE and at:
            told.append(line.rstrip())
            line = "    "
        line += f"{word} "
    return [*told, f"{line.rstrip()}]"]


def _step_lines(steps: list[tuple[str, str]]) -> list[str]:
    return [f"    - {{name: {name}, call: {call}}}" for name, call in steps]


def _candidate_lines(said: Described) -> list[str]:
    if said.asked.recorded:
        lines = [
            "candidate: # how it is deployed: not run here, but logged",
            "  recorded: recorded",
        ]
        if said.recorded_steps:
            lines.append("  steps: # as logged; the output of the last one is `input`")
            lines += [f"    - {{name: {name}}}" for name in said.recorded_steps]
            return lines
        told = "all of the reference's, once all but the last are logged"
        return [*lines, f"  # steps: # {told}: docs/how-to/recorded-logs.md"]
    lines = [
        "candidate: # how it is deployed",
        "  like: reference # the same fields; those written here replace them",
    ]
    if said.asked.candidate_image:
        lines.append(f"  image: {scalar(said.asked.candidate_image)}")
    if said.asked.candidate_steps:
        return [*lines, "  steps:", *_step_lines(said.asked.candidate_steps)]
    return [*lines, "  # steps: # what serves it, where that is other code than the reference's"]


def readme(said: Described) -> str:
    """Write README.md: what is examined, and where its data came from."""
    name = said.asked.name
    lines = [
        f"# {name}: {said.title}",
        "",
        f"What is examined stands in [case.yaml](case.yaml). Investigate it: `assay run {name}`.",
        "",
        "## Data",
        "",
        "| set | from | kind | rows | labelled | groups | samples |",
        "|---|---|---|---|---|---|---|",
    ]
    for key in [key for key in ORDER if key in said.sets]:
        taken, facts = said.sets[key], said.facts[key]
        kinds = f"{', '.join(facts.dtypes)} {facts.shape_text()}"
        lines.append(
            f"| {key} | `{said.sources[key].told}` | {taken.kind} | {taken.rows} | "
            f"{taken.labelled} | {taken.groups or '-'} | {kinds} |"
        )
    notes = [f"- {key}: {note}." for key, taken in said.sets.items() for note in taken.notes]
    notes += [f"- {line}" for line in said.differences]
    if notes:
        lines += ["", *notes]
    features = said.sets["sim"].features
    if features:
        lines += ["", f"A sample holds, in this order: {', '.join(features)}."]
    shares = "leaves it here" if said.asked.private else "shares it"
    for folder in said.in_dvc:
        lines += ["", f"`{folder}` is held by DVC (`{folder}.dvc`): `dvc push` {shares}."]
    return "\n".join([*lines, *_classes_table(said.classes), *_beginnings(said.code)]) + "\n"


def _classes_table(classes: Classes | None) -> list[str]:
    if classes is None or not classes.renamed:
        return []
    rows = [f"| {number} | {name} |" for number, name in enumerate(classes.names)]
    head = ["", "## Classes", "", f"In {classes.origin}." if "order" in classes.origin else ""]
    if "order" not in classes.origin:
        head[-1] = f"Numbered in their order, {classes.origin}."
    told = "The model's outputs must stand in this order. The manifests have the names too."
    return [*head, told, "", "| class | name |", "|---|---|", *rows]


def _beginnings(code: CaseCode) -> list[str]:
    if not code.written:
        return []
    told = ", ".join(f"`{path}`" for path in code.written)
    lines = ["", "## To be replaced", "", f"{told}: written by `assay new`; they work."]
    if code.train:
        lines.append("No model was given, so a simple one is trained on `data/train`.")
    return lines

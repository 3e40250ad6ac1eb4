"""The code and the weights of a new case: the user's own, and working beginnings for the rest."""

import ast
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from flows.case import is_call
from flows.faults import Faults
from flows.module_names import parsed
from flows.scaffold import starters
from flows.scaffold.asked import Asked, model_of
from flows.scaffold.set_facts import SetFacts

LEFT = shutil.ignore_patterns(
    ".git", ".dvc", ".venv", "venv", "__pycache__", "*.pyc", "*.egg-info", ".*_cache", ".ipynb_*"
)
TORCH = re.compile(r"^\s*(?:import|from)\s+torch\b", re.MULTILINE)
FAMILY_OF = {"onnx": "onnx", "torchscript": "torch", "exported": "torch"}
GREY_AXES = 2
MAX_LAYERS = 6  # of an example


@dataclass(slots=True, kw_only=True)
class CaseCode:
    """What case.yaml says of the code."""

    steps: list[tuple[str, str]]  # name, call
    model: str
    image: str
    train: str | None = None  # module:function of the simple model; None: weights were given
    written: list[str] = field(default_factory=list)  # starters, for a person to look at
    layers: list[str] = field(default_factory=list)  # of a torch module, where its code tells


def copy_code(asked: Asked, code: Path) -> None:
    """Copy the user's folder; a package keeps its name, so that its imports hold.

    Raises:
        Faults: a link is in it, or a module that the flags name is not.
    """
    code.mkdir(parents=True)
    if asked.code is None:
        return
    source = Path(asked.code).resolve()
    if not source.is_dir():
        raise Faults(f"--code: {asked.code} is no folder.")
    links = [path for path in source.rglob("*") if path.is_symlink()]
    if links:
        raise Faults(f"--code: {links[0]} is a link; a case holds its own code. Copy the file.")
    target = code / source.name if (source / "__init__.py").is_file() else code
    shutil.copytree(source, target, ignore=LEFT, dirs_exist_ok=True)
    named = [call for _, call in (*asked.steps, *asked.candidate_steps)]
    model = model_of(asked)
    named += [model] if model and is_call(model) else []
    faults = [
        f"--code: {asked.code} holds no module {call.partition(':')[0]}, which {call} names."
        for call in dict.fromkeys(named)
        if not _holds(code, call.partition(":")[0])
    ]
    if faults:
        raise Faults(*faults)


def _holds(code: Path, module: str) -> bool:
    base = code / module.replace(".", "/")
    return base.with_suffix(".py").is_file() or (base / "__init__.py").is_file()


def copy_weights(asked: Asked, target: Path) -> None:
    """Copy the weights' file or folder, and what an ONNX file keeps beside itself."""
    if asked.weights is None:
        return
    source = Path(asked.weights)
    if source.is_dir():
        shutil.copytree(source, target, ignore=LEFT)
        return
    target.mkdir()
    beside = [source.with_name(source.name + end) for end in (".data", "_data")]
    for path in (source, *(path for path in beside if path.is_file())):
        shutil.copyfile(path, target / path.name)


def fill_in(asked: Asked, code: Path, sim: SetFacts, slug: str) -> CaseCode:
    """Write a beginning for what was not given: steps by what the samples are, a simple model.

    Raises:
        Faults: nothing is known for such samples.
    """
    made = CaseCode(steps=asked.steps, model=model_of(asked) or "", image="")
    if not made.steps:
        made.steps = _write_steps(code, sim, slug, made)
    if not made.model:
        _write_model(code, asked.task, slug, made)
    uses_torch = any(
        TORCH.search(path.read_text(encoding="utf-8", errors="replace"))
        for path in code.rglob("*.py")
    )
    made.image = asked.image or FAMILY_OF.get(made.model, "torch" if uses_torch else "base")
    if is_call(made.model):
        made.layers = _layers(code / f"{made.model.partition(':')[0].replace('.', '/')}.py")
    return made


def _layers(module: Path) -> list[str]:
    """Return the parts that the torch modules of a file give themselves, in the file's order."""
    tree = parsed(module)
    if tree is None:
        return []
    return [
        target.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        if re.match(r"(torch\.)?nn\.[A-Z]", ast.unparse(node.value.func))
        for target in node.targets
        if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self"
    ][:MAX_LAYERS]


def _write_steps(code: Path, sim: SetFacts, slug: str, made: CaseCode) -> list[tuple[str, str]]:
    suffix = next(iter(sim.suffixes), "")
    eight_bit = set(sim.dtypes) <= {"uint8", "bool"}
    if sim.are_pictures and eight_bit:
        name, steps = "picture_steps", ["decode", "resize", "scale"]
    elif suffix == ".npy":
        name, steps = "array_file_steps", ["decode", "as_float"]
    elif not suffix:
        name, steps = "array_steps", ["as_float"]
    else:
        told = (
            f"samples are {', '.join(sim.dtypes)} {suffix} files, and there are no steps for them"
        )
        raise Faults(f"{told}. Give --code FOLDER --step decode=module:function.")
    shape = next(iter(sim.shapes), ())
    changes = {}
    if name == "picture_steps" and len(shape) >= GREY_AXES:
        changes["WIDTH, HEIGHT = 28, 28"] = f"WIDTH, HEIGHT = {shape[1]}, {shape[0]}"
        if len(shape) == GREY_AXES:
            changes['MODE = "RGB"  # L: grey'] = 'MODE = "L"  # grey; RGB: colours'
    _write(code, name, f"{slug}_steps", changes, made)
    return [(step, f"{slug}_steps:{step}") for step in steps]


def _write_model(code: Path, task: str, slug: str, made: CaseCode) -> None:
    calls = [call.partition(":") for _, call in made.steps]
    imports = [f"from {call[0]} import {call[2]} as step_{at}" for at, call in enumerate(calls)]
    names = ", ".join(f"step_{at}" for at in range(len(calls)))
    changes = {
        "from flows.scaffold.starters.array_steps import as_float  # STEPS": "\n".join(imports),
        "STEPS = (as_float,)": f"STEPS = ({names},)",
    }
    _write(code, "training_rows", f"{slug}_rows", changes, made)
    starter = "nearest_mean_model" if task == "classification" else "least_squares_model"
    changes = {"flows.scaffold.starters.training_rows": f"{slug}_rows"}
    _write(code, starter, f"{slug}_model", changes, made)
    made.model, made.train = f"{slug}_model:build", f"{slug}_model:train"


def _write(code: Path, starter: str, module: str, changes: dict[str, str], made: CaseCode) -> None:
    path = code / f"{module}.py"
    if path.exists():
        raise Faults(f"--code holds {path.name} already, which a beginning would replace.")
    folder = Path(starters.__file__).parent
    text = (folder / f"{starter}.py").read_text(encoding="utf-8")
    for old, new in changes.items():
        if old not in text:
            raise ValueError(f"{starter}.py no longer says {old!r}")
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    made.written.append(f"code/{path.name}")

"""A case's owner learns every fault at once, each with its line and what is allowed."""

from pathlib import Path

import pytest

from flows.case import load_case, relative
from flows.faults import Faults

CODE = "make = train = build = decode = None\n"

GOOD = """\
schema: 1
title: Toy
task: classification
metric: accuracy
classes: 2
data:
  make: toy_data:make
  contract: toy
train:
  call: toy_model:train
reference:
  steps:
    - {name: decode, call: toy_steps:decode}
  model: toy_model:build
  layers: [fc]
candidate:
  like: reference
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "cases/toy/code").mkdir(parents=True)
    (tmp_path / "data_contracts").mkdir()
    (tmp_path / "data_contracts/toy.yaml").write_text(
        "schema: 1\nsim: &all {samples: {dtype: uint8}}\nreal: *all\n"
    )
    for module in ("toy_data", "toy_model", "toy_steps"):
        (tmp_path / f"cases/toy/code/{module}.py").write_text(CODE)
    (tmp_path / "cases/toy/case.yaml").write_text(GOOD)
    return tmp_path


def rewrite(workspace: Path, old: str, new: str) -> None:
    assert old in GOOD
    (workspace / "cases/toy/case.yaml").write_text(GOOD.replace(old, new, 1))


def faults(workspace: Path, name: str = "toy") -> str:
    with pytest.raises(Faults) as caught:
        load_case(workspace, name)
    return str(caught.value)


def test_a_side_like_another_has_its_fields(workspace: Path) -> None:
    case = load_case(workspace, "toy").case
    assert case.candidate == case.reference


def test_a_side_may_be_like_one_that_is_like_another(workspace: Path) -> None:
    rewrite(
        workspace,
        "candidate:\n  like: reference\n",
        "candidate:\n  like: reference\n  layers: []\nlast_good:\n  like: candidate\n",
    )
    case = load_case(workspace, "toy").case
    assert case.last_good == case.candidate != case.reference


def test_sides_that_are_like_each_other_are_refused(workspace: Path) -> None:
    rewrite(
        workspace,
        "candidate:\n  like: reference\n",
        "candidate: {like: last_good}\nlast_good: {like: candidate}\n",
    )
    assert "candidate.like" in faults(workspace) or "last_good.like" in faults(workspace)


def test_a_like_side_keeps_what_it_states(workspace: Path) -> None:
    rewrite(workspace, "  like: reference\n", "  like: reference\n  layers: []\n")
    case = load_case(workspace, "toy").case
    assert case.candidate.layers == []
    assert case.candidate.steps == case.reference.steps


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        pytest.param("title: Toy\n", "", "title: missing", id="missing key"),
        pytest.param(
            "metric:",
            "metrik:",
            "line 4: metrik: unknown key. Did you mean `metric`?",
            id="misspelt key",
        ),
        pytest.param(
            "layers:",
            "layer:",
            "line 15: reference.layer: unknown key. Did you mean `layers`?",
            id="nested",
        ),
        pytest.param(
            "classification",
            "guessing",
            "line 3: task: Input should be 'classification'",
            id="not allowed",
        ),
        pytest.param(
            "classes: 2",
            "classes: many",
            "line 5: classes: Input should be a valid integer",
            id="type",
        ),
        pytest.param(
            "toy_steps:decode", "toy_steps.decode", "expected module:function", id="no function"
        ),
        pytest.param(
            "toy_steps:decode",
            "nowhere:decode",
            "no module nowhere in cases/toy/code",
            id="no module",
        ),
        pytest.param(
            "title:",
            "explainers: [toy_steps:vignette]\ntitle:",
            "explainers.0: toy_steps has no function vignette",
            id="an explainer that is not there",
        ),
        pytest.param(
            "contract: toy",
            "contract: other",
            "there is no data_contracts/other.yaml",
            id="no contract",
        ),
        pytest.param(
            "like: reference",
            "like: candidate",
            "candidate.like: reference may be named; got candidate",
            id="like itself",
        ),
        pytest.param(
            "  make: toy_data:make\n", "", "state make (module:function), or", id="no data"
        ),
        pytest.param(
            "train:\n  call: toy_model:train\n", "", "give the weights' path", id="no weights"
        ),
        pytest.param("schema: 1", "schema: 1\nschema: 1", "line 2: not YAML", id="a key twice"),
        pytest.param("schema: 1", "schema: [", "not YAML", id="broken YAML"),
        pytest.param(
            "title: Toy", "title: 2020-01-01", "title: a date is not known here", id="date"
        ),
        pytest.param("classes: 2", "classes: .nan", "classes: nan is no finite number", id="nan"),
        pytest.param(
            "title: Toy",
            "title: Toy\nreported: .nan\nbudget: 2020-01-01",
            "line 4: budget: a date is not known here",
            id="what no key may hold, all at once",
        ),
        pytest.param(
            "title: Toy",
            "title: Toy\nreported: 93",
            "reported: accuracy lies from 0 to 1; got 93",
            id="a reported share in per cent",
        ),
        pytest.param(
            "title: Toy",
            "title: Toy\nbudget: 90",
            "budget: expected a time as in 90s, 10m or 2h, got 90.",
            id="a budget without its unit",
        ),
        pytest.param(
            "classes: 2",
            "classes: 2\ncode: [nowhere]",
            "there is no folder cases/toy/nowhere",
            id="code",
        ),
        pytest.param(
            "title: Toy", "title: Toy\nunit: kg", "unit: of a regression's target", id="unit"
        ),
    ],
)
def test_a_fault_names_its_place(workspace: Path, old: str, new: str, says: str) -> None:
    rewrite(workspace, old, new)
    assert says in faults(workspace)


FILES = ("deployed/a.onnx", "deployed/b.onnx", "deployed/c.pt", "logs/predictions.csv")
SIDE = "candidate:\n  steps: [{name: decode, call: toy_steps:decode}]\n"


@pytest.mark.parametrize(
    ("side", "says"),
    [
        pytest.param(
            SIDE + "  model: onnx\n  weights: deployed/a.onnx\n",
            "candidate.image: torch cannot open a model that is onnx: state onnx, or an image",
            id="an image without the runtime",
        ),
        pytest.param(
            SIDE + "  model: onnx\n  image: onnx\n  weights: deployed\n",
            "candidate.weights: deployed holds a.onnx, b.onnx: name one of them.",
            id="two files",
        ),
        pytest.param(
            SIDE + "  model: exported\n  weights: deployed\n",
            "candidate.weights: deployed holds no *.pt2, which a model that is exported needs.",
            id="no file",
        ),
        pytest.param(
            "candidate: {recorded: deployed}\n",
            "candidate.recorded: deployed holds none of tensors.npz, predictions.parquet",
            id="nothing was logged",
        ),
        pytest.param(
            "candidate: {recorded: logs, steps: [{name: crop}, {name: decode}]}\n",
            "candidate.recorded: logs/tensors.npz has no step_crop; it has: ids, input.",
            id="a step was not logged",
        ),
        pytest.param(
            "candidate: {recorded: logs, steps: [{name: read}]}\n",
            "candidate.steps: the last one is the step whose output is `input`; add decode, or "
            "leave steps out.",
            id="the last step is missing",
        ),
        pytest.param(
            "candidate: {recorded: unlabelled}\n",
            "candidate.recorded: predictions.csv has neither labels nor outputs.",
            id="predictions without an answer",
        ),
        pytest.param(
            SIDE.replace("call: toy_steps:decode", "command: [decode]") + "  model: onnx\n",
            "candidate.steps.0.command: no program decode in cases/toy/code",
            id="no program",
        ),
        pytest.param(
            SIDE.replace("call: toy_steps:decode", "command: decode --fast"),
            "candidate.steps.0.command: expected a list of words: [decode, --fast]",
            id="a program in one text",
        ),
        pytest.param(
            SIDE + "  model: {command: infer}\n",
            "candidate.model.command: expected a list of words: [infer], got 'infer'.",
            id="a model's program in one text",
        ),
        pytest.param(
            SIDE + "  model: onx\n",
            "candidate.model: expected module:function, onnx, torchscript, exported, or a command",
            id="no model",
        ),
        pytest.param(
            SIDE + "  model: toy_model:build\n  image: localhost:5000/serve\n",
            "candidate.image: one of base, contracts, torch, onnx, or a full image reference",
            id="a port is no tag",
        ),
        pytest.param(
            "candidate: {recorded: case.yaml}\n",
            "candidate.recorded: case.yaml is a file; state the folder that holds it.",
            id="a recording that is a file",
        ),
    ],
)
def test_what_a_side_lacks_is_told_before_anything_runs(
    workspace: Path, side: str, says: str
) -> None:
    import numpy as np

    for file in FILES:
        path = workspace / "cases/toy" / file
        path.parent.mkdir(exist_ok=True)
        path.write_text("id,label\na,0\n")
    (workspace / "cases/toy/unlabelled").mkdir()
    (workspace / "cases/toy/unlabelled/predictions.csv").write_text("id,class\na,0\n")
    arrays = {"ids": np.array(["a"]), "input": np.zeros((1, 2))}
    np.savez(workspace / "cases/toy/logs/tensors.npz", **arrays)
    rewrite(workspace, "candidate:\n  like: reference\n", side)
    assert says in faults(workspace)


def with_folders(workspace: Path, recorded: str) -> None:
    """State the data as folders, two reference steps, and a recording."""
    for name in ("sim", "real"):
        folder = workspace / f"cases/toy/data/{name}"
        folder.mkdir(parents=True)
        (folder / "manifest.csv").write_text("id,row,path,label,group\nreal-1,0,,0,\n")
    text = GOOD.replace("  make: toy_data:make\n", "  sim: data/sim\n  real: data/real\n")
    text = text.replace(
        "toy_steps:decode}\n",
        "toy_steps:decode}\n    - {name: scale, call: toy_steps:decode}\n"
        "    - {name: standardise, call: toy_steps:decode}\n",
    )
    text = text.replace("  like: reference\n", recorded)
    (workspace / "cases/toy/case.yaml").write_text(text)


def test_a_recording_of_other_rows_is_told_before_anything_runs(workspace: Path) -> None:
    with_folders(workspace, "  recorded: logs\n")
    (workspace / "cases/toy/logs").mkdir()
    (workspace / "cases/toy/logs/predictions.csv").write_text("id,label\nrow-7,0\n")
    assert faults(workspace) == (
        "cases/toy/case.yaml: candidate.recorded: none of its ids is one of data.real: it has "
        "row-7; the manifest real-1. Log with the ids of the manifest."
    )


def test_a_step_that_was_not_logged_is_not_taken_for_one_that_is_not_there(workspace: Path) -> None:
    import numpy as np

    with_folders(workspace, "  recorded: logs\n  steps: [{name: decode}, {name: standardise}]\n")
    (workspace / "cases/toy/logs").mkdir()
    arrays = {"ids": np.array(["real-1"]), "input": np.zeros((1, 2)), "step_decode": np.ones(1)}
    np.savez(workspace / "cases/toy/logs/tensors.npz", **arrays)
    assert "candidate.steps: scale is not listed. Log step_scale" in faults(workspace)


def test_every_misspelt_function_is_told_also_in_a_module_of_two_branches(workspace: Path) -> None:
    code = (
        "try:\n    import numpy as np\nexcept ImportError:\n    np = None\n"
        "if np:\n    def decode(raw):\n        hidden = globals()\n"
        "else:\n    decode = None\n"
        "with open(__file__) as file:\n    for line in file:\n        last = line\n"
        "if __name__ == '__main__':\n    print(decode)\n"
    )
    (workspace / "cases/toy/code/toy_steps.py").write_text(code)
    load_case(workspace, "toy")
    text = GOOD.replace("toy_steps:decode", "toy_steps:decod").replace("del:build", "del:buidl")
    (workspace / "cases/toy/case.yaml").write_text(text)
    told = faults(workspace)
    assert "toy_steps has no function decod. Did you mean decode?" in told
    assert "toy_model has no function buidl. Did you mean build?" in told


@pytest.mark.parametrize(
    "line", ["from os.path import *", "globals()['decode'] = 1", "def __getattr__(name): ..."]
)
def test_what_only_running_a_module_tells_is_not_refused(workspace: Path, line: str) -> None:
    (workspace / "cases/toy/code/toy_steps.py").write_text(f"if True:\n    {line}\n")
    load_case(workspace, "toy")


def test_all_faults_are_told_at_once(workspace: Path) -> None:
    text = (
        GOOD.replace("title: Toy\n", "")
        .replace("classes: 2", "classes: 1")
        .replace("layers", "layer")
    )
    (workspace / "cases/toy/case.yaml").write_text(text)
    assert len(faults(workspace).splitlines()) >= 3


def test_an_unknown_case_lists_the_known_ones(workspace: Path) -> None:
    assert faults(workspace, "tyo") == "Which case? One of: toy. Got: `tyo`. Did you mean `toy`?"


def test_aliases_of_aliases_are_refused_at_once(workspace: Path) -> None:
    levels = [f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 10)}]" for i in range(1, 9)]
    bomb = "l0: &l0 [1]\n" + "\n".join(levels) + "\n"
    (workspace / "cases/toy/case.yaml").write_text(bomb)
    assert "without aliases" in faults(workspace)


def test_a_folder_that_could_name_no_tag_is_refused(workspace: Path) -> None:
    (workspace / "cases/toy").rename(workspace / "cases/to y")
    assert "Rename the folder" in faults(workspace, "to y")


def test_a_path_may_not_leave_the_workspace() -> None:
    assert relative("cases/toy", "../other/code") == "cases/other/code"
    with pytest.raises(Faults, match="leads out"):
        relative("cases/toy", "../../../etc")


def test_a_program_that_may_not_be_executed_is_named(workspace: Path) -> None:
    program = workspace / "cases/toy/code/decode"
    program.write_text("#!/bin/sh\n")
    side = SIDE.replace("call: toy_steps:decode", "command: [decode]")
    rewrite(workspace, "candidate:\n  like: reference\n", side + "  model: toy_model:build\n")
    assert "chmod +x cases/toy/code/decode" in faults(workspace)
    program.chmod(0o755)
    load_case(workspace, "toy")

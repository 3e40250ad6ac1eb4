"""Each case.yaml of the how-to pages is one that assay takes."""

import re
from pathlib import Path

import numpy as np
import pytest

from flows.case import LoadedCase, load_case

PAGES = ("own-image", "onnx", "command", "recorded-logs", "last-good")
FOLDER = Path(__file__).parents[2] / "docs/how-to"
CODE = "make = train = build = decode = scale = None\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """What the pages name, all of it: modules, folders, weights, a program, a recording."""
    case = tmp_path / "cases/mine"
    for place in ("code", "bin", "weights", "data/train", "data/sim", "data/real", "logs/week-47"):
        (case / place).mkdir(parents=True)
    for module in ("my_steps", "my_model", "serve_steps", "serve_model"):
        (case / f"code/{module}.py").write_text(CODE)
    (case / "bin/decode").write_text("#!/bin/sh\n")
    (case / "bin/decode").chmod(0o755)
    (case / "weights/digits.onnx").write_bytes(b"")
    arrays = {"ids": np.array(["a"]), "input": np.zeros((1, 2)), "step_decode": np.zeros((1, 2))}
    np.savez(case / "logs/week-47/tensors.npz", **arrays)
    (tmp_path / "data_contracts").mkdir()
    contract = "schema: 1\nsim: &all {samples: {dtype: uint8}}\nreal: *all\n"
    (tmp_path / "data_contracts/digits.yaml").write_text(contract)
    return tmp_path


def load(workspace: Path, page: str) -> LoadedCase:
    text = (FOLDER / f"{page}.md").read_text(encoding="utf-8")
    [block] = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    (workspace / "cases/mine/case.yaml").write_text(block)
    return load_case(workspace, "mine")


@pytest.mark.parametrize("page", PAGES)
def test_the_pages_case_is_valid(workspace: Path, page: str) -> None:
    case = load(workspace, page).case
    assert case.candidate != case.reference

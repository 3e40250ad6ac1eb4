"""The generated graph says exactly what a row says."""

from dataclasses import replace

import pytest
from toy_workspace import toy_rows

from lineage.dvc_yaml import HEADER, compose, param_key


def test_a_row_in_the_documented_form():
    first = replace(toy_rows()[0], command="assay stage toy first")
    assert compose([first]) == HEADER + (
        "stages:\n"
        "  first:\n"
        "    desc: What does first say?\n"
        "    cmd: assay stage toy first\n"
        "    deps:\n"
        "    - data.txt\n"
        "    - ../../toys/__init__.py\n"
        "    - ../../toys/enter.py\n"
        "    - ../../toys/first.py\n"
        "    params:\n"
        "    - ../../environments.yaml:\n"
        "      - base\n"
        "    - ../../params.yaml:\n"
        "      - first\n"
        "    outs:\n"
        "    - artifacts/first\n"
    )


def test_two_cases_do_not_share_a_file():
    first, second = toy_rows()
    with pytest.raises(ValueError, match="one case"):
        compose([first, replace(second, case="other")])


@pytest.mark.parametrize("image", ["registry.example/team/model:1.2", "model[gpu]", "a.b"])
def test_a_foreign_image_is_a_key_without_dots_or_patterns(image: str):
    assert param_key("torch") == "torch"
    assert param_key(image).replace("-", "").isalnum()
    assert param_key(image) != param_key(f"{image}x")

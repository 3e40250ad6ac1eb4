import sys

import pytest

from sides import case_code
from sides.case_code import CaseCodeError, calling, load

CODE = """
import numpy as np

LIMIT = 3

def scale(image):
    return image / divisor(image)

def divisor(image):
    raise ValueError("cannot scale")

def leave():
    raise SystemExit(3)
"""


@pytest.fixture
def code(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(case_code, "FOLDERS", [])
    for name in [name for name in sys.modules if name.startswith("my_")]:
        monkeypatch.delitem(sys.modules, name)
    (tmp_path / "my_steps.py").write_text(CODE)
    (tmp_path / "my_broken.py").write_text("def half(:\n")
    (tmp_path / "my_needy.py").write_text("import not_in_this_image\n")
    case_code.look_in([str(tmp_path)])
    return tmp_path


def test_a_function_is_found(code):
    assert load("my_steps:scale", "reference.steps[0]").__name__ == "scale"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        pytest.param("my_steps", ["expected module:function, got 'my_steps'"], id="no colon"),
        pytest.param(
            "my_stps:scale", ["no module my_stps", "Did you mean my_steps?"], id="misspelt module"
        ),
        pytest.param(
            "my_steps:scael",
            ["my_steps.py has no function scael", "Did you mean scale?"],
            id="misspelt function",
        ),
        pytest.param("my_steps:LIMIT", ["LIMIT in my_steps.py is not a function"], id="a constant"),
        pytest.param(
            "my_broken:half", ["SyntaxError: ", "(my_broken.py, line 1)"], id="a syntax error"
        ),
        pytest.param(
            "my_needy:half",
            [
                "ModuleNotFoundError: No module named 'not_in_this_image'",
                'File "my_needy.py", line 1',
            ],
            id="a missing library",
        ),
    ],
)
def test_what_cannot_be_loaded_is_named(code, call, words):
    with pytest.raises(CaseCodeError) as caught:
        load(call, "reference.steps[0]")
    assert str(caught.value).startswith("reference.steps[0]: ")
    assert all(word in str(caught.value) for word in words)


def test_the_folders_that_were_searched_are_named(code):
    with pytest.raises(CaseCodeError, match=f"Looked in: {code}"):
        load("elsewhere:f", "data.make")


def test_a_failure_names_sample_and_the_users_own_lines_only(code):
    scale = load("my_steps:scale", "candidate.steps[1]")
    with (
        pytest.raises(CaseCodeError) as caught,
        calling("candidate.steps[1] 'scale' (my_steps:scale)", 17, "real-0042"),
    ):
        scale(1)
    assert str(caught.value) == (
        "candidate.steps[1] 'scale' (my_steps:scale) failed on sample 17 (real-0042): "
        "ValueError: cannot scale\n"
        '  File "my_steps.py", line 7, in scale\n'
        "    return image / divisor(image)\n"
        '  File "my_steps.py", line 10, in divisor\n'
        '    raise ValueError("cannot scale")'
    )


def test_a_case_that_exits_is_a_failure_too(code):
    leave = load("my_steps:leave", "data.make")
    with pytest.raises(CaseCodeError, match="SystemExit: 3"), calling("data.make"):
        leave()

"""What others wrote stays words in a chat, in Prefect's UI and in a terminal."""

import json
import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from flows import cli_words
from flows.chat import tell
from flows.shown_text import for_markdown, for_terminal
from stages.reports.page import Answer

GOLDEN = Path(__file__).parents[1] / "stages/golden_report.json"
ATTACK = "<!channel> <https://a.b|safe> @here *bold* \x1b]0;x\x07\x1b[2J \u202egnp.exe https://a.b"


@pytest.fixture
def attacked() -> Answer:
    found = Answer.model_validate(json.loads(GOLDEN.read_text(encoding="utf-8")))
    change = {"verdict": f"{ATTACK}. {ATTACK}", "not_examined": [ATTACK], "actions": [ATTACK]}
    told = found.diagnose.model_copy(update=change)
    return found.model_copy(update={"title": ATTACK, "diagnose": told})


def test_a_chat_calls_nobody_and_links_to_the_page_alone(attacked):
    for form in ("markdown", "text"):
        said = tell(attacked, "https://page", form)
        assert not re.search(r"@\w", said)
        assert re.findall(r"\w+://\S+", said) == ["https://page"]
        assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", said)
    assert "<" not in tell(attacked, "https://page", "markdown")
    assert "*bold*" not in tell(attacked, "https://page", "markdown")


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[2K\rgate open",
        "\x9b2J",
        "\x07",
        "a\x00b",
        "\u202etxt.exe",
        "\ud800",
        "\u2066x",
        "\x7f",
    ],
)
def test_a_terminal_is_told_no_command(text):
    @click.command()
    def show() -> None:
        cli_words.say(f"class {text}")

    said = CliRunner().invoke(show).stderr
    assert said.isascii()
    assert said.startswith("class ")
    assert re.search(r"\\[xu]", said)


def test_lines_tabs_and_letters_of_any_script_stay_as_they_are():
    assert for_terminal("a\n\tb ü 猫") == "a\n\tb ü 猫"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[a](https://b)", r"\[a\](https://b)"),
        ("![a](b)", r"\!\[a\](b)"),
        ("<img src=x onerror=y>", r"\<img src=x onerror=y\>"),
        ("a\n# gate open", r"a \# gate open"),
        ("`step` is <b>", r"`step` is \<b\>"),
        ("` <b>", r"\` \<b\>"),
        ("&lt;", r"\&lt;"),
        ("a | b", r"a \| b"),
    ],
)
def test_markdown_of_others_is_text(text, shown):
    assert for_markdown(text) == shown

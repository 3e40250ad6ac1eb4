"""What others wrote, where it is shown: a terminal and Markdown obey what stands in it."""

import re

COMMANDS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # escape sequences, carriage returns, bells
    "\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069"  # what turns the order of letters round
    "\ud800-\udfff]"  # halves of letters, which no terminal can be sent
)
MARKS = re.compile(r"([\\<>\[\]!|#*_~&])")
ANY_CODE = re.compile(r"(`[^`]*`)")


def for_terminal(text: str) -> str:
    r"""Make visible what would move the cursor, colour, hide or reorder; lines and tabs stay.

    >>> for_terminal("class \x1b[2K0")
    'class \\x1b[2K0'
    """
    return COMMANDS.sub(lambda found: ascii(found[0])[1:-1], text)


def for_markdown(text: str) -> str:
    r"""Escape all but what stands between backticks, as one line: no link, picture, tag or heading.

    >>> for_markdown("step `a_b` <b> [x](y)")
    'step `a_b` \\<b\\> \\[x\\](y)'
    """
    line = " ".join(for_terminal(text).split())
    parts = ANY_CODE.split(line)
    return "".join(
        part if at % 2 else MARKS.sub(r"\\\1", part).replace("`", "\\`")
        for at, part in enumerate(parts)
    )

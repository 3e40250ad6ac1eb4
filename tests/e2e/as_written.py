"""Runs a page as its reader would: files are written, commands run, their output read."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

FENCE = re.compile(
    r"(?:^`(?P<file>[^`\n]+)`:\n\n)?^```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)


def run_page(page: Path, folder: Path, environment: Mapping[str, str]) -> list[str]:
    """Write and run every block of a page in its order; return the outputs of its commands.

    A block after a line that is a file's name in backticks and a colon is that file; a `sh` block
    is run; each line of a `text` block must stand in what has been printed since the block before,
    `...` standing for anything.
    """
    outputs: list[str] = []
    fresh = ""
    for block in FENCE.finditer(page.read_text(encoding="utf-8")):
        body = block["body"]
        if block["file"]:
            path = folder / block["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(body, encoding="utf-8")
        elif block["kind"] == "sh":
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", body],
                cwd=folder, env=dict(environment), capture_output=True, text=True, check=False,
            )  # fmt: skip
            printed = done.stdout + done.stderr
            assert done.returncode == 0, (
                f"{page.name}: exit status {done.returncode} of\n{body}\n{printed}"
            )
            outputs.append(printed)
            fresh += printed
        elif block["kind"] == "text":
            for line in filter(str.strip, body.splitlines()):
                assert found(line, fresh), f"{page.name}: nowhere printed: {line}\n{fresh}"
            fresh = ""
    return outputs


def found(line: str, printed: str) -> bool:
    """Tell whether a line was printed; runs of blanks count as one.

    >>> found("gate  closed ...", "run 1\\ngate     closed by 2\\n")
    True
    >>> found("gate open", "gate closed")
    False
    """
    parts = [r"\s+".join(map(re.escape, part.split())) for part in line.split("...")]
    return re.search(".*?".join(parts), " ".join(printed.split())) is not None

"""A throwaway clone of the working tree, with caches and a server of its own."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[2]
LEFT_OUT = ("tests/", "bench/", "docs/")


@dataclass(frozen=True, slots=True)
class Clone:
    """A workspace that nothing else touches."""

    root: Path
    environment: dict[str, str]

    def call(self, *words: str) -> str:
        """Run a command in it and return what it printed; the command must end well."""
        done = subprocess.run(
            words, cwd=self.root, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def assay(self, *words: str) -> Any:
        """Run one of assay's own commands and return its answer."""
        return json.loads(self.call("assay", *words, "--json"))


def make(root: Path) -> Clone:
    """Copy what git holds and what would be added, edits included, and commit it there."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "-co", "--exclude-standard"],
        cwd=SOURCE,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in listed.split("\0"):
        if name and (SOURCE / name).is_file() and not name.startswith(LEFT_OUT):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(SOURCE / name, root / name)
    # The installed `assay` is the working tree's; this one is the clone's.
    wrapper = root / ".bin/assay"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m flows "$@"\n', encoding="utf-8")
    wrapper.chmod(0o755)
    python = Path(sys.executable).parent
    inherited = {name: value for name, value in os.environ.items() if "PREFECT" not in name}
    clone = Clone(
        root,
        inherited
        | {
            "PYTHONPATH": str(root),
            "PATH": f"{wrapper.parent}:{python}:{os.environ['PATH']}",
            "DVC_SITE_CACHE_DIR": str(root.parent / f"{root.name}-site"),
        },
    )
    clone.call("git", "init", "-q", "-b", "main")
    clone.call("git", "config", "user.name", "A Benchmark")
    clone.call("git", "config", "user.email", "bench@example.org")
    (root / ".git/info/exclude").write_text(".bin/\n", encoding="utf-8")
    clone.assay("plan", "--isolation", "process")
    clone.call("git", "add", "-A")
    clone.call("git", "commit", "-qm", "A clone to measure")
    return clone

"""A clone of the workspace with a toy case, an empty cache and nothing else."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
TOY = Path(__file__).parent / "toy"


@dataclass(frozen=True)
class Clone:
    """A workspace that nothing else touches, with an empty cache."""

    root: Path
    environment: dict[str, str]

    def call(self, *words: str, status: int | None = None) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            words, cwd=self.root, env=self.environment, capture_output=True, text=True, check=False
        )
        assert status is None or done.returncode == status, done.stdout + done.stderr
        return done

    def assay(self, *words: str, status: int | None = None) -> subprocess.CompletedProcess[str]:
        return self.call(sys.executable, "-m", "flows", *words, status=status)

    def run(self, case: str = "toy", isolation: str = "process", status: int = 1) -> dict:
        done = self.assay("run", case, "--isolation", isolation, "--json", status=status)
        return json.loads(done.stdout)

    def git(self, *words: str) -> str:
        return self.call("git", *words, status=0).stdout

    def blob(self, name: str) -> bytes:
        """The bytes of a file of a commit (`commit:path`), of a picture too."""
        words = ("git", "cat-file", "blob", name)
        return subprocess.run(words, cwd=self.root, capture_output=True, check=True).stdout

    def edit(self, file: str, old: str, new: str) -> None:
        path = self.root / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    def record(self, run: str) -> dict:
        return json.loads(self.git("show", f"run/{run}:cases/toy/run.json"))

    def report(self, run: str) -> bytes:
        """The bytes of a run's report.json, out of this clone's cache."""
        code = (
            "import sys; from pathlib import Path; from lineage import runs;"
            "print(runs.open_artifact(Path.cwd(), sys.argv[1], sys.argv[2]))"
        )
        place = "cases/toy/artifacts/report/report.json"
        return Path(
            self.call(sys.executable, "-c", code, run, place, status=0).stdout.strip()
        ).read_bytes()


def make_clone(root: Path, api: str) -> Clone:
    names = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=SOURCE, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    for name in names:
        if (SOURCE / name).is_file() and not name.startswith(("cases/", "tests/")):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(SOURCE / name, root / name)
    shutil.copytree(
        TOY, root / "cases/toy", ignore=shutil.ignore_patterns("contract.yaml", "__pycache__")
    )
    shutil.copy(TOY / "contract.yaml", root / "data_contracts/toy.yaml")
    # dvc.yaml calls `assay`; here it is this clone's own.
    (root / ".bin").mkdir()
    wrapper = root / ".bin/assay"
    wrapper.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m flows "$@"\n')
    wrapper.chmod(0o755)
    environment = {
        **os.environ,
        "PREFECT_API_URL": api,
        "PYTHONPATH": str(root),
        "PATH": f"{root}/.bin:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "DVC_SITE_CACHE_DIR": str(root.parent / f"{root.name}-site"),
    }
    clone = Clone(root, environment)
    clone.git("init", "-q", "-b", "main")
    clone.git("config", "user.name", "A Tester")
    clone.git("config", "user.email", "tester@example.org")
    (root / ".git/info/exclude").write_text(".bin/\n")
    clone.assay("plan", "--isolation", "process", status=0)
    clone.git("add", "-A")
    clone.git("commit", "-qm", "A workspace with a toy case")
    return clone

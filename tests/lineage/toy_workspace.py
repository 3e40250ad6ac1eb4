"""A throwaway workspace with three toy stages, and a runner that starts them on the host."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from containers.job import Exit, Job, Reason
from lineage.dvc_yaml import compose
from lineage.row import Row

ENTER = """
import importlib, json, os, sys
job = json.load(open(sys.argv[1]))
module = importlib.import_module(job["module"])
json.dump({"uid": os.getuid()}, open("out/inside.json", "w"))
try:
    module.run(job["params"], {k: v and open(v).read() for k, v in job["inputs"].items()}, "out")
except Exception as error:
    said = {"kind": "stage", "message": f"{type(error).__name__}: {error}"}
    json.dump(said, open("out/error.json", "w"))
    sys.exit(1)
"""
FIRST = """
def run(params, inputs, into):
    open(into + "/report.json", "w").write(str(params["n"] * len(inputs["data"])))
    import os; os.mkdir(into + "/pictures"); open(into + "/pictures/a.txt", "w").write("picture")
"""
SECOND = """
import toys.first
def run(params, inputs, into):
    open(into + "/report.json", "w").write("second of " + inputs["first"])
"""
LOG = "starting\n"


@dataclass
class FakeRunner:
    """Copies what is mounted into a sandbox, runs the command there, copies `out` back."""

    key: str = "process:fake"
    during: Callable[[Job], None] = lambda job: None
    ran: list[str] = field(default_factory=list)
    image_id: str | None = None
    base_digest: str | None = None
    kind: str = "process"

    def environment_key(self, image: str) -> str:
        return self.key

    def run(self, job: Job, *, on_line, cancel: threading.Event) -> Exit:
        self.ran.append(job.labels["assay.stage"])
        started = time.monotonic()
        box = job.log.parent / f"box-{job.name}-{time.monotonic_ns()}"
        for mount in job.mounts:
            place = box / mount.target
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(mount.source)
        self.during(job)
        done = subprocess.run(
            [sys.executable, *job.command[1:]],
            cwd=box,
            env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        job.log.write_text(LOG + done.stdout + done.stderr)
        on_line("starting")
        reason = Reason.DONE if done.returncode == 0 else Reason.FAILED
        return Exit(
            reason=reason,
            code=done.returncode,
            detail="" if reason is Reason.DONE else f"Status {done.returncode}.",
            wall_s=time.monotonic() - started,
            gpu=False,
            image_id=self.image_id,
            base_digest=self.base_digest,
        )


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def dvc(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "dvc", *arguments],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def row(name: str, *, inputs: dict[str, str | None], outputs: dict[str, str], params=None) -> Row:
    """One toy stage of the case `toy`."""
    folder = f"cases/toy/artifacts/{name}"
    sources = {"toys/__init__.py", "toys/enter.py", f"toys/{name}.py"} | (
        {"toys/first.py"} if name == "second" else set()
    )
    return Row(
        case="toy",
        name=name,
        module=f"toys.{name}",
        entry="toys.enter",
        question=f"What does {name} say?",
        side=None,
        image="base",
        threads=1,
        memory_bytes=2**30,
        timeout_s=60,
        gpu=False,
        params=params or {},
        params_keys={"environments.yaml": ("base",)} | ({"params.yaml": (name,)} if params else {}),
        inputs=inputs,
        outputs={key: f"{folder}/{path}" for key, path in outputs.items()},
        folder=folder,
        sources=tuple(sorted(sources)),
        code_roots=(),
        command=f"{sys.executable} -c 'raise SystemExit(3)' {name}",
    )


def toy_rows(n: int = 2) -> tuple[Row, Row]:
    """Two stages, the second reading the first."""
    first = row(
        "first",
        inputs={"data": "cases/toy/data.txt", "absent": None},
        outputs={"report": "report.json", "pictures": "pictures"},
        params={"n": n},
    )
    second = row(
        "second", inputs={"first": f"{first.folder}/report.json"}, outputs={"report": "report.json"}
    )
    return first, second


def write_graph(root: Path, rows: Sequence[Row]) -> None:
    (root / "cases/toy/dvc.yaml").write_text(compose(rows))


def fill_workspace(root: Path) -> Path:
    """Make a git and DVC repository with the toy case, committed."""
    for name, text in {
        "toys/__init__.py": "",
        "toys/enter.py": ENTER,
        "toys/first.py": FIRST,
        "toys/second.py": SECOND,
        "cases/toy/data.txt": "12345",
        "cases/other/data.txt": "other",
        "params.yaml": "first:\n  n: 2\n",
        "environments.yaml": "base: process:fake\n",
        ".gitignore": (Path(__file__).parents[2] / ".gitignore").read_text(),
        ".dvcignore": "__pycache__\n*.pyc\n.assay\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.name", "A Person")
    git(root, "config", "user.email", "person@example.org")
    from dvc.repo import Repo

    Repo.init(str(root)).close()
    (root / ".dvcignore").write_text("__pycache__\n*.pyc\n.assay\n")
    with (root / ".dvc/config").open("a") as config:
        config.write("[core]\n    analytics = false\n    check_update = false\n")
    write_graph(root, toy_rows())
    git(root, "add", "-A")
    git(root, "commit", "-qm", "Begin")
    return root


def quiet(line: str) -> None:
    """Take a line and say nothing."""

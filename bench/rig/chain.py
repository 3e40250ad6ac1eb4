"""Five stages that do next to nothing, one after another: what is left is the engine's own."""

import contextlib
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from containers.keys import image_name
from lineage.dvc_yaml import compose
from lineage.row import Row

LENGTH = 5
IMAGE = "base"
NAMES = tuple(f"link-{number}" for number in range(1, LENGTH + 1))

ENTER = """
import json, os, sys
job = json.load(open(sys.argv[1]))
before = job["inputs"]["before"]
said = open(before).read() if before else str(job["params"]["round"])
os.makedirs(job["into"], exist_ok=True)
open(job["into"] + "/report.txt", "w").write(said + " " + job["name"])
"""

RULE = """
rule {rule}:
    input: {inputs}
    output: {output!r}
    shell: {command!r}
"""


@dataclass(frozen=True, slots=True)
class Chain:
    """A throwaway git and DVC workspace with the chain as its one case, `chain`."""

    root: Path
    plain: bool = False  # dvc.yaml's commands start a bare container, not `assay stage`

    def rows(self, number: int) -> tuple[Row, ...]:
        """Return the chain's rows; another round number makes every stage stale."""
        return tuple(self._row(name, number) for name in NAMES)

    def _row(self, name: str, number: int) -> Row:
        first = name == NAMES[0]
        folder = f"cases/chain/artifacts/{name}"
        return Row(
            case="chain",
            name=name,
            module="links.enter",
            entry="links.enter",
            question="How long does nothing take?",
            side=None,
            image=IMAGE,
            threads=1,
            memory_bytes=2**29,
            timeout_s=60,
            gpu=False,
            params={"round": number} if first else {},
            params_keys={"environments.yaml": (IMAGE,)}
            | ({"params.yaml": ("round",)} if first else {}),
            inputs={"before": None if first else f"{_before(name)}/report.txt"},
            outputs={"report": f"{folder}/report.txt"},
            folder=folder,
            sources=("links/__init__.py", "links/enter.py"),
            code_roots=(),
            command=f"cd ../.. && {bare_command(name)}" if self.plain else f"true {name}",
        )

    def begin_round(self, number: int) -> None:
        """Change the one param, from which all the rest follows."""
        (self.root / "params.yaml").write_text(f"round: {number}\n", encoding="utf-8")
        write_jobs(self.root, self.rows(number))


def make(root: Path, environment: str, *, plain: bool = False) -> Chain:
    """Make the workspace, committed.

    Args:
        root: a new folder.
        environment: the key of the image, as the runner says it.
        plain: see `Chain`.
    """
    from dvc.repo import Repo

    chain = Chain(root, plain)
    write_code(root)
    chain.begin_round(0)
    for name, text in {
        "cases/chain/dvc.yaml": compose(chain.rows(0)),
        "environments.yaml": f"{IMAGE}: {environment}\n",
        ".gitignore": ".assay/\n/jobs/\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    _git(root, "init", "-q", "-b", "main")
    _git(root, "config", "user.name", "A Benchmark")
    _git(root, "config", "user.email", "bench@example.org")
    with contextlib.redirect_stdout(io.StringIO()):  # a greeting
        Repo.init(str(root)).close()
    (root / ".dvcignore").write_text("__pycache__\n.assay\n", encoding="utf-8")
    with (root / ".dvc/config").open("a", encoding="utf-8") as config:
        config.write("[core]\n    analytics = false\n    check_update = false\n")
    _git(root, "add", "-A")
    _git(root, "commit", "-qm", "A chain of five")
    return chain


def write_code(root: Path) -> None:
    """Write what runs in each container."""
    (root / "links").mkdir(parents=True)
    (root / "links/__init__.py").write_text("", encoding="utf-8")
    (root / "links/enter.py").write_text(ENTER, encoding="utf-8")


def write_jobs(root: Path, rows: tuple[Row, ...]) -> None:
    """Write what a bare container is told: its paths are the workspace's, mounted whole."""
    (root / "jobs").mkdir(exist_ok=True)
    for row in rows:
        job = {
            "name": row.name,
            "params": dict(row.params),
            "inputs": dict(row.inputs),
            "into": row.folder,
        }
        (root / f"jobs/{row.name}.json").write_text(json.dumps(job), encoding="utf-8")


def write_snakefile(root: Path) -> None:
    """Write the same chain for Snakemake, whose rules run the same containers."""
    reports = {name: f"cases/chain/artifacts/{name}/report.txt" for name in NAMES}
    parts = [f"rule all:\n    input: {reports[NAMES[-1]]!r}\n"]
    for at, name in enumerate(NAMES):
        inputs = [f"jobs/{name}.json", *([reports[NAMES[at - 1]]] if at else [])]
        parts.append(
            RULE.format(
                rule=name.replace("-", "_"),
                inputs=", ".join(map(repr, inputs)),
                output=reports[name],
                command=bare_command(name),
            )
        )
    (root / "Snakefile").write_text("".join(parts), encoding="utf-8")


def bare_command(name: str) -> str:
    """Return a shell command that runs one link with Docker's own client, in no posture at all."""
    user = f"{os.getuid()}:{os.getgid()}"
    return (
        f'docker run --rm --network none --user {user} -v "$PWD":/work -w /work '
        f"{image_name(IMAGE)} python -B -m links.enter jobs/{name}.json"
    )


def run_bare(client: object, root: Path, name: str) -> None:
    """Run one link by the SDK: create, start, wait, remove; the same process, no posture."""
    made = client.create_container(
        image_name(IMAGE),
        ["python", "-B", "-m", "links.enter", f"jobs/{name}.json"],
        user=f"{os.getuid()}:{os.getgid()}",
        working_dir="/work",
        host_config=client.create_host_config(
            binds=[f"{root}:/work"],
            network_mode="none",  # as ours: a bridge would cost it 0.15 s
        ),
    )
    client.start(made)
    status = client.wait(made)["StatusCode"]
    client.remove_container(made)
    assert status == 0, f"{name} ended with {status}"


def _before(name: str) -> str:
    return f"cases/chain/artifacts/{NAMES[NAMES.index(name) - 1]}"


def _said(root: Path) -> str:
    """Return what the last link wrote, to see that all have run."""
    path = root / f"cases/chain/artifacts/{NAMES[-1]}/report.txt"
    return path.read_text(encoding="utf-8")


def check(root: Path, number: int) -> None:
    """Make sure that a contestant has really run the five of this round."""
    assert _said(root) == " ".join([str(number), *NAMES]), _said(root)


def _git(root: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(root), *words], check=True, stdout=sys.stderr)

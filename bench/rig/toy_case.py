"""A workspace with one case of four tiny stages, which do what a test tells them.

The stages bear names of the catalogue, so that all but their work is the real thing: the course,
the flow, the record, the tag. `bench.rig.toy_assay` is the command line over it.
"""

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from lineage.dvc_yaml import compose, param_key
from lineage.row import Row

CASE = "toy"
IMAGE = "base"
NAMES = ("split", "parity", "diagnose", "report")
"""parity reads split, diagnose reads both, report reads diagnose."""

REPORT = f"cases/{CASE}/artifacts/report/report.json"

ENTER = """
import importlib, json, os, sys
job = json.load(open(sys.argv[1]))
told = {key: open(path).read() for key, path in job["inputs"].items()}
json.dump({"uid": os.getuid()}, open("out/inside.json", "w"))
try:
    exec(job["params"]["code"], {"out": job["into"]})
    importlib.import_module(job["module"]).run(told, job["into"])
except Exception as error:
    said = {"kind": "stage", "message": f"{type(error).__name__}: {error}"}
    json.dump(said, open("out/error.json", "w"))
    sys.exit(1)
"""

PLAIN = """
def run(told, out):
    said = "{name} of " + " and ".join(told[key] for key in sorted(told))
    open(out + "/report.txt", "w").write(said)
    open(out + "/bulk.bin", "wb").write(said.encode() * 997)
"""

DIAGNOSE = """
import json
def run(told, out):
    said = " and ".join(told[key] for key in sorted(told))
    json.dump({"verdict": said, "findings": []}, open(out + "/report.json", "w"))
"""

PAGE = """
import json
def run(told, out):
    diagnosed = json.loads(told["diagnose"])
    gate = {"verdict": "open", "because": "", "look": None}
    answer = {"diagnose": diagnosed, "gate": gate, "partial": ""}
    json.dump(answer, open(out + "/report.json", "w"))
    open(out + "/report.html", "w").write("<p>" + diagnosed["verdict"] + "</p>")
"""


def make(root: Path, *, case: str = CASE, image: str = IMAGE) -> Path:
    """Make a git and DVC repository with the case, committed; a second case into one that is there.

    Args:
        root: its folder.
        case: the case's name.
        image: what the stages run in.
    """
    for name, text in {
        "toys/__init__.py": "",
        "toys/enter.py": ENTER,
        "toys/split.py": PLAIN.format(name="split"),
        "toys/parity.py": PLAIN.format(name="parity"),
        "toys/diagnose.py": DIAGNOSE,
        "toys/report.py": PAGE,
        f"cases/{case}/data.txt": f"raw data of {case}",
        f"cases/{case}/image.txt": image,
        f"cases/{case}/case.yaml": "",
        "pyproject.toml": "",
        ".gitignore": ".assay/\n/environments.yaml\n__pycache__\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    state(root, case=case)
    (root / f"cases/{case}/dvc.yaml").write_text(compose(rows(root, case)), encoding="utf-8")
    if not (root / ".git").exists():
        _begin(root)
    git(root, "add", "-A")
    git(root, "commit", "-qm", f"The case {case}")
    return root


def _begin(root: Path) -> None:
    from dvc.repo import Repo

    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.name", "A Tester")
    git(root, "config", "user.email", "tester@example.org")
    with contextlib.redirect_stdout(io.StringIO()):
        Repo.init(str(root)).close()
    (root / ".dvcignore").write_text("__pycache__\n*.pyc\n.assay\n", encoding="utf-8")
    with (root / ".dvc/config").open("a", encoding="utf-8") as config:
        config.write("[core]\n    analytics = false\n    check_update = false\n")


def state(root: Path, *, case: str = CASE, **code: str) -> None:
    """Say what stages do before their work: Python that may write to the folder `out`."""
    path = root / f"cases/{case}/params.yaml"
    known = _params(path) | code
    lines = (f"{name}: {{code: {_quoted(known.get(name, ''))}}}\n" for name in NAMES)
    path.write_text("".join(lines), encoding="utf-8")


def _quoted(text: str) -> str:
    import json

    return json.dumps(text)


def _params(path: Path) -> dict[str, str]:
    import yaml

    if not path.exists():
        return {}
    return {name: it["code"] for name, it in yaml.safe_load(path.read_text("utf-8")).items()}


def rows(root: Path, case: str = CASE, **changes: Mapping[str, object]) -> tuple[Row, ...]:
    """Return the case's rows; `changes` are fields of the row of that name."""
    code = _params(root / f"cases/{case}/params.yaml")
    image = (root / f"cases/{case}/image.txt").read_text(encoding="utf-8")
    data = {"data": f"cases/{case}/data.txt"}
    split, parity = ({name: _place(case, name, "report.txt")} for name in NAMES[:2])
    reads = {
        "split": data,
        "parity": split,
        "diagnose": split | parity,
        "report": {"diagnose": _place(case, "diagnose", "report.json")},
    }
    writes = {
        "split": ("report.txt", "bulk.bin"),
        "parity": ("report.txt", "bulk.bin"),
        "diagnose": ("report.json",),
        "report": ("report.json", "report.html"),
    }
    made = (
        replace(
            _row(case, image, name, code.get(name, "")),
            inputs=reads[name],
            outputs={file.replace(".", "_"): _place(case, name, file) for file in writes[name]},
        )
        for name in NAMES
    )
    return tuple(replace(row, **changes.get(row.name, {})) for row in made)  # type: ignore[arg-type]


def _place(case: str, name: str, file: str) -> str:
    return f"cases/{case}/artifacts/{name}/{file}"


def _row(case: str, image: str, name: str, code: str) -> Row:
    return Row(
        case=case,
        name=name,
        module=f"toys.{name}",
        entry="toys.enter",
        question=f"What does {name} say?",
        side=None,
        image=image,
        threads=1,
        memory_bytes=2**28,
        timeout_s=120,
        gpu=False,
        params={"code": code},
        params_keys={
            "environments.yaml": (param_key(image),),
            f"cases/{case}/params.yaml": (name,),
        },
        inputs={},
        outputs={},
        folder=f"cases/{case}/artifacts/{name}",
        sources=("toys/__init__.py", "toys/enter.py", f"toys/{name}.py"),
        code_roots=(),
        command=f"assay stage {case} {name}",
    )


def git(root: Path, *words: str) -> str:
    """Run git in the workspace and return what it printed."""
    done = subprocess.run(
        ["git", "-C", str(root), *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"git {words}: {done.stderr}"
    return done.stdout.strip()


def environment(root: Path, api: str | None) -> dict[str, str]:
    """Return the variables for `toy_assay`; without an address, the workspace's own server."""
    source = Path(__file__).resolve().parents[2]
    kept = {name: value for name, value in os.environ.items() if "PREFECT" not in name}
    return (
        kept
        | ({"PREFECT_API_URL": api} if api else {})
        | {
            "PYTHONPATH": str(source),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "DVC_SITE_CACHE_DIR": str(root.parent / f"{root.name}-site"),
            "DVC_NO_ANALYTICS": "1",
            # Read when Prefect is imported, which a mother of runs does once.
            "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",
            "PREFECT_INTERNAL_LOGGING_LEVEL": "CRITICAL",
        }
    )

"""What docs/engine_facts.md says of the engines, where no other test shows it; and its tests."""

import ast
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import yaml
from toy_run import advance, begin, engine_of, finish, whole_run
from toy_workspace import dvc, git, quiet, toy_rows

from lineage import runs
from lineage.execute import StageFailed

ROOT = Path(__file__).resolve().parents[2]
FACTS = ROOT / "docs/engine_facts.md"
LISTS = (FACTS, ROOT / "docs/how-to/faults.md")
GIVEN = ROOT.parent / "shared/engine_facts.md"
NAMED = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


def functions(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("page", LISTS, ids=lambda page: page.name)
def test_every_test_that_a_list_names_is_there(page: Path) -> None:
    named = NAMED.findall(page.read_text(encoding="utf-8"))
    assert len(named) > 20
    for file, name in named:
        assert (ROOT / file).is_file(), file
        assert not name or name in functions(ROOT / file), f"{file}::{name}"


def facts(page: Path) -> list[str]:
    """The bullets of a page, each on one line."""
    found: list[str] = []
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("- "):
            found.append(line[2:])
        elif line.startswith("  ") and found:
            found[-1] += f" {line.strip()}"
    return found


def test_every_fact_has_its_row() -> None:
    """A fact is told in a bullet; its row begins with the same words."""
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", FACTS.read_text("utf-8"), re.MULTILINE)
    begins = dict(rows[1:])
    assert len(begins) > 25
    for fact in facts(FACTS):
        assert [told for told in begins if fact.startswith(told)], fact
    for told, shown in begins.items():
        assert [fact for fact in facts(FACTS) if fact.startswith(told)], told
        assert "`tests/" in shown or "`bench/" in shown or "`.ci/" in shown, told


def test_no_given_fact_was_dropped() -> None:
    if not GIVEN.is_file():
        pytest.skip("the given list lies beside the repository, where this was begun")
    ours = [fact[:40] for fact in facts(FACTS)]
    assert [fact for fact in facts(GIVEN) if fact[:40] not in ours] == []


def test_dvc_itself_pairs_a_new_input_with_an_old_output(workspace: Path) -> None:
    """The fault that hashing inputs before and after is for: should it go, so may that."""
    (workspace / "in.txt").write_text("old")
    command = "cp in.txt out.txt && printf newer > in.txt"
    dvc(workspace, "stage", "add", "-q", "-n", "late", "-d", "in.txt", "-o", "out.txt", command)
    dvc(workspace, "repro", "-q", "late")
    lock = yaml.safe_load((workspace / "dvc.lock").read_text())["stages"]["late"]
    assert (workspace / "out.txt").read_text() == "old"
    assert lock["deps"][0]["size"] == len("newer")
    assert json.loads(dvc(workspace, "status", "--json", "late")) == {}


def test_what_git_holds_of_a_run_is_never_its_data(workspace: Path) -> None:
    """An output folder is replaced as a whole; nothing of it is ever up for `git add`."""
    first = whole_run(workspace)
    (workspace / "cases/toy/data.txt").write_text("another")
    git(workspace, "commit", "-qam", "Other data")
    second = whole_run(workspace)
    for run in (first, second):
        held = git(workspace, "ls-tree", "-r", "--name-only", f"run/{run}").splitlines()
        assert not [name for name in held if "/artifacts/" in name]
    run = begin(workspace)
    outcomes = advance(engine_of(run))
    assert "/artifacts/" not in git(run.tree, "status", "--porcelain", "--untracked-files=all")
    finish(run, outcomes)


def test_what_python_leaves_beside_a_cases_code_reruns_nothing(workspace: Path) -> None:
    """A folder is hashed with its __pycache__ unless .dvcignore says so, and ours does."""
    assert "__pycache__" in [
        line.rstrip("/") for line in (ROOT / ".dvcignore").read_text().splitlines()
    ]
    code = workspace / "cases/toy/code"
    code.mkdir(parents=True)
    (code / "step.py").write_text("x = 1\n")

    def hashed() -> str:
        dvc(workspace, "add", "--no-commit", "-q", "cases/toy/code")
        told = yaml.safe_load((workspace / "cases/toy/code.dvc").read_text())
        found: str = told["outs"][0]["md5"]
        return found

    before = hashed()
    (code / "__pycache__").mkdir()
    (code / "__pycache__/step.cpython-311.pyc").write_bytes(b"compiled")
    assert hashed() == before
    (workspace / ".dvcignore").write_text("")
    assert hashed() != before


def test_a_stage_killed_by_a_signal_is_no_success_whatever_its_number(workspace: Path) -> None:
    """Behind a pipe a kill looks like 0, and -9 is not more than 0: there is no pipe and no >."""
    killed = "sh -c 'kill -9 $$'"
    assert subprocess.run(f"{killed} | cat", shell=True, check=False).returncode == 0  # noqa: S602
    run = begin(workspace)
    body = "import os\ndef run(params, inputs, into):\n    os.kill(os.getpid(), 9)\n"
    (run.tree / "toys/first.py").write_text(body)
    with pytest.raises(StageFailed) as told:
        engine_of(run).advance(toy_rows()[0], on_line=quiet, cancel=threading.Event())
    assert told.value.exit.code == -9
    assert not (run.tree / toy_rows()[0].folder).exists()
    runs.close(run, None)


def test_a_served_flow_can_be_pickled_by_value(tmp_path: Path) -> None:
    """A lock or an Event in its module's globals would crash each served run."""
    program = (
        "import cloudpickle; from flows import served; "
        "cloudpickle.register_pickle_by_value(served); "
        "print(cloudpickle.loads(cloudpickle.dumps(served.examine)).name)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PREFECT_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "investigate\n", done.stderr


def test_the_graph_has_no_template_that_dvc_would_have_to_fill() -> None:
    for file in ROOT.glob("cases/*/dvc.yaml"):
        text = file.read_text(encoding="utf-8")
        assert "${" not in text, file
        assert not {"matrix", "foreach"} & set(yaml.safe_load(text)["stages"]), file

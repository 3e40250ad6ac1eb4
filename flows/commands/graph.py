"""`assay plan`, and what dvc.yaml calls: `assay stage` and `assay overview`."""

import json
import threading
from pathlib import Path

from containers.choose import choose
from containers.docker_runner import DockerRunner
from containers.job import Runner
from containers.process_runner import ProcessRunner
from flows import graph, workspace
from flows.case import case_names, load_case
from flows.cli_words import Answer
from flows.faults import Faults, plain, read_yaml
from flows.investigation import Say
from flows.plan import ENVIRONMENTS, named
from flows.plan import plan as plan_case
from lineage import atomic
from lineage.dvc_yaml import param_key
from lineage.execute import execute
from lineage.row import Row
from stages.reports.page import ANSWER


def plan(check: bool, isolation: str | None, say: Say) -> Answer:
    """Write the generated files, or say which are stale."""
    root = workspace.find(Path.cwd())
    files = graph.all_graphs(root)
    if check:
        old = graph.stale(root, files)
        text = "the graph is current" if not old else f"stale: {', '.join(old)}. Run: make plan"
        return {"stale": list(old)}, text, 2 if old else 0
    changed = graph.write(root, files)
    if isolation or not (root / ENVIRONMENTS).exists():
        runner, note = choose(isolation or "auto", say)  # type: ignore[arg-type]
        if note:
            say(note)
        rows = [row for name in case_names(root) for row in plan_case(load_case(root, name))]
        graph.write_environments(root, rows, runner)
    text = f"written: {', '.join(changed)}" if changed else "the graph is current"
    if isolation:
        text += f"; `dvc repro` runs stages in: {runner.kind}"
    return {"written": list(changed)}, text, 0


def stage(case: str, name: str, say: Say) -> Answer:
    """Run one stage in the workspace, through the runner that environments.yaml states."""
    root = workspace.find(Path.cwd())
    row = named(plan_case(load_case(root, case)), name)
    runner = _stated_runner(root, row)
    done = execute(
        row,
        root,
        runner,
        run_id="dvc",
        on_line=lambda line: say(f"{name} | {line}"),
        cancel=threading.Event(),
        logs=root / ".assay/logs/dvc",
    )
    return {"stage": name}, f"{name}: {done.exit.wall_s:.1f} s", 0


def _stated_runner(root: Path, row: Row) -> Runner:
    if not (root / ENVIRONMENTS).is_file():
        raise Faults(f"{ENVIRONMENTS} is not there. Make it: assay plan")
    stated = plain(read_yaml(root / ENVIRONMENTS, ENVIRONMENTS)).get(param_key(row.image), "")
    runner: Runner = DockerRunner() if stated.startswith("docker:") else ProcessRunner()
    if runner.environment_key(row.image) != stated:
        raise Faults(
            f"{ENVIRONMENTS} is stale for {row.image}. "
            f"Write it anew: assay plan --isolation {runner.kind}"
        )
    return runner


def overview(path: str | None) -> Answer:
    """Collect what the cases' reports say."""
    root = workspace.find(Path.cwd())
    cases = {}
    for name in case_names(root):
        file = root / "cases" / name / ANSWER.path
        if file.is_file():
            said = json.loads(file.read_text(encoding="utf-8"))
            cases[name] = {"gate": said["gate"]["verdict"], "verdict": said["diagnose"]["verdict"]}
    if path:
        atomic.write(Path(path), json.dumps(cases, indent=2) + "\n")
    text = "\n".join(
        f"{name:<24} {said['gate']:<10} {said['verdict']}" for name, said in cases.items()
    )
    return cases, text or "No case has a report here yet: assay run CASE, or dvc repro.", 0

"""The generated files: dvc.yaml and graph.json of cases, the root's dvc.yaml, environments.yaml."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from containers.job import Runner, RunnerError
from containers.keys import FAMILIES, is_family
from flows.case import LoadedCase, case_names, load_case
from flows.plan import ENVIRONMENTS, catalog, plan, upstream
from lineage import atomic
from lineage.dvc_yaml import HEADER, compose, param_key
from lineage.row import Row
from stages.reports.gate import METRICS
from stages.reports.page import ANSWER
from stages.sections.lineage import GRAPH
from stages.stage import At, Plot

OVERVIEW = "artifacts/overview.json"


def case_graph(loaded: LoadedCase, rows: Sequence[Row]) -> Mapping[str, str]:
    """Return {path: text} of what one case generates."""
    return {
        f"{loaded.folder}/dvc.yaml": compose(rows),
        f"{loaded.folder}/{GRAPH.path}": outline(rows),
    }


def outline(rows: Sequence[Row]) -> str:
    """Return what the page draws of the plan, as dvc.yaml itself cannot be read by a stage.

    Of each stage: the stages whose outputs it reads, and what was there before: {path: kind}.
    """
    above = upstream(tuple(rows))
    stages = {row.name: {"reads": above[row.name], "given": _given(row)} for row in rows}
    return json.dumps({"stages": stages}, indent=1) + "\n"


def _given(row: Row) -> dict[str, str]:
    case = f"cases/{row.case}/"
    read = [path for path in row.inputs.values() if path and path != f"{case}{GRAPH.path}"]
    kinds = dict.fromkeys(row.code_roots, "code")
    kinds |= {path: "data" for path in read if not path.startswith(f"{case}artifacts/")}
    kinds |= {path: "contract" for path in kinds if path.startswith("data_contracts/")}
    return {path.removeprefix(case): kind for path, kind in kinds.items()}


def root_graph(names: Sequence[str]) -> str:
    """Return the root's dvc.yaml: what the cases share, and one stage that pulls them all in."""
    cases = [f"cases/{name}" for name in names]
    plots = [_plot(place, place.plot, cases) for place in _plotted() if place.plot]
    overview = {
        "cmd": f"assay overview --write {OVERVIEW}",
        "deps": [f"{case}/{ANSWER.path}" for case in cases],
        "outs": [OVERVIEW],
    }
    content = {
        "stages": {"overview": overview},
        "metrics": [f"{case}/{METRICS.path}" for case in cases],
        "plots": plots,
    }
    return HEADER + _yaml(content)


def _plotted() -> list[At]:
    """Return the places that say how they are drawn, in the catalogue's order."""
    places = [field.place for stage in catalog() for field in stage.outputs]
    return [place for place in places if isinstance(place, At) and place.plot]


def _plot(place: At, plot: Plot, cases: Sequence[str]) -> dict[str, Any]:
    drawn = {
        "template": plot.template,
        "x": plot.x,
        "y": {f"{case}/{place.path}": plot.y for case in cases},
        "y_label": plot.y_label,
    }
    return {plot.name: drawn}


def _yaml(content: Any) -> str:
    import io

    from ruamel.yaml import YAML

    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    out = io.StringIO()
    yaml.dump(content, out)
    return out.getvalue()


def all_graphs(workspace: Path) -> Mapping[str, str]:
    """Return {path: text} of every generated file.

    Raises:
        Faults: a case or params.yaml cannot be used.
    """
    names = case_names(workspace)
    files = {"dvc.yaml": root_graph(names)}
    for name in names:
        loaded = load_case(workspace, name)
        files |= case_graph(loaded, plan(loaded))
    return files


def stale(workspace: Path, files: Mapping[str, str]) -> tuple[str, ...]:
    """Return the generated files that do not say what the declarations say."""
    return tuple(
        path
        for path, text in files.items()
        if not (workspace / path).is_file() or (workspace / path).read_text("utf-8") != text
    )


def write(workspace: Path, files: Mapping[str, str]) -> tuple[str, ...]:
    """Write what is stale and return it."""
    changed = stale(workspace, files)
    for path in changed:
        atomic.write(workspace / path, files[path])
    return changed


def environments(rows: Sequence[Row], runner: Runner) -> str:
    """Return environments.yaml: the environment key of each image, a param of each stage."""
    images = sorted({*FAMILIES, *(row.image for row in rows)})
    keys = {param_key(image): _environment_key(runner, image) for image in images}
    lines = [f"{image}: {json.dumps(key)}\n" for image, key in keys.items()]
    return "# Generated: where this host runs stages. Change: assay plan --isolation\n" + "".join(
        lines
    )


def _environment_key(runner: Runner, image: str) -> str:
    """Return an image's key; `none` where this host cannot run one that a case brings itself."""
    try:
        return runner.environment_key(image)
    except RunnerError:
        if is_family(image):
            raise
        return "none"


def write_environments(root: Path, rows: Sequence[Row], runner: Runner) -> None:
    """Write environments.yaml into a workspace or a worktree."""
    atomic.write(root / ENVIRONMENTS, environments(rows, runner))

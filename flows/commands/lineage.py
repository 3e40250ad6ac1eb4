"""`assay lineage`: where a thing is from, back to raw data, and all that was made from it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from flows import workspace
from flows.cli_words import Answer
from lineage import atomic, disk
from lineage.ancestry import Graph, Node, code_roots, graph_of
from lineage.dvc_repo import cache_of
from lineage.find_hash import Sought, seek
from lineage.out_place import file_place
from lineage.provenance import RunRecord
from lineage.run_index import Made, Place, RunIndex, opened
from lineage.run_tags import read_run

LISTED = 6  # runs, places or files in the text; --json has them all
HASH = 12
WIDTH = 96


@dataclass(frozen=True, slots=True)
class _Told:
    """All that is known of what was asked for."""

    sought: Sought
    focus: Place | None
    record: RunRecord | None
    graph: Graph | None  # of the whole run
    back: Graph | None
    start: str  # the node that was asked for; "": the whole run
    made_in: list[str]
    read_in: list[str]
    forward: list[Made]
    searched: dict[str, int]


def lineage(what: str, picture: str | None, say: Callable[[str], None]) -> Answer:
    """Trace a file, a hash, an artifact's path or a run; draw it where a file is named for that.

    Raises:
        LineageUnknown: it is nothing that any run made or read.
        PlaceRefused: no picture can be written there.
    """
    root = workspace.find(Path.cwd())
    target = None if picture is None else file_place(picture, "--picture")
    with opened(root, cache_of(root)) as index:
        told = _trace(root, index, seek(root, index, what, say))
    lines = list(_lines(told))
    if target is not None:
        drawn = _draw(told, target)
        lines += ["", drawn]
    return _as_json(told), "\n".join(lines), 0


def _trace(root: Path, index: RunIndex, sought: Sought) -> _Told:
    focus, run_id = _focus(index, sought)
    made_in = index.runs_that("made", focus) if focus else []
    read_in = index.runs_that("read", focus) if focus else []
    record = read_run(root, run_id) if run_id else None
    graph = graph_of(record, code_roots(root, record)) if record else None
    start = _start(graph, focus) if graph and focus else ""
    back = graph.back([start]) if graph and start else graph
    forward = index.made_from(focus) if focus else _others(index, sought, graph)
    return _Told(
        sought, focus, record, graph, back, start, made_in, read_in, forward, index.counts()
    )


def _focus(index: RunIndex, sought: Sought) -> tuple[Place | None, str | None]:
    """Choose one of several places: what a run made before what it read, the newest run first."""
    if not sought.places:
        return None, sought.run or next((one.runs[0] for one in sought.made), None)
    if sought.run:
        return sought.places[0], sought.run
    known = [
        (how == "made", runs[0], place)
        for place in sought.places
        for how in ("made", "read")
        if (runs := index.runs_that(how, place))
    ]
    _, run_id, place = max(known, default=(False, None, sought.places[0]))
    return place, run_id


def _start(graph: Graph, focus: Place) -> str:
    """Return the node of a place; that of the folder that holds it, where it was not declared."""
    for kind in ("output", "data", "contract", "code"):
        path = focus.path
        while path:
            if f"{kind}:{path}" in graph.nodes:
                return f"{kind}:{path}"
            path = path.rpartition("/")[0]
    return ""


def _others(index: RunIndex, sought: Sought, graph: Graph | None) -> list[Made]:
    """Return what else was made of a run's outputs; of an image or a log, the executions."""
    if sought.made or graph is None:
        return list(sought.made)
    places = [Place(it.name, it.hash) for it in graph.of("output") if it.hash]
    found = {(one.case, one.stage, one.ran_in): one for it in places for one in index.made_from(it)}
    return [one for one in found.values() if set(one.runs) - {graph.run}]


def _as_json(told: _Told) -> dict[str, Any]:
    record = told.record
    summary = record.model_dump(mode="json", exclude={"stages"}) if record else None
    return {
        "asked_as": told.sought.told,
        "focus": asdict(told.focus) if told.focus else None,
        "places": [asdict(one) for one in told.sought.places],
        "run": summary,
        "made_in": told.made_in,
        "read_in": told.read_in,
        "back": told.back.as_json() if told.back else None,
        "forward": [_made(one) for one in told.forward],
        "searched": told.searched,
    }


def _made(one: Made) -> dict[str, Any]:
    """Return it as plain values; `asdict` copies each of its runs, of which there may be many."""
    return {
        "case": one.case,
        "stage": one.stage,
        "ran_in": one.ran_in,
        "folder": one.folder,
        "runs": list(one.runs),
    }


def _lines(told: _Told) -> Iterator[str]:
    yield from _head(told)
    if told.back is not None and told.back.of("stage"):
        yield ""
        yield from _made_of(told.back)
        yield ""
        yield from _tree(told)
    elif told.back is not None and told.start:
        kind = told.back.nodes[told.start].kind
        yield f"made by  no stage: it is {kind} that was there before the run"
    yield ""
    yield from _made_from(told)


def _head(told: _Told) -> Iterator[str]:
    focus, record = told.focus, told.record
    if told.sought.made:
        num_runs = len({run for one in told.sought.made for run in one.runs})
        yield f"an image or a log, of {len(told.sought.made)} executions in runs: {num_runs}"
    if focus:
        yield f"{focus.path}  {focus.hash}"
        others = [one.path for one in told.sought.places if one != focus]
        if others:
            yield f"the same bytes also at {_listed(dict.fromkeys(others))}"
        for what, runs in (("made in", told.made_in), ("read in", told.read_in)):
            if runs:
                yield f"{what}  {_listed(runs)}"
    if record:
        verdict = f", gate {record.verdict}" if record.verdict else ""
        name = "told of run" if focus or told.sought.made else "run"
        yield f"{name}  {record.id}  {record.state}{verdict}"
        yield f"commit  {record.commit[:HASH]}{_dirty(record)}"


def _dirty(record: RunRecord) -> str:
    if not record.dirty:
        return ""
    return f", a snapshot of {record.parent[:HASH]} and {_listed(record.dirty)}"


def _made_of(back: Graph) -> Iterator[str]:
    """Tell what was there before the run: data, code, params, images."""
    yield "made of"
    for kind in ("data", "contract"):
        for it in back.of(kind):
            yield f"  {kind:<9} {it.name}  {_cut(it.hash)}"
    code = back.of("code")
    own = [it for it in code if it.name.startswith("cases/")]
    for it in own:
        yield f"  {'code':<9} {it.name}  {_cut(it.hash)}"
    rooms = _counted(it.name.partition("/")[0] for it in code if it not in own)
    if rooms:
        yield f"  {'code':<9} " + ", ".join(f"{num} of {room}/" for room, num in rooms.items())
    for it in back.of("params"):
        yield _fit(f"  {'params':<9} {it.name}: {_params(it)}")
    for it in back.of("image"):
        about = [f"{key} {value}" for key, value in it.about.items() if value and key != "image"]
        yield f"  {'image':<9} " + ", ".join([f"{it.about['image']}  {it.hash}", *about])


def _params(node: Node) -> str:
    return ", ".join(f"{key}={value}" for key, value in node.about["values"].items())


def _counted(names: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name in names:
        found[name] = found.get(name, 0) + 1
    return found


def _tree(told: _Told) -> Iterator[str]:
    """Print the stages as a tree, the last first; one that stands above is not told again."""
    if told.back is None:
        return
    reads = stage_reads(told.back)
    read = {one for earlier in reads.values() for one in earlier}
    ends = [name for name in reads if name not in read]
    yield "by stages"
    tree = _Tree(told.back, reads, set())
    for name in ends:
        yield from tree.branch(name, "  ", "  ")


@dataclass(frozen=True, slots=True)
class _Tree:
    """The stages as they are printed."""

    back: Graph
    reads: dict[str, list[str]]
    seen: set[str]

    def branch(self, name: str, lead: str, pad: str) -> Iterator[str]:
        self.seen.add(name)
        yield f"{lead}{name}  {_how(self.back.nodes[f'stage:{name}'])}"
        below = [one for one in self.reads[name] if one not in self.seen]
        above = [one for one in self.reads[name] if one in self.seen]
        for at, one in enumerate(below):
            last = at == len(below) - 1 and not above
            stem, more = ("└─ ", "   ") if last else ("├─ ", "│  ")
            if one in self.seen:  # it stands below a sister
                yield f"{pad}{stem}{one}, above"
            else:
                yield from self.branch(one, pad + stem, pad + more)
        if above:
            yield _fit(f"{pad}└─ {', '.join(above)}, above")


def _how(stage: Node) -> str:
    how = stage.about["how"]
    if how in ("unchanged", "restored"):
        return f"{how}, ran in {stage.about['ran_in']}"
    return f"{how} in {stage.about['wall_s']:.1f} s" if how == "ran" else str(how)


def stage_reads(graph: Graph) -> dict[str, list[str]]:
    """Return {stage: the stages whose outputs it reads}, without what follows from the rest."""
    from assay.layered import needed

    makers: dict[str, str] = {}
    for first, after in graph.edges:
        if first.startswith("stage:"):
            makers[after] = first.removeprefix("stage:")
    reads: dict[str, list[str]] = {it.name: [] for it in graph.of("stage")}
    for first, after in sorted(graph.edges):
        if after.startswith("stage:") and first in makers:
            reads[after.removeprefix("stage:")].append(makers[first])
    return needed(reads)


def _made_from(told: _Told) -> Iterator[str]:
    own = told.record.id if told.record else None
    if not told.forward:
        yield "nothing was made from it" if told.focus else "no other run holds what it made"
        return
    yield {
        "image or log": "executions of it",
        "run": "of other runs, what holds or was made of what it made",
    }.get(told.sought.told if not told.focus else "", "made from it, in all runs")
    grouped: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for one in told.forward:
        runs = tuple(run for run in one.runs if told.focus or run != own)
        grouped.setdefault((one.case, runs), []).append(one.stage)
    shown = list(grouped.items())
    for (case, runs), stages in shown[:LISTED]:
        yield _fit(f"  {case}: {', '.join(dict.fromkeys(stages))}")
        yield f"    in {_listed(runs)}"
    if len(shown) > LISTED:
        left = {run for (_, runs), _ in shown[LISTED:] for run in runs}
        yield f"  and more in {len(left)} runs (--json has them all)"


def _draw(told: _Told, path: Path) -> str:
    from flows.commands.lineage_picture import draw

    if told.graph is None or told.record is None:
        return "No run to draw."
    part = told.graph
    if told.start:
        around = {**told.graph.back([told.start]).nodes, **told.graph.forward([told.start]).nodes}
        edges = frozenset(edge for edge in told.graph.edges if around.keys() >= set(edge))
        part = Graph(told.graph.run, around, edges)
    with disk.writes("The picture's folder", path.parent):
        atomic.write(path, draw(part, told.record, told.start))
    return f"picture  {path}"


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - LISTED} more" if len(every) > LISTED else ""
    return ", ".join(every[:LISTED]) + more


def _cut(value: str | None) -> str:
    return value[:HASH] if value else "(was not there)"


def _fit(line: str) -> str:
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 3]}..."

"""`assay diff`: two runs side by side, the outcome first, then what may have caused it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from flows import workspace
from flows.cli_words import Answer
from lineage.artifacts import ArtifactMissing, read_artifact
from lineage.provenance import RunRecord
from lineage.run_diff import OF_IMAGES, Change, RunDiff, compare
from stages.reports.diagnose import DIAGNOSE
from stages.reports.gate import METRICS

WIDTH = 60  # of a value in the text; --json has it whole
HASH = 8
NOISE = 1e-12  # a sum in another order: no change of a figure
LISTED = 20  # files of code in the text


@dataclass(frozen=True, slots=True)
class _Found:
    """What two runs say of the model."""

    metrics: list[dict[str, Any]]
    appeared: list[str]
    vanished: list[str]
    kept: list[str]
    notes: list[str]


def diff(old: str, new: str) -> Answer:
    """Compare two runs from their tags and from two small reports of each."""
    root = workspace.find(Path.cwd())
    told = compare(root, old, new)
    found = _found(root, told.old, told.new)
    notes = [*_remarks(told), *found.notes]
    data = {
        "old": _summary(told.old),
        "new": _summary(told.new),
        "notes": notes,
        "metrics": found.metrics,
        "findings": {name: getattr(found, name) for name in ("appeared", "vanished", "kept")},
        **{
            name: [asdict(change) for change in getattr(told, name)]
            for name in ("params", "code", "data", "environment")
        },
        "outputs": dict(told.outputs),
    }
    return data, "\n".join(_lines(told, found, notes)), 0


def _summary(record: RunRecord) -> dict[str, Any]:
    return record.model_dump(mode="json", exclude={"stages", "schema_version", "flow_run_id"})


def _remarks(told: RunDiff) -> list[str]:
    notes = []
    if told.old.id == told.new.id:
        notes.append("Both are the same run.")
    if told.old.case != told.new.case:
        notes.append(
            f"They are runs of different cases, {told.old.case} and {told.new.case}: the figures "
            "are of different data and models."
        )
    notes += [
        f"{record.id} is {record.state}: what it did not finish has no figures."
        for record in (told.old, told.new)
        if record.state != "done"
    ]
    notes += [
        f"{record.id} is a partial answer. {record.partial}."
        for record in (told.old, told.new)
        if record.partial
    ]
    return notes


def _found(root: Path, old: RunRecord, new: RunRecord) -> _Found:
    notes: list[str] = []
    metrics = [_read(root, run, METRICS.path, notes) for run in (old, new)]
    reports = [_read(root, run, DIAGNOSE.path, notes) for run in (old, new)]
    before, after = (_findings(report) for report in reports)
    return _Found(
        metrics=list(_metrics(*metrics)),
        appeared=[title for key, title in after.items() if key not in before],
        vanished=[title for key, title in before.items() if key not in after],
        kept=[title for key, title in after.items() if key in before],
        notes=notes,
    )


def _read(root: Path, record: RunRecord, place: str, notes: list[str]) -> dict[str, Any]:
    try:
        found = json.loads(read_artifact(root, record.id, f"cases/{record.case}/{place}"))
    except ArtifactMissing as error:
        if record.state == "done":  # of the others it was said
            notes.append(str(error))
        return {}
    return found if isinstance(found, dict) else {}


def _findings(report: dict[str, Any]) -> dict[tuple[Any, ...], str]:
    """A finding is the same one in both runs if it blames the same thing, whatever its figures."""
    return {
        (one["component"], one["kind"], one["step"]): one["title"]
        for one in report.get("findings", ())
    }


def _metrics(old: dict[str, Any], new: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name in [*old, *(name for name in new if name not in old)]:
        before, after = old.get(name), new.get(name)
        change = None if before is None or after is None else after - before
        yield {"name": name, "old": before, "new": after, "change": change}


def _lines(told: RunDiff, found: _Found, notes: Sequence[str]) -> Iterator[str]:
    old, new = told.old, told.new
    yield f"old  {old.id}  {old.state}"
    yield f"new  {new.id}  {new.state}"
    yield from (f"note {note}" for note in notes)
    yield ""
    yield f"gate       {_pair(old.verdict or '-', new.verdict or '-')}"
    if old.sentence == new.sentence:
        yield f"verdict    the same: {old.sentence}"
    else:
        yield f"verdict    old: {old.sentence}"
        yield f"           new: {new.sentence}"
    yield from _section("metrics", [*_table(found.metrics)], _metrics_same(found.metrics))
    moved = [f"+ {title}" for title in found.appeared] + [f"- {title}" for title in found.vanished]
    kept = f"{len(found.kept)} in both, none appeared, none vanished"
    yield from _section("findings", moved, kept)
    yield ""
    yield from _section("params", [_line(change) for change in told.params], "the same")
    code = [f"{one.path}: {one.how} ({', '.join(one.stages)})" for one in told.code]
    if len(code) > LISTED:
        code = [*code[:LISTED], f"and {len(code) - LISTED} more: --json lists them"]
    yield from _section("code", code, "the same")
    yield from _section("data", [_line(change, HASH) for change in told.data], "the same")
    images = [one for one in told.environment if one.what.partition(" of ")[0] in OF_IMAGES]
    host = [one for one in told.environment if one not in images]
    yield from _section("images", [_line(change) for change in images], "the same")
    yield from _section("host", [_line(change) for change in host], "the same")
    yield from _section("outputs", [*_outputs(told)], "the same, every stage's")


def _section(name: str, lines: Sequence[str], otherwise: str) -> Iterator[str]:
    for at, line in enumerate(lines or [otherwise]):
        yield f"{'' if at else name:<11}{line}"


def _pair(old: str, new: str) -> str:
    return old if old == new else f"{old} -> {new}"


def _table(metrics: Sequence[dict[str, Any]]) -> Iterator[str]:
    moved = [one for one in metrics if _is_moved(one)]
    width = max((len(one["name"]) for one in moved), default=0)
    for one in moved:
        old, new = (_figure(one[key]) for key in ("old", "new"))
        change = "" if one["change"] is None else f"  {one['change']:+.4g}"
        yield f"{one['name']:<{width}}  {old:>8} -> {new:>8}{change}"
    if moved and len(moved) < len(metrics):
        left = len(metrics) - len(moved)
        yield "1 other is the same" if left == 1 else f"{left} others are the same"


def _is_moved(one: dict[str, Any]) -> bool:
    change = one["change"]
    return one["old"] != one["new"] and (change is None or abs(change) > NOISE)


def _metrics_same(metrics: Sequence[dict[str, Any]]) -> str:
    return f"the same, all {len(metrics)}" if metrics else "none to compare"


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _line(change: Change, cut: int = WIDTH) -> str:
    old, new = (_short(value, cut) for value in (change.old, change.new))
    return f"{change.what}: {old} -> {new}"


def _short(value: Any, cut: int) -> str:
    if value is None:
        return "(absent)"
    text = value if isinstance(value, str) else json.dumps(value)
    if len(text) <= cut:
        return text
    return text[:cut] if cut == HASH else f"{text[: cut - 3]}..."


def _outputs(told: RunDiff) -> Iterator[str]:
    grouped: dict[str, list[str]] = {}
    for stage, said in told.outputs.items():
        grouped.setdefault(said, []).append(stage)
    if set(grouped) == {"same"}:
        return
    for said in ("differs", "only in the old", "only in the new"):
        if said in grouped:
            yield f"{said}: {', '.join(grouped[said])}"
    if "same" in grouped:
        yield f"the same: {', '.join(grouped['same'])}"

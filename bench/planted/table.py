"""Writes the summary as JSON and as a page of Markdown."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.planted import peers_score, summary
from bench.planted.score import Record
from bench.rig.figures import Figure

PARTS = ("report", "calibrate", "blind")


def content(records: Sequence[Record], machine: dict[str, Any]) -> dict[str, Any]:
    """Return all that is told of a run."""
    whole = [r for r in records if "broken" not in r]
    return {
        "machine": machine,
        "figures": _figures(summary.lines([r for r in whole if r["part"] == "report"])),
        "counts": summary.counts(records),
        "parts": {
            part: summary.lines([r for r in whole if r["part"] == part])
            for part in PARTS
            if any(r["part"] == part for r in whole)
        },
        "reported_faults": summary.reported(whole),
        "kinds": summary.by(whole, lambda r: r["planted"][0]["kind"]),
        "datasets": summary.by(whole, lambda r: r["dataset"]),
        "modalities": summary.by(whole, lambda r: r["modality"]),
        "harmless": summary.null_lines(whole),
        "confusion": summary.confusion(whole),
        "stages_cpu_s": summary.stages(whole),
        "peers": peers_score.lines(whole),
        "misses": summary.misses(whole),
        "broken": [{"id": r["id"], "why": r["broken"][-300:]} for r in records if "broken" in r],
    }


def _figures(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the figures of the part to report in the form of all benchmarks."""
    rows = []
    for one in lines:
        target, _, bound = (one["target"] or "").partition(", upper bound ")
        low, high = one.get("low"), one.get("high")
        rows.append(
            Figure(figure=one["figure"], value=one["value"], unit="", target=target or None,
                   n=one["n"], low=low, high=high)
        )  # fmt: skip
        if bound:
            name = f"{one['figure']}, upper 95 % bound"
            rows.append(Figure(figure=name, value=one["high"], unit="", target=bound, n=one["n"]))
    return [asdict(row) for row in rows]


def write(found: dict[str, Any], folder: Path) -> None:
    """Write planted.json and planted.md."""
    text = json.dumps(found, indent=1, allow_nan=False) + "\n"
    (folder / "planted.json").write_text(text, encoding="utf-8")
    (folder / "planted.md").write_text(markdown(found), encoding="utf-8")


def markdown(found: dict[str, Any]) -> str:
    """Return the page."""
    parts = ["# Planted faults\n", _counts(found["counts"])]
    for part, lines in found["parts"].items():
        parts.append(f"\n## Part `{part}`\n\n{figures(lines)}")
    rows = [[p["peer"], p["claim"], _share(p), p["n"]] for p in found["peers"]]
    if rows:
        parts.append(f"\n## Peers\n\n{_table(['peer', 'claim', 'share (95 % CI)', 'n'], rows)}")
    rows = [[one["symptom"], one["planted"], one["said"], one["right"]]
            for one in found["reported_faults"]]  # fmt: skip
    head = ["symptom", "cause", "said", "named rightly"]
    parts.append(f"\n## Reported faults, rebuilt\n\n{_table(head, rows)}")
    for title, key in (("Kinds", "kinds"), ("Data sets", "datasets"), ("Modalities", "modalities")):
        head = [key, "n", "component", "kind", "kind in three", "first answers"]
        rows = [
            [one["name"], one["n"], one["component"], one["kind"], one["kind_in_three"],
             ", ".join(f"{name} {num}" for name, num in one["said"].items())]
            for one in found[key]
        ]  # fmt: skip
        parts.append(f"\n## {title}\n\n{_table(head, rows)}")
    rows = [[one["name"], one["n"], one["accused"]] for one in found["harmless"]]
    parts.append(f"\n## Harmless\n\n{_table(['difference', 'n', 'accused'], rows)}")
    rows = [[name, cpu] for name, cpu in list(found["stages_cpu_s"].items())[:12]]
    parts.append(f"\n## CPU seconds a case\n\n{_table(['stage', 'mean'], rows)}")
    return "\n".join(parts)


def figures(lines: Sequence[dict[str, Any]]) -> str:
    """Return figures beside their targets."""
    rows = [
        [one["figure"], _share(one), one["n"], one["target"] or "",
         {True: "met", False: "MISSED", None: ""}[one["met"]]]
        for one in lines
        if one["n"]
    ]  # fmt: skip
    return _table(["figure", "value (95 % CI)", "n", "target", ""], rows)


def _share(one: dict[str, Any]) -> str:
    if "hits" not in one:
        return f"{one['value']:g}"
    return f"{one['value']:.1%} ({one['low']:.1%} to {one['high']:.1%})"


def _counts(found: dict[str, dict[str, int]]) -> str:
    head = ["group", "made", "count", "examined", "broken"]
    rows = [
        [name, own["made"], own["counted"], own["examined"], own["broken"]]
        for name, own in found.items()
    ]
    return _table(head, rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines) + "\n"

"""Makes one case, measures what its fault costs, has it examined, and returns its record."""

import resource
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from bench.planted import draft as drafts
from bench.planted import peers_labels, specs
from bench.planted.base import made
from bench.planted.draft import Draft
from bench.planted.examine import examine
from bench.planted.kind import KINDS
from bench.planted.loss import measure
from bench.planted.specs import Spec

DECIDED = 0.0


def planted(
    spec: Spec, work: Path, kinds: tuple[str, ...] | None = None
) -> tuple[Draft, list[Any]]:
    """Return the draft of a case, and the step that each of its kinds changed."""
    base = specs.BASES[spec.base]  # at call time: further sources add their own
    draft = drafts.drafted(made(base, spec.seed, work))
    steps = []
    # What the data are stands before what is done with them.
    keys = kinds or spec.kinds
    for key in sorted(keys, key=lambda key: KINDS[key].component != "data"):
        rng = np.random.default_rng([spec.seed, spec.severity, *key.encode()])
        steps.append((key, KINDS[key].plant(draft, spec.severity, rng)))
    return draft, steps


def run(
    spec: Spec,
    root: Path,
    work: Path,
    *,
    keep: bool = False,
    peers: bool = False,
    dry: bool = False,
) -> dict[str, Any]:
    """Make, measure, examine unless it is dry; the case is removed unless it is to be kept."""
    draft, steps = planted(spec, work)
    name = drafts.write(draft, root, spec.id)
    folder = root / "cases" / name
    loss = measure(draft, folder)
    counted = loss[1] > DECIDED
    if spec.group == "double":
        counted = counted and all(_hurts_alone(spec, key, root, work) for key in spec.kinds)
    if spec.group == "null":
        counted = loss[1] <= 0 <= loss[2] and abs(loss[0]) <= 0.011
    record: dict[str, Any] = {
        "id": spec.id,
        "group": spec.group,
        "dataset": spec.base,
        "part": spec.part,
        "modality": draft.base.modality,
        "planted": [
            {"component": KINDS[key].component, "kind": key, "step": step} for key, step in steps
        ],
        "severity": spec.severity,
        "seed": spec.seed,
        "case": name,
        "loss": [round(number, 4) for number in loss],
        "counted": bool(counted),
    }
    if counted and not dry:
        examined = examine(root, name)
        record["answer"] = answer(examined.report, examined.first_step)
        record["cpu_s"] = {key: cost for key, cost in examined.cpu_s.items() if cost >= 0.001}
        if peers:
            from bench.planted.peers import ask

            record["peers"] = ask(draft, folder)
            if draft.base.classes is not None:
                peers_labels.keep(spec.id, folder, draft.real.labels, work)
    record["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    if not keep:
        shutil.rmtree(folder, ignore_errors=True)
        (root / "data_contracts" / f"{name}.yaml").unlink(missing_ok=True)
    return record


def _hurts_alone(spec: Spec, key: str, root: Path, work: Path) -> bool:
    alone, _ = planted(spec, work, (key,))
    name = drafts.write(alone, root, f"{spec.id} {key} alone")
    folder = root / "cases" / name
    try:
        return measure(alone, folder)[1] > DECIDED
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def answer(report: dict[str, Any], first_step: str | None) -> dict[str, Any]:
    """Return what an examination said: its ranking, its findings, and whether it accuses."""
    findings = report["findings"]
    accusing = [f for f in findings if not f["harmless"] and not f["undecided"]]
    ranked = report.get("ranked") or [
        *({"component": f["component"], "kind": f["kind"], "confidence": None} for f in accusing),
        {"component": "none", "kind": "none", "confidence": None},
    ]
    return {
        "ranked": [[r["component"], r["kind"], r["confidence"]] for r in ranked[:5]],
        "findings": [
            [
                f["component"],
                f["kind"],
                f["step"],
                "harmless" if f["harmless"] else "undecided" if f["undecided"] else f["strength"],
            ]
            for f in findings
        ],
        # What the confidences rest on; `assay.posterior.fit` takes these figures.
        "weighed": [[w["component"], w["kind"], w["figures"]] for w in report.get("weighed", [])],
        "first_step": first_step,
        "accused": ranked[0]["component"] != "none",
        "verdict": report["verdict"][:300],
    }

"""`assay mitigate`: what restores service, and a case with one of the offers put in."""

import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from flows import looks_ledger, workspace
from flows.applied_case import Applied
from flows.case import LoadedCase, load_case
from flows.cli_words import Answer
from flows.faults import Faults
from flows.investigation import Say
from lineage import runs
from lineage.artifacts import read_artifact
from lineage.provenance import RunRecord
from lineage.run_tags import list_looks
from stages.metric import Metric
from stages.reports.gate import GATE, GateReport
from stages.reports.mitigate import ABSTAIN, MITIGATE, OFFERS, MitigateAnswer, MitigateReport, Offer
from stages.stage import Estimate, NotApplicable


def mitigate(case: str, kind: str | None, run: str | None, isolation: str, say: Say) -> Answer:
    """List a run's offers; with a kind, put it into a new case and run that.

    Raises:
        Faults: the run is of another case, or the kind is not offered or not accepted.
    """
    root = workspace.find(Path.cwd())
    loaded = load_case(root, case)
    record = _record(root, case, run)
    content = read_artifact(root, record.id, f"{loaded.folder}/{MITIGATE.path}")
    found: MitigateAnswer = TypeAdapter(MitigateAnswer).validate_json(content)
    if kind is None:
        return _list(found, record)
    if isinstance(found, NotApplicable):
        raise Faults(f"Nothing can be applied to {case}: {found.not_applicable}")
    offer = _accepted(found, kind.replace("-", "_"))
    judged = sum(one.acts_on != "confidence" for one in found.offers)
    return _apply(loaded, record, offer, judged, isolation=isolation, say=say)


def _record(root: Path, case: str, run: str | None) -> RunRecord:
    if run is None:
        done = [one for one in runs.list_runs(root) if one.case == case and _looked(one)]
        if not done:
            raise Faults(f"{case} has no finished run that offers anything: assay run {case}")
        return done[0]
    record = runs.read_run(root, run)
    if record.case != case:
        raise Faults(f"--run: {record.id} is a run of {record.case}, not of {case}.")
    if not _looked(record):
        ended = "is partial" if record.partial else record.state
        raise Faults(f"--run: {record.id} {ended}: it offers nothing. Go on: assay run {case}")
    return record


def _looked(record: RunRecord) -> bool:
    """Tell whether a run looked for what helps; one that was cut short may have had no time."""
    return record.state == "done" and "mitigate" not in record.not_examined


def _accepted(found: MitigateReport, kind: str) -> Offer:
    """Return the offer, or refuse it in one sentence."""
    offer = found.offer(kind)
    if offer is None:
        why = next((one.why for one in found.not_offered if one.kind == kind), None)
        accepted = ", ".join(one.kind for one in found.accepted) or "none"
        if kind == ABSTAIN:
            why = "it is a way to serve, and no candidate: see the safe mode."
        if why is None:
            raise Faults(f"--apply: there is no mitigation {kind}. Accepted here: {accepted}.")
        raise Faults(f"--apply: {kind} is not offered: {why} Accepted here: {accepted}.")
    if not offer.accepted:
        raise Faults(f"--apply: {kind} is not accepted: {offer.why}")
    if offer.acts_on == "confidence":
        raise Faults(
            f"--apply: {kind} changes no answer, so that no gate would tell: load its file where "
            f"the confidence is used ({', '.join(file.name for file in offer.files)})."
        )
    return offer


def _list(found: MitigateAnswer, record: RunRecord) -> Answer:
    data: dict[str, Any] = {"run": record.id, "mitigate": found.model_dump(mode="json")}
    if isinstance(found, NotApplicable):
        return data, f"run      {record.id}\nNothing can be tried: {found.not_applicable}", 0
    metric = Metric(found.metric, found.unit)
    lines = [f"run      {record.id}"]
    for one in found.offers:
        mark = "accepted" if one.accepted else "no"
        lines.append(f"{mark:<9}{one.kind:<20} {one.title}")
        lines.append(f"{'':<9}{'':<20} {_figures(one, metric)}")
        lines += [] if one.accepted else [f"{'':<9}{'':<20} {one.why}"]
    if not found.offers:
        lines.append("Nothing that could be tried helps on the rows that it was fitted to.")
    for mode in found.safe_mode:
        answered = "-" if mode.answered is None else metric.level(mode.answered.value)
        person = f"{mode.human_per_1000.value:.0f} of 1000 for a person"
        lines.append(f"serve    {mode.says} Right: {answered}; {person}.")
    best = next((one for one in found.accepted if one.acts_on != "confidence"), None)
    if best:
        lines.append(f"next     assay mitigate {record.case} --apply {best.kind}")
    return data, "\n".join(lines), 0


def _figures(one: Offer, metric: Metric) -> str:
    brier = one.measure == "brier"

    def level(found: Estimate) -> str:
        return f"{found.value:.3f}" if brier else metric.level(found.value)

    scale = 100 if metric.is_share and not brier else 1
    gain = (
        f"{scale * one.gain.value:+.3g} ({scale * one.gain.low:.3g} to {scale * one.gain.high:.3g})"
    )
    what = "Brier score" if brier else metric.word
    return f"{what} {level(one.before)} -> {level(one.after)}, gain {gain}, p {one.p_holm:.2g}"


def _apply(
    loaded: LoadedCase, record: RunRecord, offer: Offer, judged: int, *, isolation: str, say: Say
) -> Answer:
    from flows.commands.run import run

    root = loaded.workspace
    place = f"{loaded.folder}/{OFFERS.path}/{offer.kind}"
    records = list_looks(root)
    rows = (record.look or {}).get("rows", "")
    applied = Applied(
        loaded=loaded,
        offer=offer,
        files=runs.open_artifact(root, record.id, place),
        look=looks_ledger.next_look(rows, records, judged),
        run=record.id,
    )
    applied.write()
    load_case(root, applied.name)  # all its faults, before anything runs
    say(f"written: cases/{applied.name} (look {applied.look} at the held-out rows)")
    data, text, status = run(applied.name, isolation, None, say)
    data = {**data, "case": applied.name, "before": record.id, "kind": offer.kind}
    if "report" not in data:
        return data, text, status
    before, after = (
        _gate(root, one, name)
        for one, name in ((record.id, loaded.name), (data["run"], applied.name))
    )
    data["gate_before"], data["gate_after"] = (
        one.model_dump(mode="json") for one in (before, after)
    )
    lines = [f"before   {before.verdict}: {before.because}".rstrip(": ")]
    lines += [f"after    {after.verdict}: {after.because}".rstrip(": ")]
    return data, "\n".join([text, "", *lines, *_compared(before, after)]), status


def _gate(root: Path, run: str, case: str) -> GateReport:
    content = json.loads(read_artifact(root, run, f"cases/{case}/{GATE.path}"))
    return GateReport.model_validate(content)


def _compared(before: GateReport, after: GateReport) -> list[str]:
    """Put each criterion before and after side by side."""
    words = {True: "passed", False: "failed", None: "cannot tell"}
    was = {one.name: one.passed for one in before.criteria}
    return [
        f"{'':<9}{one.name:<12} {words[was[one.name]] if one.name in was else '-':<12} -> "
        f"{words[one.passed]}"
        for one in after.criteria
    ]

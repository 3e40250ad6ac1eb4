"""The table of figures beside their targets, by part, by kind and by data set."""

import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from bench.planted import score
from bench.planted.score import Record, Share

Line = dict[str, Any]
RIGHT = {True: "yes", False: "no", None: "costs nothing here"}


def lines(records: Sequence[Record]) -> list[Line]:
    """Return the figures of some records, each with its interval and its target."""
    faults, nulls = score.of(records, "fault"), score.of(records, "null")
    doubles = score.of(records, "double")
    stepped = [r for r in faults if r["planted"][0]["step"]]
    unknown = [r for r in faults if score.is_unknown(r)]
    named = [r for r in faults if not score.is_unknown(r)]
    found = [
        _line("component right", score.share(faults, score.component_right), ">= 0.98"),
        _line("kind right, first", score.share(named, score.kind_right), ">= 0.90"),
        _line("kind right, in the first three",
              score.share(named, lambda r: score.kind_right(r, 3)), ">= 0.98"),
        _line("two faults, both in the first three",
              score.share(doubles, score.both_right), ">= 0.80"),
        _line("two faults, both components in the first three",
              score.share(doubles, score.both_components), None),
        _line("accused though nothing is wrong", score.share(nulls, score.accused), "<= 0.05",
              bound="<= 0.08"),
        _line("first step that differs", score.share(stepped, score.first_step_right), ">= 0.95"),
        _line("unknown, with the right component",
              score.share(unknown, score.kind_right), ">= 0.80"),
    ]  # fmt: skip
    error, sure = score.calibration([*faults, *nulls])
    found.append(_line("precision where it says 0.9 or more", sure, ">= 0.97"))
    if error is not None:
        found.append({"figure": "calibration error", "value": round(error, 4), "n": sure.n,
                      "target": "<= 0.05", "met": error <= 0.05})  # fmt: skip
    costs = [score.cost(r) for r in (*faults, *nulls, *doubles)]
    if costs:
        peak = max(r["peak_mb"] for r in records if "peak_mb" in r)
        middle = statistics.median(costs)
        found.append({"figure": "CPU seconds a case, median", "value": round(middle, 2),
                      "low": round(min(costs), 2), "high": round(max(costs), 2), "n": len(costs),
                      "target": "<= 600", "met": max(costs) <= 600})  # fmt: skip
        found.append({"figure": "memory of a case, at most, MB", "value": peak, "n": len(costs),
                      "target": None, "met": None})  # fmt: skip
    return found


def _line(name: str, found: Share, target: str | None, bound: str | None = None) -> Line:
    low, high = found.bounds
    met = None
    if target is not None and found.n:
        sign, _, number = target.partition(" ")
        met = found.value >= float(number) if sign == ">=" else found.value <= float(number)
        if bound is not None:
            met = met and high <= float(bound.split()[1])
    return {
        "figure": name,
        "value": round(found.value, 4),
        "low": round(low, 4),
        "high": round(high, 4),
        "n": found.n,
        "hits": found.hits,
        "met": met,
        "target": target if bound is None else f"{target}, upper bound {bound}",
    }


def by(records: Sequence[Record], key: Callable[[Record], str]) -> list[Line]:
    """Return counts and shares of faults for each value of a key."""
    found = []
    faults = score.of(records, "fault")
    for name in sorted({key(r) for r in faults}):
        own = [r for r in faults if key(r) == name]
        first = Counter(f"{c}/{k}" for c, k, _ in (score.ranked(r)[0] for r in own))
        found.append(
            {
                "name": name,
                "n": len(own),
                "component": round(score.share(own, score.component_right).value, 3),
                "kind": round(score.share(own, score.kind_right).value, 3),
                "kind_in_three": round(score.share(own, lambda r: score.kind_right(r, 3)).value, 3),
                "said": dict(first.most_common(4)),
            }
        )
    return found


def reported(records: Sequence[Record]) -> list[Line]:
    """Return for each rebuilt fault what was said of it; what costs nothing does not count."""
    found = []
    for r in sorted(records, key=lambda r: str(r["id"])):
        if r["group"] != "real":
            continue
        said = " ".join(map(str, score.ranked(r)[0][:2])) if "answer" in r else ""
        is_right = score.right(r) if r["counted"] and "answer" in r else None
        planted = r["planted"][0]
        found.append({"symptom": r["id"].removeprefix("real: "), "said": said,
                      "planted": f"{planted['component']} {planted['kind']}",
                      "right": RIGHT[is_right]})  # fmt: skip
    return found


def null_lines(records: Sequence[Record]) -> list[Line]:
    """Return for each harmless difference how often something was blamed, and what."""
    found = []
    nulls = score.of(records, "null")
    for name in sorted({r["planted"][0]["kind"] for r in nulls}):
        own = [r for r in nulls if r["planted"][0]["kind"] == name]
        said = Counter(f"{c}/{k}" for c, k, _ in (score.ranked(r)[0] for r in own))
        blamed = score.share(own, score.accused)
        found.append({"name": name, "n": len(own), "accused": blamed.hits, "said": dict(said)})
    return found


def confusion(records: Sequence[Record]) -> dict[str, dict[str, int]]:
    """Return {planted component: {answered component: how often}}."""
    found: dict[str, Counter[str]] = {}
    for r in [*score.of(records, "fault"), *score.of(records, "null")]:
        counts = found.setdefault(r["planted"][0]["component"], Counter())
        counts[score.ranked(r)[0][0]] += 1
    return {name: dict(counts) for name, counts in sorted(found.items())}


def misses(records: Sequence[Record]) -> list[Line]:
    """Return each case whose first answer is wrong."""
    return [
        {
            "id": r["id"],
            "part": r["part"],
            "loss": r["loss"][0],
            "planted": [[p["component"], p["kind"], p["step"]] for p in r["planted"]],
            "said": [f"{c}/{k} {'' if s is None else s}" for c, k, s in score.ranked(r)[:3]],
        }
        for group in ("fault", "null", "double", "real")
        for r in score.of(records, group)
        if not (score.both_right(r) if group == "double" else score.right(r))
    ]


def counts(records: Sequence[Record]) -> dict[str, dict[str, int]]:
    """Return how many cases of each group were made, count, were examined or broke."""
    found: dict[str, Counter[str]] = {}
    for r in records:
        own = found.setdefault(r["group"], Counter())
        own["made"] += 1
        own["broken"] += "broken" in r
        own["counted"] += bool(r.get("counted"))
        own["examined"] += "answer" in r
    return {name: dict(own) for name, own in sorted(found.items())}


def stages(records: Sequence[Record]) -> dict[str, float]:
    """Return the mean CPU seconds of each stage, the costliest first."""
    spent: Counter[str] = Counter()
    examined = [r for r in records if "cpu_s" in r]
    for r in examined:
        spent.update(r["cpu_s"])
    return {name: round(cpu / len(examined), 3) for name, cpu in spent.most_common()}

"""What the peers say of the same cases, scored by the same rules where they make a claim."""

from collections.abc import Sequence
from typing import Any

from bench.planted.score import Record, Share, is_component, is_kind, of


def lines(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return for each peer how often it fires, is right about the component, and the kind."""
    asked = [r for r in records if r.get("peers")]
    names = sorted({name for r in asked for name in r["peers"]})
    found = []
    for name in names:
        own = [r for r in asked if name in r["peers"]]
        faults, nulls = of(own, "fault"), of(own, "null")
        claims = {
            "fires on a fault": Share(sum(r["peers"][name]["fires"] for r in faults), len(faults)),
            "fires on nothing": Share(sum(r["peers"][name]["fires"] for r in nulls), len(nulls)),
            "component right": Share(sum(_part(r, name) for r in faults), len(faults)),
            "kind right": Share(sum(_kind(r, name) for r in faults), len(faults)),
        }
        for claim, share in claims.items():
            low, high = share.bounds
            found.append({"peer": name, "claim": claim, "value": round(share.value, 4),
                          "low": round(low, 4), "high": round(high, 4), "n": share.n,
                          "hits": share.hits})  # fmt: skip
    return found


def _part(record: Record, name: str) -> bool:
    said = record["peers"][name]
    return bool(said["component"]) and is_component(record["planted"][0], said["component"])


def _kind(record: Record, name: str) -> bool:
    said = record["peers"][name]
    if not said["component"] or not said["kind"]:
        return False
    return is_kind(record["planted"][0], said["component"], said["kind"])

"""`assay verify`: reads all that runs have made, and says what is damaged and how to mend it."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from flows import workspace
from flows.cli_words import Answer
from flows.investigation import Say
from lineage import runs
from lineage.cache_objects import set_aside
from lineage.dvc_repo import cache_of
from lineage.verify import Damaged, Verified, verify_run, verify_runs

SHOWN = 3


def verify(which: str | None, mend: bool, say: Say) -> Answer:
    """Read every object of one run or of all; `mend` takes what is damaged out of the cache."""
    root = workspace.find(Path.cwd())
    runs.reconcile(root, say)
    found = verify_runs(root) if which is None else verify_run(root, which)
    aside = _set_aside(root, found.damaged) if mend else {}
    data: dict[str, Any] = {
        "whole": found.is_whole,
        "runs": list(found.runs),
        "num_objects": found.num_objects,
        "size_bytes": found.size_bytes,
        "damaged": [{**asdict(one), "path": str(one.path)} for one in found.damaged],
        "unread": list(found.unread),
        "set_aside": aside,
    }
    return data, _text(found, aside), 0 if found.is_whole else 1


def _set_aside(root: Path, damaged: Sequence[Damaged]) -> dict[str, str]:
    cache = cache_of(root)
    altered = [one.name for one in damaged if one.what == "altered"]
    return {name: str(set_aside(root, cache, name)) for name in altered}


def _text(found: Verified, aside: dict[str, str]) -> str:
    read = f"{found.num_objects} objects ({found.size_bytes / 2**20:.1f} MiB)"
    of = f"of {len(found.runs)} run{'' if len(found.runs) == 1 else 's'}"
    if found.is_whole:
        return f"whole: {read} {of}, each read and hashed"
    told = [
        f"unread   The tag run/{run} holds no record of that run: something else made it. "
        f"What it is: git show run/{run}"
        for run in found.unread
    ]
    if found.damaged:
        told.append(f"damaged: {len(found.damaged)} of {read} {of}")
        told += [_told(one, aside.get(one.name)) for one in found.damaged]
        told.append(_mend(found.damaged, aside))
    else:
        told.append(f"The other runs are whole: {read}" if found.num_objects else "")
    return "\n\n".join(filter(None, told))


def _told(one: Damaged, aside: str | None) -> str:
    first = one.needed[0]
    more = f" and {len(one.needed) - 1} more" if len(one.needed) > 1 else ""
    needing = list(dict.fromkeys(need.run for need in one.needed))
    named = ", ".join(needing[:SHOWN]) + (", ..." if len(needing) > SHOWN else "")
    made = f"made by {first.stage}" if first.stage else "data that no stage makes"
    place = f"set aside: {aside}" if aside else str(one.path)
    num = f"{len(needing)} run{'' if len(needing) == 1 else 's'}"
    return (
        f"{one.what:<8} {first.path}{more}\n"
        f"         {place}\n"
        f"         {made}; needed by {num}: {named}"
    )


def _mend(damaged: Sequence[Damaged], aside: dict[str, str]) -> str:
    run = damaged[0].needed[0].run
    lines = [f"mend     assay pull {run}    where a remote has it"]
    left = any(one.what == "altered" and one.name not in aside for one in damaged)
    if left:
        lines.append(
            "         assay verify --mend    takes what is altered out of the cache, into "
            ".assay/damaged"
        )
    if any(one.needed[0].stage for one in damaged):
        then = "then " if left else ""
        lines.append(f"         {then}assay rerun {run}    makes anew what its stages made")
    data = dict.fromkeys(one.needed[0].path for one in damaged if not one.needed[0].stage)
    lines += [f"         put {path} back from where it came, then `dvc add` it" for path in data]
    return "\n".join(lines)

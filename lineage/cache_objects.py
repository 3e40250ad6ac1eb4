"""Objects of the cache, by what is in them: neither DVC's state nor a read-only mode is trusted.

DVC takes an object that is still mode 0444 for whole, and one whose size and time are as they were.
"""

import json
import os
import shlex
import shutil
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Literal

from lineage import hostile

Damage = Literal["altered", "missing"]

DAMAGED = ".assay/damaged"
"""Where a workspace keeps what was taken out of the cache because it was not what it was named."""


class CacheDamaged(Exception):  # noqa: N818 - reads as the fact that it is
    """Data that no stage can make anew is damaged in the cache; the message names it."""

    exit_status = 3

    def __init__(self, path: str, place: Path) -> None:
        super().__init__(
            f"The cache holds {path} damaged: {place} is not what its name says. Take it out with "
            f"`assay verify --mend`, then bring it with `assay pull` or `dvc pull {path}.dvc`, or "
            f"put the file back from where it came and `dvc add {path}`."
        )


def place(cache: Path, name: str) -> Path:
    """Return where an object stands; `name` is its MD5, with `.dir` where it lists a folder.

    Raises:
        HostileRun: it is no such name; as a path it may lead anywhere.
    """
    if not hostile.is_object(name):
        raise hostile.HostileRun(
            f"No object has the name {name!a}: somebody made it up. Which run names it: "
            f"git grep -lF {shlex.quote(name)} $(git tag --list 'run/*')"
        )
    return cache / "files/md5" / name[:2] / name[2:]


def look(cache: Path, name: str) -> Damage | None:
    """Read one object and say what is wrong with it; None where it is what its name says."""
    if not hostile.is_object(name):
        return "missing"
    try:
        with place(cache, name).open("rb") as file:
            found = file_digest(file, "md5").hexdigest()
    except FileNotFoundError:
        return "missing"
    except OSError:
        return "altered"  # a disk that cannot read it, or something that is no file
    whole = found == name.partition(".")[0] and (not name.endswith(".dir") or _lists(cache, name))
    return None if whole else "altered"


def _lists(cache: Path, name: str) -> bool:
    """Tell whether a folder's list holds objects of that folder: DVC would write to any path."""
    try:
        hostile.members(json.loads(place(cache, name).read_bytes()))
    except (OSError, ValueError, TypeError, KeyError):
        return False
    return True


def look_at(cache: Path, names: Collection[str]) -> Mapping[str, Damage]:
    """Read objects, several at once as hashing lets go of the interpreter; returns the damaged."""
    wanted = sorted(set(names))
    if len(wanted) < 2:  # noqa: PLR2004 - no threads for one
        found = [look(cache, name) for name in wanted]
    else:
        with ThreadPoolExecutor(min(8, os.cpu_count() or 2)) as pool:
            found = list(pool.map(lambda name: look(cache, name), wanted))
    return {name: what for name, what in zip(wanted, found, strict=True) if what is not None}


@dataclass(frozen=True, slots=True)
class LookedThrough:
    """What was read."""

    listed: Mapping[str, Mapping[str, str]]  # of each whole `.dir`: path -> MD5
    objects: frozenset[str]  # all that were read
    damaged: Mapping[str, Damage]


def look_through(cache: Path, names: Collection[str]) -> LookedThrough:
    """Read objects and all that their lists name; what a damaged list names is not asked for."""
    own = set(names)
    damaged = dict(look_at(cache, own))
    folders = [name for name in own if name.endswith(".dir") and name not in damaged]
    listed = {name: members(cache, name) for name in folders}
    inner = {name for files in listed.values() for name in files.values()} - own
    damaged |= look_at(cache, inner)
    return LookedThrough(listed, frozenset(own | inner), damaged)


def members(cache: Path, name: str) -> dict[str, str]:
    """Return {path: MD5} of a folder's list; nothing where it is missing or no list."""
    try:
        return hostile.members(json.loads(place(cache, name).read_bytes()))
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def set_aside(workspace: Path, cache: Path, name: str) -> Path:
    """Take a damaged object out of the cache, so that it can be made or brought anew.

    Returns:
        Where it is kept, for whoever wants to know what happened to it.
    """
    target = workspace / DAMAGED / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    shutil.move(place(cache, name), target)
    return target

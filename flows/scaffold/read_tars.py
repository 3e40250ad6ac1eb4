"""WebDataset shards: tar files whose members with one stem are one sample."""

import json
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flows.faults import Faults
from flows.scaffold.samples import (
    GROUP_NAMES,
    LABEL_NAMES,
    Columns,
    Item,
    Reading,
    free_columns,
    pick,
    safe_path,
    text_of,
)

SUFFIXES = (".tar", ".tar.gz", ".tgz")
DESCRIBING = {"cls", "json", "txt", "id", "index"}  # members that are no sample
MAX_MEMBER_BYTES = 1 << 30
MAX_RATIO = 200  # of a shard unpacked to its size; pictures do not shrink, text does tenfold
BLOCK_BYTES = 512  # a tar is made of whole blocks

Members = dict[str, bytes]
"""What one sample consists of, by suffix: {"jpg": ..., "cls": ...}."""


def is_tar(path: Path) -> bool:
    """Tell whether a file is named as a tar."""
    return path.is_file() and path.name.lower().endswith(SUFFIXES)


def read_tars(shards: list[Path], columns: Columns, where: str) -> Reading:
    """Read shards one after another; a key that an earlier shard has gets its shard before it."""
    items = _samples(shards, columns, where)
    kind = f"WebDataset, {len(shards)} shard{'s' if len(shards) > 1 else ''}"
    return Reading(kind=kind, items=items)


def _samples(shards: list[Path], columns: Columns, where: str) -> Iterator[Item]:
    known: set[str] = set()
    for shard in shards:
        seen: set[str] = set()
        for key, members in _grouped(shard, f"{where}: {shard.name}"):
            if key in seen:
                told = f"the members of {key} do not stand one after another"
                raise Faults(f"{where}: {shard.name}: {told}. Write the shard sorted by name.")
            seen.add(key)
            name = f"{shard.name.partition('.')[0]}/{key}" if key in known else key
            yield _item(name, members, columns, f"{where}: {shard.name}: {key}")
        known |= seen


def _grouped(shard: Path, where: str) -> Iterator[tuple[str, Members]]:
    key, members = "", Members()
    for name, content in _members(shard, where):
        folder, slash, base = name.rpartition("/")
        stem, _, suffix = base.partition(".")
        if members and folder + slash + stem != key:
            yield key, members
            members = {}
        key = folder + slash + stem
        members[suffix.lower()] = content
    if members:
        yield key, members


def _members(shard: Path, where: str) -> Iterator[tuple[str, bytes]]:
    """Yield the regular members, read as a stream; nothing is ever extracted.

    Raises:
        Faults: a member leads out of the archive, is a link or a device, or the shard is cut off.
    """
    if shard.suffix == ".tar" and shard.stat().st_size % BLOCK_BYTES:
        raise Faults(f"{where}: it is cut off: its size is no multiple of {BLOCK_BYTES}.")
    last, left = "its beginning", max(MAX_MEMBER_BYTES, MAX_RATIO * shard.stat().st_size)
    try:
        with tarfile.open(shard, "r|*") as archive:
            for member in archive:
                name = safe_path(member.name.removeprefix("./"), where)
                if member.isdir() or Path(name).name.startswith((".", "__")):
                    continue
                if not member.isreg() or member.size > MAX_MEMBER_BYTES:
                    told = "larger than 1 GiB" if member.isreg() else "a link or a device"
                    raise Faults(f"{where}: the member {name} is {told}; refused.")
                left -= member.size
                if left < 0:
                    told = f"it unpacks to more than {MAX_RATIO} times its size"
                    raise Faults(f"{where}: {told} at {name}; refused. Unpack it by hand.")
                file = archive.extractfile(member)
                content = file.read() if file else b""
                last = name
                yield name, content
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise Faults(f"{where}: it cannot be read beyond {last}: {error}.") from None


def _item(key: str, members: Members, columns: Columns, where: str) -> Item:
    suffix = _sample_of(members, columns, where)
    told = _told(members.get("json"), where)
    label = pick(columns.label, LABEL_NAMES, list(told))
    group = pick(columns.group, GROUP_NAMES, list(told))
    said = text_of(members["cls"]) if "cls" in members else text_of(told.get(label or ""))
    free = {name: value for name, value in told.items() if name not in (label, group)}
    free |= {name: members[name] for name in ("txt", "id", "index") if name in members}
    return Item(
        id=key,
        sample=members[suffix],
        file=f"files/{key}.{suffix}",
        label=said,
        group=text_of(told.get(group or "")),
        free=free_columns(free),
    )


def _sample_of(members: Members, columns: Columns, where: str) -> str:
    found = [suffix for suffix in members if suffix not in DESCRIBING]
    if columns.sample is not None:
        found = [suffix for suffix in found if suffix == columns.sample.lower().lstrip(".")]
    if len(found) != 1:
        told = ", ".join(members)
        hint = "Choose it: --sample-column SUFFIX." if found else "Its picture or array is missing."
        raise Faults(f"{where}: expected one sample and what describes it, got {told}. {hint}")
    return found[0]


def _told(text: bytes | None, where: str) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        told = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Faults(f"{where}.json: not JSON: {error}.") from None
    return told if isinstance(told, dict) else {"label": told}

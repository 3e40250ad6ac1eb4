"""What stands where an export is to be written: only an export of this tool is replaced."""

import json
import lzma
import zipfile
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lineage.exports import NotExportable, digest_of
from lineage.in_toto import BUILD_TYPE, PREDICATE
from lineage.ro_crate import METADATA

ORCHESTRATION = "#orchestration-"
_UNREADABLE = (
    OSError,
    EOFError,
    KeyError,
    ValueError,
    RuntimeError,  # encrypted, packed in an unknown way, nested without end
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)


def refuse_foreign(target: Path, form: str) -> None:
    """Refuse a place that holds anything but an earlier export of the same form.

    Raises:
        NotExportable: what stands there would be lost.
    """
    if target.is_symlink():
        raise NotExportable(f"{target} is a link. Name the place itself: --out PATH")
    if not target.exists():
        return
    try:
        content, held = read(target)
    except NotExportable:
        content, held = None, {}
    kind = "crate" if form == "ro-crate" else "statement"
    if run_of(form, content) is None or (form == "in-toto" and not _is_statement(content)):
        raise NotExportable(
            f"{target} exists and is no {kind} of assay: it stays as it is. "
            "Name another place: --out PATH"
        )
    own = _named(content) if form == "ro-crate" else set()
    more = sorted(held.keys() - own)
    if more:
        raise NotExportable(
            f"{target} exists and holds what is none of its crate: {more[0]}. It stays as it is. "
            "Name another place: --out PATH"
        )


def read(path: Path) -> tuple[Any, dict[str, str]]:
    """Return the document of an export, and digests of the files beside it.

    Raises:
        NotExportable: it cannot be read.
    """
    held: dict[str, str] = {}
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):  # reading might never end
            raise NotExportable(f"{path} cannot be read as an export: it is no file and no folder.")
        if path.is_dir():
            files = [one for one in path.rglob("*") if one.is_file()]
            held = {str(one.relative_to(path)): digest_of(one.read_bytes()) for one in files}
            if METADATA not in held:
                raise NotExportable(f"{path} cannot be read as an export: it has no {METADATA}.")
            text = (path / METADATA).read_text(encoding="utf-8")
        elif zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as packed:
                names = [name for name in packed.namelist() if not name.endswith("/")]
                held = {name: digest_of(packed.read(name)) for name in names}
                text = packed.read(METADATA).decode()
        else:
            text = path.read_text(encoding="utf-8")
        content = json.loads(text)
    except _UNREADABLE as error:
        raise NotExportable(f"{path} cannot be read as an export: {error}") from None
    held.pop(METADATA, None)
    return content, held


def run_of(form: str, content: Any) -> str | None:
    """Return the run that an export says it is of; None where it is none of ours."""
    try:
        if form == "in-toto":
            found = content["predicate"]["runDetails"]["metadata"]["invocationId"]
        else:
            named = (one.get("@id", "") for one in content["@graph"])
            found = next(
                name.removeprefix(ORCHESTRATION) for name in named if name.startswith(ORCHESTRATION)
            )
    except (KeyError, TypeError, AttributeError, StopIteration):
        return None
    return found if isinstance(found, str) else None


def _is_statement(content: Any) -> bool:
    built = content["predicate"].get("buildDefinition")
    ours = isinstance(built, dict) and built.get("buildType") == BUILD_TYPE
    return ours and content.get("predicateType") == PREDICATE


def _named(content: Any) -> set[str]:
    """Return the files that a crate names as its own."""
    root: dict[str, Any] = next((one for one in content["@graph"] if _id(one) == "./"), {})
    parts = root.get("hasPart")
    parts = parts if isinstance(parts, list) else []
    return {unquote(str(_id(one))) for one in parts}


def _id(entity: Any) -> Any:
    return entity.get("@id") if isinstance(entity, dict) else None

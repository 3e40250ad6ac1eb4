"""`assay export`: a run as others' tools read it, and whether such a file still tells the truth."""

import json
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from flows import workspace
from flows.cli_words import Answer
from lineage import atomic
from lineage.exports import Export, NotExportable, differences, digest_of, gather
from lineage.in_toto import PREDICATE, statement
from lineage.ro_crate import CRATE, METADATA, digests, metadata, write_files

EXPORTS = ".assay/exports"
SHOWN = 20


def export(run: str, form: str, out: str | None) -> Answer:
    """Write a run as an RO-Crate or as an in-toto statement."""
    root = workspace.find(Path.cwd())
    told = gather(root, run)
    suffix = {"ro-crate": "ro-crate", "in-toto": "intoto.json"}[form]
    target = Path(out) if out else root / EXPORTS / f"{told.record.id}.{suffix}"
    if form == "in-toto":
        atomic.write(target, _text(statement(told)))
    else:
        _write_crate(told, target)
    lost = [made.path for made in told.files if made.sha256 is None]
    private = [made.path for made in told.files if made.private]
    data: dict[str, Any] = {"run": told.record.id, "format": form, "path": str(target)}
    data |= {"lost": lost, "private": private, "num_files": len(told.files)}
    lines = [str(target)]
    lines += [
        f"the cache has lost {path}, or holds it damaged: told by its MD5 alone"
        for path in lost[:SHOWN]
    ]
    if private:
        lines.append(f"{len(private)} files never leave this machine: told by their digests alone")
    return data, "\n".join(lines), 0


def _text(content: Any) -> str:
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def _write_crate(told: Export, target: Path) -> None:
    if target.exists() and not (target / METADATA).is_file() and target.suffix != ".zip":
        raise NotExportable(f"{target} exists and is no crate. Name another place: --out PATH")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".crate-") as folder:
        made = Path(folder) / "crate"
        made.mkdir()
        write_files(told, made)
        (made / METADATA).write_text(_text(metadata(told)), encoding="utf-8")
        if target.suffix == ".zip":
            shutil.make_archive(str(Path(folder) / "packed"), "zip", made)
            (Path(folder) / "packed.zip").replace(target)
        else:
            shutil.rmtree(target, ignore_errors=True)
            made.replace(target)


def check(file: str) -> Answer:
    """Compare an exported file with what this repository says of the run: nothing is believed.

    Raises:
        NotExportable: it is no export of a run.
    """
    root = workspace.find(Path.cwd())
    path = Path(file)
    kind, content, held = _read(path)
    run_id = _run_of(kind, content)
    if run_id is None:
        raise NotExportable(f"{path} is a {kind} that names no run of assay.")
    told = gather(root, run_id)
    expected = statement(told) if kind == "in-toto" else metadata(told)
    wrong = differences(json.loads(json.dumps(expected)), content)
    if kind == "ro-crate":
        wrong += differences(digests(told), held, "files")
    data = {"run": told.record.id, "format": kind, "path": str(path), "wrong": wrong}
    if not wrong:
        return data, f"{path} tells of run {told.record.id} what this repository holds.", 0
    lines = [f"{path} does not tell of run {told.record.id} what this repository holds:"]
    lines += [f"  {line}" for line in wrong[:SHOWN]]
    if len(wrong) > SHOWN:
        lines.append(f"  and {len(wrong) - SHOWN} more: --json lists them")
    return data, "\n".join(lines), 1


def _read(path: Path) -> tuple[str, Any, dict[str, str]]:
    """Return what kind of export it is, its document, and digests of the files beside that."""
    held: dict[str, str] = {}
    try:
        if path.is_dir():
            files = [one for one in path.rglob("*") if one.is_file()]
            held = {str(one.relative_to(path)): digest_of(one.read_bytes()) for one in files}
            text = (path / METADATA).read_text(encoding="utf-8")
        elif zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as packed:
                names = [name for name in packed.namelist() if not name.endswith("/")]
                held = {name: digest_of(packed.read(name)) for name in names}
                text = packed.read(METADATA).decode()
        else:
            text = path.read_text(encoding="utf-8")
        content = json.loads(text)
    except (OSError, KeyError, ValueError) as error:
        raise NotExportable(f"{path} cannot be read as an export: {error}") from None
    held.pop(METADATA, None)
    if isinstance(content, dict) and content.get("predicateType") == PREDICATE:
        return "in-toto", content, held
    if isinstance(content, dict) and "@graph" in content:
        return "ro-crate", content, held
    raise NotExportable(f"{path} is neither an RO-Crate ({CRATE}) nor a statement ({PREDICATE}).")


def _run_of(kind: str, content: Any) -> str | None:
    try:
        if kind == "in-toto":
            found = content["predicate"]["runDetails"]["metadata"]["invocationId"]
        else:
            named = (one.get("@id", "") for one in content["@graph"])
            found = next(
                name.removeprefix("#orchestration-")
                for name in named
                if name.startswith("#orchestration-")
            )
    except (KeyError, TypeError, AttributeError, StopIteration):
        return None
    return found if isinstance(found, str) else None

"""`assay export`: a run as others' tools read it, and whether such a file still tells the truth."""

import json
import shutil
from pathlib import Path
from typing import Any

from containers.scratch import scratch, sweep
from flows import workspace
from flows.cli_words import Answer
from lineage import atomic, disk
from lineage.export_place import read, refuse_foreign, run_of
from lineage.exports import Export, NotExportable, differences, gather
from lineage.in_toto import PREDICATE, statement
from lineage.out_place import place
from lineage.ro_crate import CRATE, METADATA, digests, metadata, write_files

EXPORTS = ".assay/exports"
SCRATCH = ".crate-"  # what begins so beside an export is one that is being written
SHOWN = 20


def export(run: str, form: str, out: str | None) -> Answer:
    """Write a run as an RO-Crate or as an in-toto statement.

    Raises:
        NotExportable: there is nothing to export, or what stands at the place is no export.
        PlaceRefused: nothing can be written at the place.
        DiskRefuses: its disk takes nothing more.
    """
    root = workspace.find(Path.cwd())
    named = None if out is None else place(out, "--out")
    told = gather(root, run)
    suffix = {"ro-crate": "ro-crate", "in-toto": "intoto.json"}[form]
    target = named or root / EXPORTS / f"{told.record.id}.{suffix}"
    refuse_foreign(target, form)
    with disk.writes("The export's folder", target.parent):
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
    target.parent.mkdir(parents=True, exist_ok=True)
    sweep(target.parent, SCRATCH)
    with scratch(target.parent, SCRATCH) as folder:
        made, old = folder / "crate", folder / "old"
        made.mkdir()
        write_files(told, made)
        (made / METADATA).write_text(_text(metadata(told)), encoding="utf-8")
        if target.suffix == ".zip":
            shutil.make_archive(str(folder / "packed"), "zip", made)
            made = folder / "packed.zip"
        try:
            if target.is_dir():
                target.replace(old)
            made.replace(target)
        except BaseException:
            if old.exists() and not target.exists():
                old.replace(target)
            raise


def check(file: str) -> Answer:
    """Compare an exported file with what this repository says of the run: nothing is believed.

    Raises:
        NotExportable: it is no export of a run.
    """
    root = workspace.find(Path.cwd())
    path = Path(file)
    content, held = read(path)
    kind = _kind_of(path, content)
    run_id = run_of(kind, content)
    if run_id is None:
        raise NotExportable(f"{path} is a {kind} that names no run of assay.")
    told = gather(root, run_id)
    expected = statement(told) if kind == "in-toto" else metadata(told)
    try:
        wrong = differences(json.loads(json.dumps(expected)), content)
    except RecursionError:  # in the words for a value that is not as expected
        raise NotExportable(f"{path} cannot be read as an export: it nests too deep.") from None
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


def _kind_of(path: Path, content: Any) -> str:
    if isinstance(content, dict) and content.get("predicateType") == PREDICATE:
        return "in-toto"
    if isinstance(content, dict) and "@graph" in content:
        return "ro-crate"
    raise NotExportable(f"{path} is neither an RO-Crate ({CRATE}) nor a statement ({PREDICATE}).")

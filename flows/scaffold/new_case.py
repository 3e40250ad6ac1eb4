"""Makes a case, whole or not at all: in a folder beside, which is renamed at the end."""

import os
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath

import psutil

from flows.case import load_case
from flows.faults import Faults
from flows.plan import plan
from flows.scaffold import dvc_data
from flows.scaffold.asked import Asked, check
from flows.scaffold.case_code import copy_code, copy_weights, fill_in
from flows.scaffold.case_text import Described, case_yaml, readme
from flows.scaffold.class_names import Classes
from flows.scaffold.contract_draft import differences, draft
from flows.scaffold.intake import ORDER, Source, TakenIn, take_in_sets
from flows.scaffold.samples import Columns
from flows.scaffold.set_facts import SetFacts, set_facts
from flows.scaffold.sources import is_dataset
from lineage import atomic
from stages.dataset import UNREADABLE
from stages.dataset_folder import is_file, stays_inside

Say = Callable[[str], None]

BESIDE = "cases/.new"
"""Where a case is made, on the same disk as its place."""


def make(asked: Asked, workspace: Path, say: Say) -> Described:
    """Scaffold a case; a dry run makes it, checks it, and removes it again.

    Raises:
        Faults: something that was given cannot be used; nothing is left behind.
    """
    check(asked, workspace)
    _remove_abandoned(workspace, asked.name)
    try:
        return _make(asked, workspace, say)
    except OSError as error:  # a full disk, a file that may not be read
        told = f"{error.filename or 'this disk'}: {error.strerror or error}"
        raise Faults(f"{told}. Nothing was left behind; mend it and call again.") from None


def _make(asked: Asked, workspace: Path, say: Say) -> Described:
    with _folder_beside(workspace, asked.name) as folder:
        copy_code(asked, folder / "code")
        copy_weights(asked, folder / "weights")
        said = _fill(asked, folder, workspace, say)
        contract = draft(
            said.facts,
            asked.contract_name,
            len(said.classes.names) if said.classes else None,
            said.sets["sim"].features or (),
        )
        if not asked.dry_run:
            said.in_dvc += _held_by_dvc(asked, folder, list(said.sets), workspace)
        (folder / "README.md").write_text(readme(said), encoding="utf-8")
        (folder / "case.yaml").write_text(case_yaml(said), encoding="utf-8")
        _publish(asked, folder, workspace, contract)
    return said


def _fill(asked: Asked, folder: Path, workspace: Path, say: Say) -> Described:
    sources = _sources(asked, folder / "data", workspace, say)
    columns = Columns(
        label=asked.label_column,
        id=asked.id_column,
        group=asked.group_column,
        sample=asked.sample_column,
    )
    sets, classes = take_in_sets(
        sources, folder / "data", columns, task=asked.task, classes=asked.classes, say=say
    )
    _use_imports(sources, classes, folder / "data", sets, workspace)
    facts = {
        name: _looked_at(folder / "data" / name, name, sets[name], asked.private, say)
        for name in sets
    }
    if not sets["sim"].labelled:
        told = "; ".join(sets["sim"].notes)
        raise Faults(f"--sim: no row has a label. Name the column with --label-column. ({told})")
    if not asked.weights and not sets["train"].labelled:
        raise Faults("--train: no row has a label, and there is no model: give --weights.")
    code = fill_in(asked, folder / "code", facts["sim"], asked.slug)
    return Described(
        asked=asked,
        sources=sources,
        sets=sets,
        facts=facts,
        classes=classes,
        code=code,
        recorded_steps=_copy_recording(asked, folder, [name for name, _ in code.steps]),
        differences=differences(
            facts["sim"],
            facts["real"],
            len(classes.names) if classes else None,
            sets["sim"].features or (),
        ),
    )


def _sources(asked: Asked, data: Path, workspace: Path, say: Say) -> dict[str, Source]:
    found = {}
    for name in ORDER:
        text = getattr(asked, name)
        if text is None:
            continue
        source = dvc_data.parse(text, f"--{name}")
        if source is not None:
            say(f"importing {name}: {text}")
            local = Path(source.url).expanduser()
            if local.exists():  # DVC is called in the workspace, not where the user stands
                source = replace(source, url=str(local.resolve()))
            path, part = data / f"source-{name}{_suffix(source.path)}", ""
            dvc_data.import_data(source, path, workspace, f"--{name}")
        else:
            place, hash_, part = text.rpartition("#")
            path = Path(place if hash_ and not Path(text).exists() else text).expanduser()
            part = part if hash_ and not Path(text).exists() else ""
        found[name] = Source(path=path, part=part, told=text)
    return found


def _suffix(path: str) -> str:
    return ".tar.gz" if path.endswith(".tar.gz") else PurePosixPath(path).suffix


def _use_imports(
    sources: dict[str, Source],
    classes: Classes | None,
    data: Path,
    sets: dict[str, TakenIn],
    workspace: Path,
) -> None:
    """Let an imported dataset folder be the set itself, so that `dvc update` renews it.

    What had to be converted stays beside, as `source-SET`, with its origin.
    """
    for name, source in sources.items():
        if source.path.parent != data:
            continue
        place = source.path.name
        if is_dataset(source.path) and not (classes and classes.renamed):
            shutil.rmtree(data / name)
            dvc_data.move(source.path, data / name, workspace)
            place = name
        told = f"imported by DVC: data/{place}.dvc names its repository and revision"
        sets[name].notes.append(told)


def _looked_at(folder: Path, name: str, taken: TakenIn, private: bool, say: Say) -> SetFacts:
    """Describe a set; what cannot be read is named, and leaves train, which no contract guards."""
    say(f"describing {name}")
    facts = set_facts(folder, name)
    if not facts.unreadable:
        return facts
    told = f"{len(facts.unreadable)} samples cannot be read"
    if not private:  # names of files may be those of persons
        told += f": {facts.unreadable_text()}"
    if name != "train":
        taken.notes.append(f"{told}; they stay, and the contract leaves them out")
        return facts
    taken.notes.append(f"{told}; they were left out")
    gone = {row for row, _ in facts.unreadable}
    _drop_rows(folder / "manifest.csv", gone)
    taken.rows -= len(gone)
    return set_facts(folder, name)


def _drop_rows(manifest: Path, gone: set[str]) -> None:
    from stages.dataset import read_table

    table = read_table(manifest)
    kept = table[~table["id"].isin(gone)]
    if kept.empty:
        raise Faults("--train: no sample can be read.")
    kept.to_csv(manifest, index=False, lineterminator="\n")


def _copy_recording(asked: Asked, folder: Path, steps: list[str]) -> list[str]:
    """Copy a recording; return the reference's steps where all were logged, else none.

    The last one's output is `input`, so that it needs no array of its own.
    """
    if asked.recorded is None:
        return []
    source = Path(asked.recorded)
    known = ("tensors.npz", "predictions.parquet", "predictions.csv", "predictions.npz")
    there = [name for name in known if is_file(source / name)]
    if not there:
        raise Faults(f"--recorded: {source} holds none of {', '.join(known)}.")
    linked = [name for name in there if not stays_inside(source, name)]
    if linked:
        raise Faults(f"--recorded: {linked[0]} is a link out of {source}; put the file there.")
    (folder / "recorded").mkdir()
    for name in there:
        shutil.copyfile(source / name, folder / "recorded" / name)
    if "tensors.npz" not in there:
        return []
    try:
        with zipfile.ZipFile(source / "tensors.npz") as tensors:
            names = tensors.namelist()
            is_whole = all(f"step_{name}.npy" in names for name in steps[:-1])
            return steps if is_whole else []
    except UNREADABLE:
        told = f"{source / 'tensors.npz'} is no .npz, or is cut off"
        raise Faults(f"--recorded: {told}. Write it with numpy.savez.") from None


def _held_by_dvc(asked: Asked, folder: Path, sets: list[str], workspace: Path) -> list[str]:
    samples = [*(f"data/{name}" for name in sets), "recorded"]
    held = [
        part
        for part in (*samples, "weights")
        if _is_ours(folder / part)
        and dvc_data.keep_out_of_git(
            folder / part, workspace, private=asked.private and part in samples
        )
    ]
    if asked.private:
        dvc_data.keep_private(folder)
    return held


def _is_ours(path: Path) -> bool:
    return path.is_dir() and not path.with_name(f"{path.name}.dvc").exists()


@contextmanager
def _folder_beside(workspace: Path, name: str) -> Iterator[Path]:
    # One level deeper than cases, so that a case.yaml in it is nobody's yet.
    folder = workspace / BESIDE / f"{name}-{os.getpid()}"
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _remove_if_empty(folder.parent)


def _remove_abandoned(workspace: Path, name: str) -> None:
    """Remove what a killed process left of a case with this name."""
    for folder in workspace.glob(f"{BESIDE}/{name}-*"):
        pid = folder.name.rpartition("-")[2]
        if pid.isdecimal() and not psutil.pid_exists(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):  # another `assay new` is at work in it
        folder.rmdir()


def _publish(asked: Asked, folder: Path, workspace: Path, contract: str) -> None:
    """Put the case in its place; it leaves again if `assay check` would not take it."""
    case = workspace / "cases" / asked.name
    terms = workspace / f"data_contracts/{asked.contract_name}.yaml"
    if case.exists() or terms.exists():
        raise Faults(f"{case if case.exists() else terms} has appeared meanwhile; not overwritten.")
    folder.rename(case)
    try:
        atomic.write(terms, contract)
        plan(load_case(workspace, asked.name))
        if asked.dry_run:
            _withdraw(case, terms)
    except Faults as error:
        _withdraw(case, terms)
        raise Faults(*error.faults, "Nothing was left behind.") from None
    except BaseException:
        _withdraw(case, terms)
        raise


def _withdraw(case: Path, terms: Path) -> None:
    shutil.rmtree(case, ignore_errors=True)
    terms.unlink(missing_ok=True)

"""`assay contract draft`: the bounds of a data contract, drawn from the data."""

import tempfile
from pathlib import Path
from typing import Any

from flows import workspace
from flows.case import case_names, relative
from flows.cli_words import Answer
from flows.faults import Faults, plain, read_yaml
from flows.investigation import Say
from flows.scaffold.contract_draft import differences, draft
from flows.scaffold.set_facts import SetFacts, set_facts
from lineage import atomic
from stages.stage import InputFault

SETS = ("sim", "real", "train")


def draft_contract(case: str, write: bool, force: bool, say: Say) -> Answer:
    """Draft the contract of a case, print it or write it.

    Raises:
        Faults: the case has no data here, or its contract would be overwritten.
    """
    root = workspace.find(Path.cwd())
    stated = _stated(root, case)
    name = str(stated.get("data", {}).get("contract") or case.replace("-", "_"))
    path = root / f"data_contracts/{name}.yaml"
    if write and path.exists() and not force:
        raise Faults(
            f"data_contracts/{name}.yaml is there already. Overwrite it: "
            f"assay contract draft {case} --write --force"
        )
    facts = {}
    for key, folder in _folders(root, case, stated).items():
        say(f"describing {key}")
        facts[key] = _facts(folder, key)
    num_classes = _num_classes(stated, facts)
    text = draft(facts, name, num_classes)
    differs = differences(facts["sim"], facts["real"], num_classes)
    data = {"contract": name, "text": text, "differences": differs, "written": write}
    if not write:
        return data, text.rstrip("\n"), 0
    atomic.write(path, text)
    lines = [f"written: data_contracts/{name}.yaml", *differs, f"next: assay check {case}"]
    return data, "\n".join(lines), 0


def _stated(root: Path, case: str) -> dict[str, Any]:
    """Read case.yaml without checking it: the contract that it names may not be there yet."""
    if case not in case_names(root):
        raise Faults(f"Which case? One of: {', '.join(case_names(root))}. Got: `{case}`.")
    file = f"cases/{case}/case.yaml"
    stated: dict[str, Any] = plain(read_yaml(root / file, file), file)
    if not isinstance(stated.get("data"), dict):
        raise Faults(f"{file}: data: missing; see `assay check {case}`.")
    return stated


def _num_classes(stated: dict[str, Any], facts: dict[str, SetFacts]) -> int | None:
    if stated.get("task") == "regression":
        return None
    said = stated.get("classes")
    return said if isinstance(said, int) else len(facts["sim"].labels)


def _folders(root: Path, case: str, stated: dict[str, Any]) -> dict[str, Path]:
    """Return the sets: the case's folders, or what its `make` made in this workspace."""
    data, folders = stated["data"], {}
    for key in SETS:
        place = data.get(key) if not data.get("make") else f"artifacts/data/{key}"
        if place:
            folders[key] = root / relative(f"cases/{case}", str(place))
    for key in ("sim", "real"):
        if key not in folders:
            raise Faults(f"cases/{case}/case.yaml: data.{key}: missing.")
        if not folders[key].is_dir():
            mend = f"dvc repro cases/{case}/dvc.yaml:data" if data.get("make") else "dvc pull"
            where = folders[key].relative_to(root)
            raise Faults(f"{where} is not there. Bring it: {mend}")
    return {key: folder for key, folder in folders.items() if folder.is_dir()}


def _facts(folder: Path, name: str) -> SetFacts:
    from stages.dataset_folder import take_in

    with tempfile.TemporaryDirectory(prefix="assay-") as spare:  # a copy: theirs is not changed
        try:
            take_in(folder, Path(spare), f"data.{name}", name)
        except InputFault as fault:
            raise Faults(*str(fault).splitlines()) from None
        return set_facts(Path(spare), name)

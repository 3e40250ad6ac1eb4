"""Runs a side's own model over the tensors of both sides, in batches; reads its named layers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from sides import extract, invariance, layers, privacy, shared_layers
from sides.case_code import CaseCodeError, calling
from sides.model import Stated, opened, said
from sides.predict_recorded import named_rows, predict_recorded
from sides.rows import paired, read_roles
from sides.rules import Rule, rule_of
from sides.tensors import RowReader, RowWriter

if TYPE_CHECKING:
    from pathlib import Path

    from sides.model import Model
    from sides.rows import Row

REAL_ROLES = ("diagnose", "fit", "unlabelled")  # what proves a repair is not looked at
NO_TENSORS = "recorded: no tensors of the %s were logged, so that no other model can be asked."


class _Predictor(NamedTuple):
    """The model with what turns its raw output into labels."""

    model: Model
    rule: Rule
    batch: int


def run(params: Dict[str, Any], inputs: Dict[str, Optional[Path]], into: Path, side: str) -> None:
    """Write report.json, outputs/ and layers/ as `stages.reports.predict` says."""
    (into / "outputs").mkdir()
    (into / "layers").mkdir()
    real = read_roles(_there(inputs, "roles"), "real")
    report: Dict[str, Any] = {"schema_version": 1, "side": side}
    if params["recorded"]:
        report.update(predict_recorded(_there(inputs, "recorded"), real, into, side, params))
        why = "A recording holds what the model answered, not what its layers did."
        layers.save_list(into / "layers", [], {}, why)
        shared_layers.save(into / "layers", [], [], {}, why)
        _save_invariance(into, {"why_not": "recorded: its model cannot be asked again."})
    else:
        report.update(_ask(params, inputs, into, side, real))
    text = json.dumps(report, indent=2, allow_nan=False) + "\n"
    (into / "report.json").write_text(text, encoding="utf-8")


def _there(inputs: Dict[str, Optional[Path]], name: str) -> Path:
    path = inputs[name]
    assert path is not None, name  # noqa: S101  the stage declares it
    return path


def _ask(
    params: Dict[str, Any],
    inputs: Dict[str, Optional[Path]],
    into: Path,
    side: str,
    real: List[Row],
) -> Dict[str, Any]:
    weights = inputs["weights"] or inputs["model"]
    if weights is None:
        raise CaseCodeError(f"{side}.weights: there are none.")
    stated: Stated = params["model"]
    with opened(stated, f"{side}.model", weights, params["device"]) as model:
        rule = rule_of(params["postprocess"], params["task"], side, model.what)
        predictor = _Predictor(model, rule, params["batch"])
        found = _predict_all(predictor, _sets(inputs, side), into / "outputs", side, len(real))
        odd = found.pop("odd")
        sim = {"sim": odd.pop("sim", [])}
        named = named_rows(odd, real)
        if sim["sim"]:
            named.update(named_rows(sim, read_roles(_there(inputs, "roles"), "sim")))
        _read_layers(params, inputs, into / "layers", side, model)
        _read_shared(params, inputs, into / "layers", model, real)
        _save_invariance(into, _ask_again(predictor, inputs, real))
    return {"model": said(stated), **found, "nonfinite_rows": named}


def _sets(inputs: Dict[str, Optional[Path]], side: str) -> Dict[str, Path]:
    sets = {"sim": inputs["sim"], f"real-{side}": inputs["real"]}
    if side in ("reference", "candidate"):
        sets["real-reference"] = inputs["real_reference"]
        sets["real-candidate"] = inputs["real_candidate"]
    swap = inputs["swap"]
    if side == "reference" and swap is not None:
        keys = json.loads((swap / "keys.json").read_text(encoding="utf-8"))
        sets.update({f"swap-{key}": swap / f"{key}.npy" for key in keys})
    return {name: path for name, path in sets.items() if path is not None}


def _predict_all(
    predictor: _Predictor, sets: Dict[str, Path], folder: Path, side: str, num_real: int
) -> Dict[str, Any]:
    counts: Dict[str, int] = {}
    odd: Dict[str, List[int]] = {}
    errors: Dict[str, str] = {}
    absent: Dict[str, str] = {}
    for name, path in sets.items():
        tensors = RowReader(path)
        if name == "real-candidate" and num_real and not len(tensors):
            absent[name] = NO_TENSORS % "candidate"
            continue
        try:
            counts[name], odd[name] = _predict(predictor, tensors, folder, name)
        except CaseCodeError as error:
            if name in ("sim", f"real-{side}"):  # its own tensors: nothing is left to examine
                raise CaseCodeError(f"On its own tensors ({name}): {error}") from error
            errors[name] = str(error)
    return {
        "sets": counts,
        "errors": errors,
        "absent": absent,
        "num_nonfinite_rows": {name: len(rows) for name, rows in odd.items()},
        "odd": odd,
        "no_outputs": {},
    }


def _predict(
    predictor: _Predictor, tensors: RowReader, folder: Path, name: str
) -> Tuple[int, List[int]]:
    """Write one set's raw outputs and labels; return the rows, and those that are not finite."""
    odd: List[int] = []
    outputs = RowWriter(folder / f"{name}.npy", len(tensors))
    labels = RowWriter(folder / f"{name}.labels.npy", len(tensors), predictor.rule.dtype)
    with outputs, labels:
        try:
            for start in range(0, len(tensors), predictor.batch):
                raw = predictor.model.ask(tensors.read(start, start + predictor.batch))
                with calling(predictor.model.what):
                    outputs.write(raw)
                labels.write(predictor.rule.label(raw))
                odd += (start + np.flatnonzero(~np.isfinite(raw).all(axis=1))).tolist()
        except CaseCodeError:
            outputs.drop()
            labels.drop()
            raise
    return len(tensors), odd


def _read_layers(
    params: Dict[str, Any],
    inputs: Dict[str, Optional[Path]],
    folder: Path,
    side: str,
    model: Model,
) -> None:
    """Write what the named layers answer to a seeded choice of the side's own rows."""
    names = params["layers"]
    if not names:
        why = f"The case lists no {side}.layers, so no layer was read."
        layers.save_list(folder, [], {}, why)
        return
    roles = _there(inputs, "roles")
    files = {}
    for name in ("sim", "real"):
        rows = _chosen(read_roles(roles, name), name, params["layer_rows"], params["layer_seed"])
        files[name] = (_there(inputs, name), rows)
    origin = {"where": f"{side}.model", "weights": inputs["weights"] or inputs["model"]}
    try:
        _record(params, files, folder, model, origin)
    except layers.NoLayers as error:
        layers.save_list(folder, [], {}, str(error))
    except CaseCodeError as error:
        if side == "reference":
            raise
        # `like: reference` brings the names along, and another model need not have them.
        why = str(error) if not privacy.is_private() else str(error).splitlines()[0]
        for written in folder.iterdir():
            written.unlink()
        layers.save_list(folder, [], {}, why)


def _record(
    params: Dict[str, Any],
    files: Dict[str, Tuple[Path, List[int]]],
    folder: Path,
    model: Model,
    origin: Dict[str, Any],
) -> None:
    """Read the layers here, or on all GPUs where there are several, whose model is of `origin`."""
    names, batch = params["layers"], params["batch"]
    ranks = extract.num_devices(params["device"], model.inner)
    if ranks == 1:
        readers = {name: (RowReader(path), rows) for name, (path, rows) in files.items()}
        layers.record(folder, model.reading, names, readers, batch=batch, what=model.what)
        return
    stated = {**origin, "stated": params["model"], "device": params["device"]}
    extract.launch(folder, stated, names, files, batch=batch, ranks=ranks)


def _chosen(rows: List[Row], name: str, most: int, seed: int) -> List[int]:
    wanted = [i for i, row in enumerate(rows) if name == "sim" or row.role in REAL_ROLES]
    if len(wanted) > most:
        picked = np.random.default_rng(seed).choice(np.array(wanted), most, replace=False)
        wanted = [int(i) for i in np.sort(picked)]
    return wanted


def _read_shared(
    params: Dict[str, Any],
    inputs: Dict[str, Optional[Path]],
    folder: Path,
    model: Model,
    real: List[Row],
) -> None:
    given = inputs["real_reference"]
    if given is None:
        shared_layers.save(folder, [], [], {}, "There are no tensors of the reference.")
        return
    rows = shared_layers.chosen(real)
    shared_layers.record(folder, model, RowReader(given), rows, params["batch"])


def _ask_again(
    predictor: _Predictor, inputs: Dict[str, Optional[Path]], real: List[Row]
) -> Dict[str, Any]:
    tensors = RowReader(_there(inputs, "real"))
    rows = paired(real, invariance.MOST_ROWS) if len(tensors) else []
    ask, label = predictor.model.ask, predictor.rule.label
    found = invariance.ask_again(ask, label, tensors.take(rows), predictor.batch)
    return {**found, "training": predictor.model.training()}


def _save_invariance(into: Path, found: Dict[str, Any]) -> None:
    empty: Dict[str, Any] = {"rows": 0, "spread": None, "arrangements": [], "training": []}
    text = json.dumps({"schema_version": 1, **empty, **found}, indent=2, allow_nan=False) + "\n"
    (into / "invariance.json").write_text(text, encoding="utf-8")

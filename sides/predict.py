"""Runs a side's own model over the tensors of both sides, in batches."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Dict, NamedTuple, Optional, Tuple

import numpy as np

from sides.case_code import CaseCodeError, calling, load
from sides.model import as_function, build, choose_device
from sides.tensors import RowReader, RowWriter

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from sides.model import Predict


class _Predictor(NamedTuple):
    """The model with what turns its raw output into labels."""

    model: Predict
    what: str  # candidate.model (net:build)
    labels: Any  # None: the largest output wins
    labels_what: str
    batch: int


def run(params: Dict[str, Any], inputs: Dict[str, Optional[Path]], into: Path, side: str) -> None:
    """Write report.json and outputs/ as `stages.reports.predict` says."""
    weights = inputs["weights"] or inputs["model"]
    if weights is None:
        raise CaseCodeError(f"{side}.weights: there are none.")
    what = f"{side}.model ({params['model']})"
    model = build(params["model"], f"{side}.model", weights)
    device = choose_device(params["device"])
    labels_what = f"{side}.postprocess"
    labels = load(params["postprocess"], labels_what) if params["postprocess"] else None
    predictor = _Predictor(
        as_function(model, what, device), what, labels, labels_what, params["batch"]
    )
    folder = into / "outputs"
    folder.mkdir()
    counts: Dict[str, int] = {}
    nonfinite: Dict[str, int] = {}
    errors: Dict[str, str] = {}
    for name, path in _sets(inputs, side).items():
        try:
            counts[name], nonfinite[name] = _predict(predictor, RowReader(path), folder, name)
        except CaseCodeError as error:
            if name in ("sim", f"real-{side}"):  # its own tensors: nothing is left to examine
                raise CaseCodeError(f"On its own tensors ({name}): {error}") from error
            errors[name] = str(error)
    report = {
        "schema_version": 1,
        "side": side,
        "model": params["model"],
        "sets": counts,
        "errors": errors,
        "num_nonfinite_rows": nonfinite,
    }
    text = json.dumps(report, indent=2, allow_nan=False) + "\n"
    (into / "report.json").write_text(text, encoding="utf-8")


def _sets(inputs: Dict[str, Optional[Path]], side: str) -> Dict[str, Path]:
    sets = {
        "sim": inputs["sim"],
        "real-reference": inputs["real_reference"],
        "real-candidate": inputs["real_candidate"],
    }
    swap = inputs["swap"]
    if side == "reference" and swap is not None:
        keys = json.loads((swap / "keys.json").read_text(encoding="utf-8"))
        sets.update({f"swap-{key}": swap / f"{key}.npy" for key in keys})
    return {name: path for name, path in sets.items() if path is not None}


def _predict(predictor: _Predictor, tensors: RowReader, folder: Path, name: str) -> Tuple[int, int]:
    """Write one set's raw outputs and labels; return the rows, and those that are not finite."""
    nonfinite = 0
    outputs = RowWriter(folder / f"{name}.npy", len(tensors))
    labels = RowWriter(folder / f"{name}.labels.npy", len(tensors), "<i8")
    with outputs, labels:
        try:
            for start in range(0, len(tensors), predictor.batch):
                raw = predictor.model(tensors.read(start, start + predictor.batch))
                with calling(predictor.what):
                    outputs.write(raw)
                labels.write(_labels(predictor, raw))
                nonfinite += int((~np.isfinite(raw).all(axis=1)).sum())
        except CaseCodeError:
            outputs.drop()
            labels.drop()
            raise
    return len(tensors), nonfinite


def _labels(predictor: _Predictor, raw: NDArray[Any]) -> NDArray[Any]:
    if predictor.labels is None:
        if raw.shape[1] == 1:
            text = f"{predictor.what} has one output a row: state {predictor.labels_what}."
            raise CaseCodeError(text)
        largest: NDArray[Any] = np.argmax(raw, axis=1)
        return largest
    with calling(predictor.labels_what):
        made = np.asarray(predictor.labels(np.array(raw)))
    if made.shape != (len(raw),) or made.dtype.kind not in "biu":
        text = "%s made %s %s of %d rows; expected whole numbers (rows,)."
        raise CaseCodeError(text % (predictor.labels_what, made.dtype, list(made.shape), len(raw)))
    return made

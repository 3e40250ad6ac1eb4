"""A table's columns as Evidently sums them up; of its drift scores no threshold is a verdict."""

import os
import warnings
from collections.abc import Mapping
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

Columns = Mapping[str, NDArray[Any]]


def summarise(sim: Columns, real: Columns) -> dict[str, Any]:
    """Return {sim: {metric: value}, real: {...}, drift: {column: {method, score}}}; {} of nothing.

    Its methods for whole embeddings are not used: at their defaults they alarm on identical sets.
    """
    os.environ.setdefault("DO_NOT_TRACK", "1")  # no telemetry, were there a network
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its imports use names that numpy has deprecated
        import pandas as pd
        from evidently import DataDefinition, Dataset, Report
        from evidently.presets import DataDriftPreset, DataSummaryPreset

        names = [name for name in sim if name in real and _told(sim[name]) and _told(real[name])]
        if not names:
            return {}
        definition = DataDefinition(numerical_columns=names)
        tables = [
            pd.DataFrame({name: side[name].astype(float) for name in names}) for side in (sim, real)
        ]
        sets = [Dataset.from_pandas(table, data_definition=definition) for table in tables]
        found = {
            name: _values(Report([DataSummaryPreset()]).run(one, None).dict())
            for name, one in zip(("sim", "real"), sets, strict=True)
        }
        compared = Report([DataDriftPreset(columns=names)]).run(sets[1], sets[0]).dict()
    return {**found, "drift": _drift(compared)}


def _told(column: NDArray[Any]) -> bool:
    """Tell whether a column holds anything: of an empty one Evidently makes an error."""
    return column.dtype.kind in "biuf" and bool(np.isfinite(column).any())


def _values(report: dict[str, Any]) -> dict[str, Any]:
    return {str(one["metric_name"]): _plain(one["value"]) for one in report["metrics"]}


def _drift(report: dict[str, Any]) -> dict[str, Any]:
    return {
        str(one["config"]["column"]): {
            "method": str(one["config"].get("method")),
            "score": _plain(one["value"]),
        }
        for one in report["metrics"]
        if "column" in one["config"]
    }


def _plain(value: Any) -> Any:
    """Turn numpy's numbers into JSON's; what is not finite into None."""
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return number if isfinite(number) else None

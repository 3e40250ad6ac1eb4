"""From declarations to a graph: the rows of a case, its dvc.yaml, the root's dvc.yaml."""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from flows.case import LoadedCase, is_call, relative
from flows.case_places import root_of, root_of_program
from flows.closure import closure, work_module
from flows.faults import Faults, line_of, plain, read_yaml
from lineage.dvc_yaml import param_key
from lineage.row import Row
from stages.stage import SIDES, At, CasePath, Field, SideStage, Stage, case_keys

PARAMS = "params.yaml"
ENVIRONMENTS = "environments.yaml"

THRESHOLDS = {"min_accuracy": "accuracy", "min_r2": "r2", "max_mae": "mae"}
"""The gate's params that are of one metric alone."""

AnyStage = Stage | SideStage


def catalog() -> tuple[AnyStage, ...]:
    """Return every stage; importing them is the slow part of planning."""
    from stages.catalog import CATALOG

    return CATALOG


def read_params(workspace: Path) -> Mapping[str, Any]:
    """Read params.yaml.

    Raises:
        Faults: a section that no stage has, or a key that its stage does not know.
    """
    params, faults = _params_and_faults(workspace)
    if faults:
        raise Faults(*faults)
    return params


def _params_and_faults(workspace: Path) -> tuple[dict[str, Any], list[str]]:
    marks = read_yaml(workspace / PARAMS, PARAMS)
    params: dict[str, Any] = plain(marks, PARAMS)
    return params, _unknown(params, lambda path: f"{PARAMS}, line {line_of(marks, path)}: ")


def _unknown(params: Mapping[str, Any], where: Callable[[Sequence[str]], str]) -> list[str]:
    """Find sections that no stage has, and keys that their stage does not know."""
    faults = []
    stages = {stage.name: stage for stage in catalog()}
    for section, values in params.items():
        if section not in stages:
            text = f"no stage has this name. One of: {', '.join(sorted(stages))}."
            faults.append(f"{where((section,))}{section}: {text}")
            continue
        knobs = _knobs(stages[section])
        for key in sorted(set(values or {}) - knobs):
            near = difflib.get_close_matches(key, knobs, 1)
            hint = f"Did you mean `{near[0]}`? " if near else ""
            known = ", ".join(sorted(knobs)) or "none"
            text = f"{section} knows no such param. {hint}One of: {known}."
            faults.append(f"{where((section, key))}{section}.{key}: {text}")
    return faults


def _of_another_metric(params: Mapping[str, Any], metric: str, where: str) -> list[str]:
    """Find thresholds that no criterion of this case would read."""
    return [
        f"{where}{section}.{key}: {key} is for {THRESHOLDS[key]}; a case of {metric} states "
        f"{section}.{_threshold(metric)}."
        for section, values in params.items()
        for key in values
        if THRESHOLDS.get(key, metric) != metric
    ]


def _threshold(metric: str) -> str:
    return next(key for key, of in THRESHOLDS.items() if of == metric)


def _knobs(stage: AnyStage) -> set[str]:
    return set(stage.params.model_fields) - set(case_keys(stage.params))


def plan(loaded: LoadedCase) -> tuple[Row, ...]:
    """Return the rows of a case, in the catalogue's order.

    Raises:
        Faults: params that do not fit, all at once.
    """
    params, faults = _params_and_faults(loaded.workspace)
    where = f"{loaded.folder}/case.yaml: params."
    faults += _unknown(loaded.case.params, lambda _: where)
    faults += _of_another_metric(loaded.case.params, loaded.case.metric, where)
    rows: list[Row] = []
    for stage in catalog():
        for side in stage.sides or (None,):
            if side is not None and side not in loaded.sides:
                continue
            try:
                rows.append(_row(stage, side, loaded, params))
            except Faults as error:
                faults += error.faults
    if faults:
        raise Faults(*faults)
    return tuple(rows)


def _row(stage: AnyStage, side: str | None, loaded: LoadedCase, params: Mapping[str, Any]) -> Row:
    name = f"{stage.name}-{side}" if len(stage.sides) > 1 else stage.name
    case = {"name": loaded.name, **loaded.case.model_dump(mode="json", by_alias=True)}
    values = _values(stage, side, loaded, params, case)
    roots = _roots(loaded, values)
    inputs = {field.name: _place(field, side, loaded, case) for field in stage.inputs}
    outputs = {field.name: _place(field, side, loaded, case) or "" for field in stage.outputs}
    image = _image(stage, side, case)
    return Row(
        case=loaded.name,
        name=name,
        module=work_module(stage),
        entry=stage.entry,
        question=stage.question,
        side=side,
        image=image,
        threads=stage.needs.threads,
        memory_bytes=stage.needs.memory_bytes,
        timeout_s=stage.needs.timeout_s,
        gpu=stage.needs.gpu,
        params=values,
        params_keys=_keys(stage, side, loaded, params, image),
        inputs=inputs,
        outputs=outputs,
        folder=f"{loaded.folder}/artifacts/{name}",
        sources=tuple(sorted({*closure(stage, loaded.workspace), *roots})),
        code_roots=roots,
        command=f"assay stage {loaded.name} {name}",
        private=loaded.case.pictures == "none",
        holds_samples=stage.holds_samples,
    )


def _values(
    stage: AnyStage,
    side: str | None,
    loaded: LoadedCase,
    params: Mapping[str, Any],
    case: Mapping[str, Any],
) -> Mapping[str, Any]:
    stated = dict(params.get(stage.name) or {}) | loaded.case.params.get(stage.name, {})
    values = {key: value for key, value in stated.items() if key in _knobs(stage)}
    for param, key in case_keys(stage.params).items():
        found = _walk(case, key.replace("{side}", side or ""))
        if found is not None:
            values[param] = found
    try:
        return stage.params.model_validate(values).model_dump(mode="json")
    except ValidationError as error:
        own = stage.name in loaded.case.params
        where = f"{loaded.folder}/case.yaml: params" if own else PARAMS
        faults = (
            f"{where}: {stage.name}.{'.'.join(map(str, e['loc']))}: {e['msg']}, got {e['input']!r}."
            for e in error.errors()
        )
        raise Faults(*faults) from None


def _walk(content: Any, key: str) -> Any:
    for part in key.split("."):
        content = content.get(part) if isinstance(content, Mapping) else None
    return content


def _roots(loaded: LoadedCase, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the code folders that the calls need: up to the last, as later build on earlier."""
    found = [root_of(loaded, call) for call in _calls(values)]
    found += [root_of_program(loaded, words) for words in _programs(values)]
    last = max((index for index in found if index is not None), default=-1)
    return loaded.code_roots[: last + 1]


def _calls(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [call for part in value.values() for call in _calls(part)]
    if isinstance(value, list | tuple):
        return [call for part in value for call in _calls(part)]
    return [value] if isinstance(value, str) and is_call(value) else []


def _programs(value: Any) -> list[list[str]]:
    if isinstance(value, Mapping):
        own = [value["command"]] if value.get("command") else []
        return own + [words for part in value.values() for words in _programs(part)]
    if isinstance(value, list):
        return [words for part in value for words in _programs(part)]
    return []


def _place(
    field: Field, side: str | None, loaded: LoadedCase, case: Mapping[str, Any]
) -> str | None:
    if isinstance(field.place, CasePath):
        named = _walk(case, field.place.key.replace("{side}", side or ""))
        return relative(loaded.folder, named) if named else None
    if field.place.side and case.get(field.place.side) is None:
        return None
    path = _fill(field.place, side, case)
    return path if field.place.root == "workspace" else f"{loaded.folder}/{path}"


def _fill(place: At, side: str | None, case: Mapping[str, Any]) -> str:
    path = place.path.replace("{side}", side or "")
    return re.sub(r"\{([\w.]+)\}", lambda match: str(_walk(case, match[1])), path)


def _image(stage: AnyStage, side: str | None, case: Mapping[str, Any]) -> str:
    text = stage.image.replace("{side}", side or "")
    return re.sub(r"\{([\w.]+)\}", lambda match: _walk(case, match[1]) or "base", text)


def _keys(
    stage: AnyStage,
    side: str | None,
    loaded: LoadedCase,
    params: Mapping[str, Any],
    image: str,
) -> Mapping[str, tuple[str, ...]]:
    """Return DVC's param dependencies: keys as they are written, not as they are resolved."""
    written: set[str] = set()
    for key in case_keys(stage.params).values():
        written |= _written(loaded.raw, key.replace("{side}", side or ""))
    if stage.name in loaded.case.params:
        written.add(f"params.{stage.name}")
    if "pictures" in loaded.raw:  # what was made of a public case never serves a private one
        written.add("pictures")
    keys: dict[str, tuple[str, ...]] = {ENVIRONMENTS: (param_key(image),)}
    if written:
        keys[f"{loaded.folder}/case.yaml"] = tuple(sorted(written))
    if params.get(stage.name):
        keys[PARAMS] = (stage.name,)
    return keys


def _written(raw: Mapping[str, Any], key: str) -> set[str]:
    if _walk(raw, key) is not None:
        return {key}
    first, _, rest = key.partition(".")
    like = _walk(raw, f"{first}.like")
    if first in SIDES and like:
        return {f"{first}.like"} | _written(raw, f"{like}.{rest}")
    return set()


def named(rows: tuple[Row, ...], name: str) -> Row:
    """Return one row.

    Raises:
        Faults: there is none of this name.
    """
    for row in rows:
        if row.name == name:
            return row
    raise Faults(f"Which stage? One of: {', '.join(row.name for row in rows)}. Got: {name}.")


def upstream(rows: tuple[Row, ...]) -> Mapping[str, tuple[str, ...]]:
    """Return {row: the rows whose folders it reads}."""
    return {
        row.name: tuple(
            other.name
            for other in rows
            if any(
                f"{path}/".startswith(f"{other.folder}/") for path in row.inputs.values() if path
            )
        )
        for row in rows
    }

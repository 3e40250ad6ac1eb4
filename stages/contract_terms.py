"""What a data contract may demand, and each demand as one expectation in plain words."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from stages.stage import InputFault, Share
from stages.yaml_nesting import is_too_deep

NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,2})?"  # a finite decimal, as text


class _Terms(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Rows(_Terms):
    """How many samples there must be."""

    min: int = Field(default=1, ge=1)
    max: int | None = None


class Samples(_Terms):
    """What each raw sample is. None drops a demand."""

    dtype: str  # of the array or the decoded picture; `bytes` for any other file
    shape: list[int | None] | None = None  # of one sample; null for an axis of any length
    range: tuple[float, float] | None = None  # least and greatest number of a sample lie in it
    finite_share: Share | None = 1.0  # at least, in each sample
    duplicate_share: Share = 0.0  # at most: rows whose content another row has too


class Labels(_Terms):
    """What the labels are: the case's classes, 0 to classes - 1, or a regression's numbers."""

    null_share: Share = 0.0  # at most
    every_class: bool = True  # each class occurs; of a classification
    range: tuple[float, float] | None = None  # that numbers lie in; of a regression


class Groups(_Terms):
    """What the session, device or writer of a sample is."""

    null_share: Share = 0.0  # at most
    min: int = Field(default=2, ge=0)  # fewer than 2 cannot be split; 0: rows have none


class DatasetContract(_Terms):
    """The demands on one dataset."""

    columns: list[str] = ["id", "label", "group"]  # that the manifest must have
    rows: Rows = Rows()
    samples: Samples
    labels: Labels = Labels()
    groups: Groups = Groups()

    @model_validator(mode="after")
    def _range_is_ordered(self) -> "DatasetContract":
        for name, limits in (("samples", self.samples.range), ("labels", self.labels.range)):
            if limits and limits[0] > limits[1]:
                raise ValueError(f"{name}.range: expected [least, greatest]")
        return self


class DataContract(_Terms):
    """data_contracts/NAME.yaml."""

    schema_version: Literal[1] = Field(alias="schema")
    sim: DatasetContract
    real: DatasetContract


def read_contract(path: Path) -> DataContract:
    """Read a contract.

    Raises:
        InputFault: names every fault of the file.
    """
    import yaml

    name = f"data_contracts/{path.name}"
    try:
        text = path.read_text(encoding="utf-8")
        if is_too_deep(text):
            raise InputFault(f"{name}: nested too deeply; write it flatter.")
        content = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, TypeError, LookupError, OSError) as error:
        raise InputFault(f"{name}: not YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise InputFault(f"{name}: nested too deeply; write it flatter.") from None
    try:
        return DataContract.model_validate(content)
    except ValidationError as error:
        faults = [f"{name}: {'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
        raise InputFault("\n".join(faults)) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One demand: an expectation of Great Expectations and what it says."""

    expectation: str  # its class in great_expectations.expectations
    arguments: dict[str, Any] = field(default_factory=dict)
    says: str
    reason: str | None = None  # why a breaching row is left out, {column} filled in; None: it stays


def terms(contract: DatasetContract, num_classes: int | None) -> Iterator[Term]:
    """Spell out a contract, worst faults first: a row is left out for its first reason.

    Without `num_classes` labels are numbers.

    Great Expectations lets `in_set`, `between` and `unique` pass on nulls, and everything on no
    rows: so rows are counted, and each column that is judged is also held to a share of nulls.
    """
    low, high = contract.rows.min, contract.rows.max
    yield Term(
        expectation="ExpectTableRowCountToBeBetween",
        arguments={"min_value": low, "max_value": high},
        says=f"{low} rows or more" if high is None else f"between {low} and {high} rows",
    )
    for column in contract.columns:
        yield Term(
            expectation="ExpectColumnToExist",
            arguments={"column": column},
            says=f"the manifest has a column {column}",
        )
    yield from _ids()
    yield from _samples(contract.samples)
    null_share = contract.labels.null_share
    yield _filled("label", null_share, _at_most(null_share, "label"), None)
    if num_classes is None:
        yield from _targets(contract.labels)
    else:
        yield from _classes(contract.labels, num_classes)
    yield from _groups(contract.groups)


def _ids() -> Iterator[Term]:
    yield _filled("id", 0.0, "every row has an id", "it has no id")
    yield Term(
        expectation="ExpectColumnValuesToBeUnique",
        arguments={"column": "id"},
        says="no id stands twice",
        reason="the id stands more than once",
    )


def _samples(samples: Samples) -> Iterator[Term]:
    yield Term(
        expectation="ExpectColumnValuesToBeInSet",
        arguments={"column": "sample_readable", "value_set": [True]},
        says="every sample can be read",
        reason="it cannot be read: {sample_fault}",
    )
    yield Term(
        expectation="ExpectColumnValuesToBeInSet",
        arguments={"column": "sample_dtype", "value_set": [samples.dtype]},
        says=f"samples are {samples.dtype}",
    )
    if samples.shape is not None:
        lengths = ["any" if axis is None else str(axis) for axis in samples.shape]
        pattern = "x".join(r"\d+" if axis is None else str(axis) for axis in samples.shape)
        yield Term(
            expectation="ExpectColumnValuesToMatchRegex",
            arguments={"column": "sample_shape", "regex": f"^{pattern}$"},
            says=f"each sample has the shape {' x '.join(lengths)}",
            reason="its shape is {sample_shape}",
        )
    if samples.finite_share is not None:
        yield Term(
            expectation="ExpectColumnValuesToBeBetween",
            arguments={"column": "sample_finite_share", "min_value": samples.finite_share},
            says=f"in each sample a share of {samples.finite_share:g} of the numbers is finite"
            + ("" if samples.finite_share == 1 else " or more"),
            reason="only a share of {sample_finite_share:.3g} of its numbers is finite",
        )
    if samples.range is not None:
        yield from _range(*samples.range)
    yield Term(
        expectation="ExpectColumnValuesToBeUnique",
        arguments={"column": "sample_digest", "mostly": 1 - samples.duplicate_share},
        says=f"a share of {samples.duplicate_share:g} or less has exactly another row's content"
        if samples.duplicate_share
        else "no two rows have exactly the same content",
    )


def _range(low: float, high: float) -> Iterator[Term]:
    yield _filled("sample_min", 0.0, "every sample has a finite number", "it has no finite number")
    for column, word in (("sample_min", "least"), ("sample_max", "greatest")):
        yield Term(
            expectation="ExpectColumnValuesToBeBetween",
            arguments={"column": column, "min_value": low, "max_value": high},
            says=f"each sample's {word} number lies in {low:g} to {high:g}",
        )


def _targets(labels: Labels) -> Iterator[Term]:
    yield Term(
        expectation="ExpectColumnValuesToMatchRegex",
        arguments={"column": "label", "regex": f"^{NUMBER}$"},
        says="labels are numbers",
        reason="its label {label} is no number",
    )
    if labels.range is not None:
        low, high = labels.range
        yield Term(
            expectation="ExpectColumnValuesToBeBetween",
            arguments={"column": "label_number", "min_value": low, "max_value": high},
            says=f"labels lie in {low:g} to {high:g}",
            reason="its label {label} lies outside the range",
        )


def _classes(labels: Labels, num_classes: int) -> Iterator[Term]:
    known = [str(label) for label in range(num_classes)]
    yield Term(
        expectation="ExpectColumnValuesToBeInSet",
        arguments={"column": "label", "value_set": known},
        says=f"labels are 0 to {num_classes - 1}",
        reason="its label {label} is outside the set",
    )
    if labels.every_class:
        yield Term(
            expectation="ExpectColumnDistinctValuesToContainSet",
            arguments={"column": "label", "value_set": known},
            says=f"each of the {num_classes} classes occurs",
        )


def _groups(groups: Groups) -> Iterator[Term]:
    yield _filled("group", groups.null_share, _at_most(groups.null_share, "group"), None)
    yield Term(
        expectation="ExpectColumnUniqueValueCountToBeBetween",
        arguments={"column": "group", "min_value": groups.min},
        says=f"{groups.min} different groups or more",
    )


def _filled(column: str, null_share: float, says: str, reason: str | None) -> Term:
    return Term(
        expectation="ExpectColumnValuesToNotBeNull",
        arguments={"column": column, "mostly": 1 - null_share},
        says=says,
        reason=reason,
    )


def _at_most(null_share: float, word: str) -> str:
    if null_share == 0:
        return f"every row has a {word}"
    return f"a share of {null_share:g} or less has no {word}"


def without_values(reason: str) -> str:
    """Return a reason without what the manifest or a file's name would be put in.

    >>> without_values("its label {label} is outside the set")
    'its label is outside the set'
    """
    return re.sub(r":? \{(?:label|sample_fault)\}", "", reason)


def fill_in(reason: str, row: dict[str, Any]) -> str:
    """Say why this row is left out, on one line."""
    return re.sub(r"\s+", " ", reason.format(**row))

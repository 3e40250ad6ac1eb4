"""Is the data what its contract says?"""

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from stages.reports.contract import CONTRACT, LEFT_OUT, Check, ContractReport
from stages.reports.data import REAL_SET, SIM_SET
from stages.stage import At, FromCase, Needs, Params, Stage

SHOWN_ROWS = 20


class ContractParams(Params):
    """The labels that there are."""

    classes: Annotated[int | None, FromCase("classes")] = None  # None: labels are numbers
    pictures: Annotated[Literal["full", "none"], FromCase("pictures")] = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Both datasets and what they are held to."""

    sim: Annotated[Path, SIM_SET]
    real: Annotated[Path, REAL_SET]
    contract: Annotated[Path, At("data_contracts/{data.contract}.yaml", root="workspace")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The verdicts, and the rows that no later stage sees."""

    report: Annotated[ContractReport, CONTRACT]
    left_out: Annotated[str, LEFT_OUT]


def run(params: ContractParams, inputs: Inputs, into: Path) -> Outputs:  # noqa: ARG001
    """Hold sim and real to the contract.

    A row that no model can use (unreadable, wrong shape, not finite, a label outside the set) is
    left out. An id that stands twice never comes here: the stage `data` refuses such a folder. A
    breach that may itself be the fault under examination, such as an unexpected range, type or
    share of duplicates, is a finding and the row stays. With `pictures: none` the report names rows
    by their place and reasons hold no value; only `left_out.csv`, which stays here, has the ids.
    """
    from stages.contract_terms import read_contract
    from stages.sample_table import sample_table
    from stages.suites import examine

    contract = read_contract(inputs.contract)
    checks: list[Check] = []
    left_out: list[tuple[str, str, str]] = []
    rows, counts = {}, {}
    for name in ("sim", "real"):
        table = _with_numbers(sample_table(getattr(inputs, name)))
        held_to = getattr(contract, name)
        verdicts = examine(table, _terms(held_to, params))
        reasons, found = _examined(name, table, verdicts, private=params.pictures == "none")
        checks += found
        left_out += [(name, *pair) for pair in reasons]
        rows[name], counts[name] = len(table), len(reasons)
    passed = all(check.passed for check in checks)
    report = ContractReport(checks=checks, rows=rows, left_out=counts, passed=passed)
    return Outputs(report=report, left_out=_csv(left_out))


def _with_numbers(table: Any) -> Any:
    """Add each label as a number, which a range is held to; NaN where it is none."""
    if "label" in table:
        import pandas as pd

        table["label_number"] = pd.to_numeric(table["label"], errors="coerce").astype(float)
    return table


def _terms(held_to: Any, params: ContractParams) -> Any:
    from stages.contract_terms import terms

    return terms(held_to, params.classes)


def _examined(
    name: str, table: Any, verdicts: Any, *, private: bool
) -> tuple[list[tuple[str, str]], list[Check]]:
    """Return (id, reason) of the rows to leave out, in the manifest's order, and the checks."""
    from stages.contract_terms import fill_in, without_values

    given = table["id"] if "id" in table else [None] * len(table)
    ids = [name or f"row {at} of the manifest" for at, name in enumerate(given)]
    names = [f"row {at}" for at in range(len(ids))] if private else ids
    reasons: dict[int, str] = {}
    checks = []
    for verdict in verdicts:
        shown = [names[at] for at in verdict.positions[:SHOWN_ROWS]]
        checks.append(
            Check(
                dataset=name,
                name=verdict.name,
                column=verdict.term.arguments.get("column"),
                says=verdict.term.says,
                passed=verdict.passed,
                observed=verdict.observed,
                num_breaches=len(verdict.positions),
                rows=shown,
            )
        )
        if verdict.term.reason is not None:
            for at in verdict.positions:
                reason = verdict.term.reason
                reason = without_values(reason) if private else reason
                reasons.setdefault(at, fill_in(reason, table.iloc[at].to_dict()))
    return [(ids[at], reasons[at]) for at in sorted(reasons)], checks


def _csv(rows: list[tuple[str, str, str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([("dataset", "id", "reason"), *rows])
    return text.getvalue()


STAGE = Stage(run, image="contracts", needs=Needs(memory="2GiB"), holds_samples=True)

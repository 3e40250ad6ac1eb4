"""Which samples serve to diagnose, which to fit, and which to prove?"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import field_validator

from sides import privacy
from stages.reports.contract import LEFT_OUT
from stages.reports.data import REAL_SET, RECORDED, SIM_SET
from stages.reports.split import ROLES, SPLIT, SplitReport
from stages.stage import FromCase, InputFault, Params, Stage

if TYPE_CHECKING:
    import pandas as pd

PURPOSES = ("diagnose", "fit", "prove")
NUM_STRATA = 5
LABELS = {
    "classification": (
        r"\d*",
        "no class number from 0",
        "State the label set in the data contract",
    ),
    "regression": (
        r"([+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)?",
        "no number",
        "State the target's range in the data contract",
    ),
}
"""How a label is written, what one that does not fit is, and the next step."""


class SplitParams(Params):
    """How the labelled real rows are shared out."""

    task: Annotated[Literal["classification", "regression"], FromCase("task")] = "classification"
    roles: dict[str, float] = {"diagnose": 0.34, "fit": 0.33, "prove": 0.33}  # noqa: RUF012  pydantic copies it
    seed: int = 0

    @field_validator("roles")
    @classmethod
    def _shares(cls, roles: dict[str, float]) -> dict[str, float]:
        if set(roles) != set(PURPOSES) or min(roles.values()) < 0 or not sum(roles.values()) > 0:
            raise ValueError(f"expected a share for each of {', '.join(PURPOSES)}")
        return roles


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Both sets, what the contract left out, and what was logged of the candidate."""

    sim: Annotated[Path, SIM_SET]
    real: Annotated[Path, REAL_SET]
    left_out: Annotated[Path, LEFT_OUT]
    recorded: Annotated[Path, RECORDED]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The one assignment that all later stages follow."""

    report: Annotated[SplitReport, SPLIT]
    roles: Annotated[str, ROLES]


def run(params: SplitParams, inputs: Inputs, into: Path) -> Outputs:  # noqa: ARG001  written for it
    """Give every row one role, and all labelled rows of a group the same."""
    import pandas as pd

    from stages.dataset import ROLE_COLUMNS, own_group, read_table

    left_out = read_table(inputs.left_out)
    sim = _kept(inputs.sim, "sim", left_out, params.task)
    sim["role"] = "validation"
    real = _kept(inputs.real, "real", left_out, params.task)
    real, not_recorded = _recorded(real, inputs.recorded)
    labelled = real[real["label"] != ""]
    strata = _strata(labelled["label"], params.task)
    purposes = _assign(own_group(labelled), strata, params.roles, params.seed)
    real["role"] = "unlabelled"
    real.loc[labelled.index, "role"] = own_group(labelled).map(purposes)
    roles = pd.concat([sim, real], ignore_index=True)
    roles.loc[roles["label"] == "", "role"] = "unlabelled"
    counts = roles["role"].value_counts()
    groups = own_group(roles).groupby([roles["dataset"], roles["role"]]).nunique()
    names = ("validation", *PURPOSES, "unlabelled")
    report = SplitReport(
        rows={name: int(counts.get(name, 0)) for name in names},
        groups={name: int(groups[groups.index.isin([name], level=1)].sum()) for name in names},
        seed=params.seed,
        not_recorded=not_recorded,
    )
    text = roles[list(ROLE_COLUMNS)].to_csv(index=False, lineterminator="\n")
    return Outputs(report=report, roles=text)


def _recorded(real: "pd.DataFrame", recorded: Path) -> "tuple[pd.DataFrame, int]":
    """Return the real rows that the candidate's recording holds, and how many it does not."""
    ids_file = recorded / "candidate" / "ids.json"
    if not ids_file.exists():  # the candidate is run
        return real, 0
    ids = json.loads(ids_file.read_text(encoding="utf-8"))
    kept = real[real["id"].isin(ids)].reset_index(drop=True)
    if kept.empty:
        text = "candidate.recorded: it holds none of the real rows that the contract let in."
        if not privacy.is_private():
            ours, theirs = ", ".join(real["id"][:3]), ", ".join(ids[:3])
            text += f" The manifest's ids are like {ours}; the recording's like {theirs}."
        raise InputFault(f"{text} Log with the ids of the manifest.")
    return kept, len(real) - len(kept)


def _strata(labels: "pd.Series[str]", task: str) -> "pd.Series[str]":
    """Return what each role shall have its share of: the classes, or fifths of the targets."""
    if task == "classification":
        return labels
    order = labels.astype(float).rank(method="first")
    return (order * NUM_STRATA / (len(labels) + 1)).astype(int).astype(str)


def _kept(folder: Path, dataset: str, left_out: "pd.DataFrame", task: str) -> "pd.DataFrame":
    """Read a manifest without the rows that the contract left out."""
    from stages.dataset import read_manifest

    manifest = read_manifest(folder)
    gone = left_out.loc[left_out["dataset"] == dataset, "id"]
    kept = manifest[~manifest["id"].isin(gone)].reset_index(drop=True)
    if kept.empty:
        raise InputFault(
            f"{dataset}: the contract left out all {len(manifest)} rows; see its report."
        )
    pattern, wanted, step = LABELS[task]
    fits = kept["label"].str.fullmatch(pattern)
    if not fits.all():
        row = kept[~fits].iloc[0]
        text = f"{dataset}: the label of {row['id']} is {row['label']!r}, {wanted}."
        if privacy.is_private():
            text = f"{dataset}: {int((~fits).sum())} labels are {wanted}."
        raise InputFault(f"{text} {step}: it then leaves such rows out.")
    kept["dataset"] = dataset
    return kept


def _assign(
    groups: "pd.Series[str]", labels: "pd.Series[str]", shares: Mapping[str, float], seed: int
) -> dict[str, str]:
    """Give each group the role that keeps every label's shares closest to the wanted ones.

    Large groups first, since small ones can still mend the balance; ties in seeded order.
    """
    import numpy as np
    import pandas as pd

    if groups.empty:
        return {}
    counts = pd.crosstab(groups, labels)
    order = np.random.default_rng(seed).permutation(len(counts))
    order = order[np.argsort(-counts.to_numpy()[order].sum(axis=1), kind="stable")]
    names = [name for name in PURPOSES if shares[name] > 0]
    wanted = np.array([shares[name] for name in names])[:, None] * counts.to_numpy().sum(axis=0)
    wanted = wanted / sum(shares.values())
    have = np.zeros_like(wanted)
    assigned = {}
    for index in order:
        own = counts.to_numpy()[index]
        # By how much the squared distance to the wanted counts grows, in shares of what is wanted.
        cost = ((own * (own + 2 * (have - wanted))) / np.maximum(wanted, 1e-9)).sum(axis=1)
        best = int(cost.argmin())
        have[best] += own
        assigned[str(counts.index[index])] = names[best]
    return assigned


STAGE = Stage(run, image="base", holds_samples=True)

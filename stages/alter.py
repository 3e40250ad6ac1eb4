"""Which properties of the field's data can be undone, or made in simulation?"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from stages.reports.alter import ALTER, ALTERED, AlterAnswer, Alteration, AlterReport
from stages.reports.predict import OUTPUTS, PREDICT, PredictReport
from stages.reports.preprocess import TENSORS_REAL, TENSORS_SIM
from stages.reports.split import ROLES
from stages.stage import FromCase, MetricName, Needs, NotApplicable, Params, Stage

if TYPE_CHECKING:
    from assay.alterations import Proposal
    from stages.field_rows import FieldRows


class AlterParams(Params):
    """When there is something to explain, and how much is tried."""

    metric: Annotated[MetricName, FromCase("metric")] = "accuracy"
    columns: Annotated[list[str], FromCase("data.columns")] = []  # noqa: RUF012  pydantic copies it
    margin: float = Field(default=0.02, ge=0)  # a loss that nobody would miss, as `diagnose` has it
    max_rows: int = Field(default=200, ge=10)  # judged, of each domain
    max_fitted: int = Field(default=500, ge=10)  # on which statistics are estimated
    max_alterations: int = Field(default=40, ge=1)  # of real rows, the simple ones first
    max_mib: int = Field(default=512, ge=1)  # of altered tensors together
    resamples: int = Field(default=2000, ge=1)
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The reference's tensors and answers."""

    roles: Annotated[Path, ROLES]
    reference: Annotated[PredictReport, PREDICT.of("reference")]
    outputs: Annotated[Path, OUTPUTS.of("reference")]
    sim: Annotated[Path, TENSORS_SIM.of("reference")]
    real: Annotated[Path, TENSORS_REAL.of("reference")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The altered tensors, and what each of them is."""

    report: Annotated[AlterAnswer, ALTER]
    tensors: Annotated[Path, ALTERED]


def run(params: AlterParams, inputs: Inputs, into: Path) -> Outputs:
    """Alter rows of role diagnose, with statistics of other rows where there are any."""
    from stages.field_rows import field_rows

    folder = ALTERED.under(into)
    folder.mkdir()
    found = field_rows(params, inputs)
    made = found if isinstance(found, NotApplicable) else _altered(params, found, folder)
    keys = [one.key for one in made.plan] if isinstance(made, AlterReport) else []
    (folder / "keys.json").write_text(_listed(keys), encoding="utf-8")
    return Outputs(report=made, tensors=folder)


def _listed(keys: list[str]) -> str:
    import json

    return json.dumps(keys)


def _altered(params: AlterParams, found: "FieldRows", folder: Path) -> AlterAnswer:
    import numpy as np

    from assay.proposals import propose
    from stages.figures import estimate

    proposals, left_out = propose(found.domains, params.max_alterations)
    kept, rows_real, rows_sim = _bounded(params, found, proposals)
    judged = {
        "real": found.axes.canonical(np.load(found.real, mmap_mode="r")[rows_real]),
        "sim": found.axes.canonical(np.load(found.sim, mmap_mode="r")[rows_sim]),
    }
    for one in kept:
        np.save(folder / f"{one.key}.npy", found.axes.back(one.apply(judged[one.domain])))
    return AlterReport(
        kind=found.domains.kind,
        channels=found.domains.names,
        plan=[_told(one) for one in kept],
        rows_real=[int(at) for at in rows_real],
        rows_sim=[int(at) for at in rows_sim],
        sim=estimate(found.level_sim),
        real=estimate(found.level_real),
        gap=estimate(found.gap),
        num_fitted=len(found.domains.real),
        fitted_on=found.fitted_on,
        num_left_out=left_out + len(proposals) - len(kept),
    )


def _bounded(params: AlterParams, found: "FieldRows", proposals: "list[Proposal]"):  # type: ignore[no-untyped-def]  # noqa: ANN202
    """Keep within the size: first fewer rows, down to 60, then fewer alterations."""
    size = 4 * found.row_size
    room = params.max_mib * 2**20 // size
    rows = max(60, min(params.max_rows, room // max(1, len(proposals))))
    kept = proposals[: max(1, room // min(rows, params.max_rows))]
    return kept, found.rows_real[:rows], found.rows_sim[:rows]


def _told(one: "Proposal") -> Alteration:
    return Alteration(
        key=one.key,
        title=one.title,
        kind=one.kind,
        domain=one.domain,
        family=one.family,
        simplicity=one.simplicity,
        where=one.where,
        lag=one.lag,
        makes=one.makes,
        claims=one.claims,
        evidence=list(one.evidence),
    )


STAGE = Stage(run, image="base", needs=Needs(memory="4GiB"), holds_samples=True)

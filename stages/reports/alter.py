"""Input tensors with one property of the field's data undone, or of simulation made like it."""

from typing import Literal

from stages.stage import At, Estimate, NotApplicable, Report

ALTER = At("artifacts/alter/report.json")
ALTERED = At("artifacts/alter/tensors")
"""`<key>.npy` (rows, ...) float32, as the reference's model takes them: rows `rows_real` of real
tensors, or `rows_sim` of simulated ones, altered. `keys.json` lists what is there: it may be
nothing, and DVC keeps no empty folder."""
ASK_ALTERED = At("artifacts/ask_altered/report.json")
ASKED = At("artifacts/ask_altered/outputs")
"""`<key>.npy` raw outputs of the reference's model, `<key>.labels.npy`; `keys.json`."""

Domain = Literal["real", "sim"]
Family = Literal["align", "rearrange", "restore", "ablate", "transplant", "lag", "reproduce"]
"""align: statistics brought to simulation's; rearrange: channels or pixels moved, or turned round;
restore: noise, blur or missing values undone; ablate: a channel set to its mean in simulation;
transplant: a channel taken from other, simulated rows; lag: a channel moved in time;
reproduce: simulation made like the field."""


class Alteration(Report):
    """One alteration of one domain's rows."""

    key: str
    title: str  # one line for people
    kind: str  # of the cause that it undoes or makes; see docs/kinds.md
    domain: Domain
    family: Family
    simplicity: int  # of explanations that regain the same the lower one is preferred
    where: str | None = None  # the channels or columns
    lag: int | None = None  # by so many samples, of family lag
    makes: str | None = None  # of simulation: the key of what undoes it in real rows
    claims: bool = True  # it would explain the loss; else it only stands beside those that would
    evidence: list[str] = []  # noqa: RUF012  pydantic copies it; what the inputs differ in


class AlterReport(Report):
    """What was altered, and on which rows."""

    kind: Literal["pictures", "signals", "table"]
    channels: list[str]  # names of the channels, or of a table's columns
    plan: list[Alteration]
    rows_real: list[int]  # positions in the reference's real tensors: of role diagnose, labelled
    rows_sim: list[int]  # positions in its simulated tensors: labelled
    sim: Estimate  # the mean score on `rows_sim`, unaltered; of mae minus the error
    real: Estimate  # and on `rows_real`
    gap: Estimate  # what is lost between the two
    num_fitted: int  # real rows on which statistics were estimated
    fitted_on: str  # which these were
    num_left_out: int = 0  # alterations beyond the most that are tried


AlterAnswer = AlterReport | NotApplicable


class AskAlteredReport(Report):
    """What the reference's model was asked."""

    sets: dict[str, int]  # key -> rows
    errors: dict[str, str]  # key -> why the model could not take these tensors

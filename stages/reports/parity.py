"""Where the two sides' preprocessing parts ways."""

from stages.stage import At, NotApplicable, Report

PARITY = At("artifacts/parity/report.json")
WORST = At("artifacts/parity/worst.png")
ATOL, RTOL = 1e-6, 1e-6
"""When two values of a step are one, wherever steps are compared: float32 for float64 is."""


class Transform(Report):
    """The named difference between two outputs of one step."""

    kind: str  # transpose, scale, ...
    name: str  # for people
    parameters: dict[str, float | int | str | list[float] | list[int]]
    explained: float  # share of the squared difference that it explains, 0 to 1
    alternatives: list[str]


class StepDifference(Report):
    """One step, reference against candidate, on the same raw samples."""

    step: str
    equal: bool
    max_abs: float | None  # None where shapes differ or a NaN stands against a number: see note
    mean_abs: float | None
    share_differing: float | None
    shape_reference: list[int]
    shape_candidate: list[int]
    dtype_reference: str
    dtype_candidate: str
    note: str | None


class OwnDifference(Report):
    """What one step changes by itself, both sides given the same input."""

    key: str  # 00_decode
    step: str
    transform: Transform | None  # None: no explanation fits
    equal: bool
    max_abs: float | None


class ParityReport(Report):
    """The chain step by step, and each differing step on its own."""

    chain: list[StepDifference]
    first_differing_step: str | None
    own: list[OwnDifference]
    passed: bool
    atol: float
    rtol: float = 0.0  # of the reference's number; beside `atol`
    rows: list[str]  # ids of the paired rows, or their places in steps/ where ids are private
    worst: list[str]  # the samples that differ most, those in the picture


ParityAnswer = ParityReport | NotApplicable

"""What each differing step does on its own."""

from stages.stage import At, NotApplicable, Report

SWAP = At("artifacts/swap/report.json")
SWAP_TENSORS = At("artifacts/swap/tensors")
"""`00_decode.npy`: (real rows, ...) float32: the reference's steps with only this one taken from
the candidate. `keys.json` lists what is there: it may be nothing, and DVC keeps no empty folder."""
SWAP_STEPS = At("artifacts/swap/steps")
"""`00_decode.reference.npy` and `00_decode.candidate.npy`: both sides' step on the same input (what
the reference's steps before it made of the paired rows); `.npz` where shapes differ, as for
preprocess. `keys.json` lists what is there."""


class SwappedStep(Report):
    """One position at which the sides' declared steps differ."""

    key: str  # 00_decode
    name: str
    reference_call: str  # "": the reference has no such step
    candidate_call: str  # "": the candidate has no such step; exchanged, it is left out
    error: (
        str | None
    )  # no tensors: the candidate's step cannot run, or later steps refuse its output


class SwapReport(Report):
    """The positions that were exchanged one at a time."""

    steps: list[SwappedStep]


SwapAnswer = SwapReport | NotApplicable

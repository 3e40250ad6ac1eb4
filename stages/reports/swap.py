"""What each differing step does on its own."""

from typing import Literal

from stages.stage import At, NotApplicable, Report

SWAP_INPUTS = At("artifacts/swap_inputs/report.json")
SWAP_INPUTS_VALUES = At("artifacts/swap_inputs/values")
"""`00_decode.before.npys`: what the reference has before a slot, for all real rows: `.npy` arrays
one after another, as shapes may differ; not there where it is still the raw sample.
`00_decode.after.npys`: what its own step makes of that, for the paired rows. `keys.json`: the
slots."""
SWAP_MADE = At("artifacts/swap_steps/report.json")
SWAP_MADE_VALUES = At("artifacts/swap_steps/values")
"""`00_decode.npys`: what the candidate's step makes of the reference's value, for all real rows.
`keys.json` lists what is there."""
SWAP = At("artifacts/swap/report.json")
SWAP_TENSORS = At("artifacts/swap/tensors")
"""`00_decode.npy`: (real rows, ...) float32: the reference's steps with only this one taken from
the candidate. `keys.json` lists what is there: it may be nothing, and DVC keeps no empty folder."""
SWAP_STEPS = At("artifacts/swap/steps")
"""`00_decode.reference.npy` and `00_decode.candidate.npy`: both sides' step on the same input (what
the reference's steps before it made of the paired rows); `.npz` where shapes differ, as for
preprocess. `keys.json` lists what is there."""


class SwapSlot(Report):
    """One position that is exchanged."""

    key: str  # 00_decode
    name: str
    index: int  # in the paired list of both sides' steps
    stated: bool  # the steps differ as case.yaml states them; else another image may make them
    before: str | None  # the file in values/; None: the raw sample
    after: str | None  # None: the raw sample, as the reference has no step up to here


class SwapInputsReport(Report):
    """The positions, and when two values count as equal."""

    atol: float
    rtol: float
    slots: list[SwapSlot]


class MadeSlot(Report):
    """What the candidate's step made."""

    key: str
    made: Literal["records", "before"] | None  # before: it has no such step, and its input passes
    error: str | None  # it cannot run, or what was logged was made of another input
    same: bool  # stated alike or logged, and equal on all paired rows: not exchanged


class SwapMadeReport(Report):
    """The candidate's values, slot by slot."""

    slots: list[MadeSlot]


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


SwapInputsAnswer = SwapInputsReport | NotApplicable
SwapMadeAnswer = SwapMadeReport | NotApplicable
SwapAnswer = SwapReport | NotApplicable

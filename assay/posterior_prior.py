"""What a person would say of each figure of `assay.weighing` before any case was counted.

`assay.posterior.fit` starts from these coefficients and keeps within a factor of them: where the
planted cases say little of a figure, it stays what is set here.
"""

from collections.abc import Mapping

PRIOR: Mapping[str, float] = {
    "bias": -3.0,
    "clear": 2.5,
    "sure": 1.5,
    "share": 1.0,
    "material": 0.8,
    "named": 0.3,
    "explained": 0.5,
    "alternatives": -0.8,
    "composed": -1.0,
    "first": 1.0,
    "harmless": -4.0,
    "undecided": 0.5,
    "changes": 3.0,
    "moves": 1.5,
    "sim_clear": 1.2,
    "sim_sure": 1.5,
    "fact": 4.5,
    "step": 0.3,
    "model": 0.0,
    "data": -0.3,
    "rest": -0.5,
    "hint": -1.5,
    "unlikely": -1.5,
    "other": -10.0,
    "part": 1.5,
    "sibling": 0.6,
    "as_well": 6.0,
    "none": 2.0,
    "none_quiet": 3.5,
    "none_strongest": -6.0,
    "none_fact": -4.0,
    "none_gap": -3.0,
    "none_changes": -4.0,
    "none_moves": -2.0,
    "none_sim_clear": -1.5,
    "none_sim_sure": -2.0,
}

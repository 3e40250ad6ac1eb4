"""Coefficients of `assay.posterior`, by the names of `assay.weighing`.

Fitted by `python -m bench planted calibrate` to 2704 answers of 539 planted cases, drawn to
`posterior_prior` with a ridge of 1.0: of 0.3, 1.0, 3.0, 10.0, 30.0, the best on data sets left out.
"""

from collections.abc import Mapping

COEFFICIENTS: Mapping[str, float] = {
    "bias": -1.4137,
    "alternatives": -0.2667,
    "as_well": 3.2751,
    "changes": 1.0,
    "clear": 2.1905,
    "composed": -0.3333,
    "data": -0.1,
    "explained": 0.1667,
    "fact": 4.042,
    "first": 0.3333,
    "harmless": -3.0813,
    "hint": -2.8682,
    "material": 0.3363,
    "model": -1.5754,
    "moves": 0.5,
    "named": 0.4071,
    "none": 1.6783,
    "none_changes": -4.0525,
    "none_fact": -4.351,
    "none_gap": -3.9626,
    "none_moves": -2.0011,
    "none_quiet": 3.3123,
    "none_sim_clear": -2.1586,
    "none_sim_sure": -2.369,
    "none_strongest": -6.0749,
    "other": -6.8337,
    "part": 4.2115,
    "rest": -0.4806,
    "share": 0.3333,
    "sibling": 1.8,
    "sim_clear": 0.5601,
    "sim_sure": 0.5,
    "step": 0.1,
    "sure": 0.5,
    "undecided": 0.6615,
    "unlikely": -1.5022,
}

"""Coefficients of `assay.posterior`, by the names of `assay.weighing`. Set by hand until fitted."""

from collections.abc import Mapping

COEFFICIENTS: Mapping[str, float] = {
    "bias": -3.0,
    "clear": 2.5,
    "sure": 1.5,
    "share": 1.0,
    "material": 0.8,
    "named": 0.3,
    "explained": 0.5,
    "alternatives": -0.8,
    "first": 1.0,
    "harmless": -4.0,
    "undecided": 0.5,
    "changes": 2.0,
    "fact": 2.5,
    "step": 0.3,
    "model": 0.0,
    "data": -0.3,
    "rest": -0.5,
    "hint": -1.5,
    "unlikely": -1.5,
    "other": -5.0,
    "none": 2.0,
    "none_quiet": 3.5,
    "none_strongest": -6.0,
    "none_gap": -3.0,
}

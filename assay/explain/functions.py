"""Values through a function with a name: logarithms, roots, decibels, sizes without their sign."""

from collections.abc import Callable, Iterator

import numpy as np

from assay.explain.proposal import Array, Proposal, Samples, of_planes
from assay.explain.score import aligned, correlation

LIKE = 0.9999  # of squared correlation, up to a slope and an offset
TINY = 1e-10
MAX_VALUES = 1 << 12
Function = Callable[[Array], Array]
INFINITE = float("inf")
# A kind, its text, the function, and the least and largest value that it may be asked for.
FUNCTIONS: tuple[tuple[str, str, Function, float, float], ...] = (
    ("logarithm", "log(1 + x)", np.log1p, -0.999, INFINITE),
    ("logarithm", "log x", lambda x: np.log(np.maximum(x, TINY)), 0, INFINITE),
    ("logarithm", "log10 x", lambda x: np.log10(np.maximum(x, TINY)), 0, INFINITE),
    ("logarithm", "10 log10 x", lambda x: 10 * np.log10(np.maximum(x, TINY)), 0, INFINITE),
    ("logarithm", "20 log10 x", lambda x: 20 * np.log10(np.maximum(x, TINY)), 0, INFINITE),
    ("exponential", "exp x", np.exp, -INFINITE, 80),
    ("exponential", "exp x - 1", np.expm1, -INFINITE, 80),
    ("exponential", "10^x", lambda x: 10**x, -INFINITE, 30),
    ("exponential", "10^(x/10)", lambda x: 10 ** (x / 10), -INFINITE, 300),
    ("exponential", "10^(x/20)", lambda x: 10 ** (x / 20), -INFINITE, 600),
    ("rectified", "the sign dropped (|x|)", np.abs, -INFINITE, INFINITE),
    ("rectified", "negative values set to 0", lambda x: np.maximum(x, 0), -INFINITE, INFINITE),
    ("squared", "squared", np.square, -INFINITE, INFINITE),
    ("saturated", "tanh x", np.tanh, -INFINITE, INFINITE),
    ("saturated", "1/(1 + exp(-x))", lambda x: 1 / (1 + np.exp(-x)), -80, INFINITE),
)


def functions(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose each named function that the candidate follows up to a slope and an offset.

    `gamma` has the powers of pictures. A line that fits as well needs no function.
    """
    if not aligned(reference, candidate):
        return
    step = max(1, reference.values.size // MAX_VALUES)
    x = reference.values.ravel()[::step][None, None, None]
    y = candidate.values.ravel()[::step][None, None, None]
    if correlation(x, y) > LIKE:
        return
    low, high = float(reference.values.min()), float(reference.values.max())
    for kind, text, function, least, most in FUNCTIONS:
        if least <= low and high <= most and correlation(function(x), y) >= LIKE:
            yield of_planes(kind, text, function, cost=1.1, function=text)

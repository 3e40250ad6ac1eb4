"""Values through a function with a name: logarithms, roots, decibels, sizes without their sign."""

from collections.abc import Callable, Iterator

import numpy as np

from assay.explain.proposal import Array, Proposal, Samples, of_planes
from assay.explain.score import aligned, correlation

RATES = np.linspace(-4, 14, 10)  # powers of 2 of the rate at the largest value
GOLDEN = (5**0.5 - 1) / 2
NARROWED = 45  # times: to 1e-9 of the grid's step
LIKE = 0.9999  # of squared correlation, up to a slope and an offset
TINY = 1e-10
MAX_VALUES = 1 << 12
NEARLY = 0.98  # of squared correlation at the best rate of the grid: below, none will fit
Function = Callable[[Array], Array]
Rated = Callable[[Array, float], Array]
INFINITE = float("inf")
LARGEST = 300.0  # whose exponential, squared, is still a number
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

# With a rate, up to where numbers end.
RATED: tuple[tuple[str, str, Rated], ...] = (
    ("logarithm", "sign(x) log(1 + {:.4g} |x|)", lambda x, r: np.sign(x) * np.log1p(r * abs(x))),
    (
        "exponential",
        "sign(x) (exp({:.4g} |x|) - 1)",
        lambda x, r: np.sign(x) * np.expm1(np.minimum(r * abs(x), LARGEST)),
    ),
)


def functions(reference: Samples, candidate: Samples) -> Iterator[Proposal]:
    """Propose each named function that the candidate follows up to a slope and an offset.

    `gamma` has the powers of pictures. A line that fits as well needs no function. Logarithm and
    exponential come with a rate of their own too, the sign kept: companding (ITU-T G.711).
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
            yield from _lined(kind, text, function, (x, y))
    size = max(abs(low), abs(high))
    for kind, text, rated in RATED:
        rate = _rate(x / size, y, rated) if size > 0 else None
        if rate is not None:
            said = text.format(rate / size)
            yield from _lined(kind, said, _at(rated, rate / size), (x, y))


def _lined(
    kind: str, text: str, function: Function, pair: tuple[Array, Array]
) -> Iterator[Proposal]:
    """Propose a function with the slope and the offset that bring it to the candidate."""
    made, wanted = function(pair[0]).ravel(), pair[1].ravel()
    slope, offset = (float(number) for number in np.polyfit(made, wanted, 1))
    name = f"{text}, times {slope:.4g}, plus {offset:.4g}"
    yield of_planes(
        kind,
        name,
        lambda planes: slope * function(planes) + offset,
        cost=1.5,
        function=text,
        slope=slope,
        offset=offset,
    )


def _rate(x: Array, y: Array, rated: Rated) -> float | None:
    """Find the rate at which the function is most like the candidate: a grid, then narrowed."""

    def likeness(power: float) -> float:
        return correlation(rated(x, 2.0**power), y)

    best = max(RATES, key=likeness)
    if likeness(best) < NEARLY:
        return None
    low, high = best - (RATES[1] - RATES[0]), best + (RATES[1] - RATES[0])
    for _ in range(NARROWED):
        inner = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        if likeness(inner[0]) < likeness(inner[1]):
            low = inner[0]
        else:
            high = inner[1]
    found = float((low + high) / 2)
    return 2.0**found if likeness(found) >= LIKE else None


def _at(rated: Rated, rate: float) -> Function:
    return lambda x: rated(x, rate)

"""How much error one look at held-out rows may spend, when the same rows are looked at again.

Who holds candidate after candidate against the same rows ends with a lucky one. The error is
therefore spent look by look, so that all looks together, however many, spend no more than was to
be spent at all: the k-th gets alpha * 6 / (pi^2 k^2), whose sum is alpha (Bonferroni over a series
that has no end; as in alpha investing, Foster and Stine 2008, without earning any back).
"""

from collections.abc import Iterable
from math import pi


def spent_on(look: int, alpha: float) -> float:
    """Return the error that the k-th look may spend.

    Args:
        look: counted from 1.
        alpha: of all looks together.

    >>> [round(spent_on(look, 0.05), 4) for look in (1, 2, 3)]
    [0.0304, 0.0076, 0.0034]
    """
    if look < 1 or not 0 < alpha < 1:
        raise ValueError(f"looks count from 1, and an error lies between 0 and 1: {look}, {alpha}")
    return alpha * 6 / (pi * look) ** 2


def number_of(answers: str, earlier: Iterable[str]) -> int:
    """Return which look it is: the same answers again are no new look.

    Args:
        answers: a hash of what was answered to the rows.
        earlier: those of earlier looks at the same rows, the first first.

    >>> number_of("c", ["a", "b", "a"]), number_of("b", ["a", "b", "a"])
    (3, 2)
    """
    seen = list(dict.fromkeys(earlier))
    return seen.index(answers) + 1 if answers in seen else len(seen) + 1

"""Many tests at once: adjust p so that some are not small by chance alone."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def holm(p: ArrayLike, weights: ArrayLike | None = None) -> NDArray[np.float64]:
    """Adjust so that the chance of any false alarm stays below the level (Holm 1979).

    It holds under any dependence, as between the layers of one network. Empty in, empty out.

    Args:
        p: each test's own.
        weights: what share of the level each is given, fixed without a look at the p (Holm's
            section 3); None: all the same.

    >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    >>> holm([0.02, 0.04], [3, 1]).round(4).tolist()
    [0.0267, 0.04]
    """
    p_values = _checked(p)
    given = np.ones(len(p_values)) if weights is None else np.asarray(weights, np.float64)
    order = np.argsort(p_values / given, kind="stable")
    left = np.cumsum(given[order][::-1])[::-1]
    scaled = p_values[order] / given[order] * left
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    return adjusted


def benjamini_yekutieli(p: ArrayLike) -> NDArray[np.float64]:
    """Adjust so that the expected share of false ones among those called stays below the level.

    It holds under any dependence, as between columns of one table (Benjamini and Yekutieli 2001).
    Empty in, empty out.

    >>> benjamini_yekutieli([0.01, 0.02]).round(4).tolist()
    [0.03, 0.03]
    """
    p_values = _checked(p)
    count = len(p_values)
    order = np.argsort(p_values, kind="stable")[::-1]
    ranks = np.arange(count, 0, -1)
    scaled = p_values[order] * count * (1 / np.arange(1, count + 1)).sum() / ranks
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(scaled))
    return adjusted


def _checked(p: ArrayLike) -> NDArray[np.float64]:
    p_values = np.asarray(p, dtype=np.float64)
    # Written so that NaN fails too.
    if p_values.ndim != 1 or not ((p_values >= 0) & (p_values <= 1)).all():
        raise ValueError(f"p-values lie in [0, 1], in one row: {p_values!r}")
    return p_values

"""What this project takes for each task. Imported in our own environment."""

from typing import Any

import numpy as np

Rows = np.ndarray[Any, Any]


def mmd_all(left: Rows, right: Rows, *, warm: bool, arrangements: int, bandwidth: float) -> Any:  # noqa: ARG001  one form for all
    """The test as stages call it: three bandwidths, the median found in the data."""
    from assay.mmd import mmd_test

    found = mmd_test(left, right, None, None, num_permutations=arrangements)
    return {"mmd2": found.mmd2, "p": found.p_value}


def mmd_one(left: Rows, right: Rows, *, warm: bool, arrangements: int, bandwidth: float) -> Any:  # noqa: ARG001  one form for all
    """The peers' statistic: one kernel, at the same median."""
    from assay.mmd import mmd_test

    found = mmd_test(
        left, right, None, None, num_permutations=arrangements, bandwidth_factors=(1.0,)
    )
    return {"mmd2": found.mmd2, "p": found.p_value}


def frechet(left: Rows, right: Rows, *, warm: bool) -> Any:  # noqa: ARG001  one form for all
    from assay.frechet import frechet_distance

    return {"distance": frechet_distance(left, right)}


def kid(left: Rows, right: Rows, *, warm: bool, subsets: int, size: int) -> Any:  # noqa: ARG001  all pairs
    from assay.kernel_distance import kernel_distance

    found = kernel_distance(left, right)
    return {"distance": found.value, "error": found.standard_error}


def overlap(left: Rows, right: Rows, *, warm: bool, nearest: int) -> Any:  # noqa: ARG001  one form for all
    from assay import prdc

    found = prdc.overlap(left, right, nearest=nearest)
    return {
        "precision": found.precision,
        "recall": found.recall,
        "density": found.density,
        "coverage": found.coverage,
    }


def ks(left: Rows, right: Rows, *, warm: bool) -> Any:  # noqa: ARG001  one form for all
    from assay.ks import ks_distances, ks_p_values

    distances = ks_distances(left, right)
    return {
        "distances": distances.tolist(),
        "p": ks_p_values(distances, len(left), len(right)).tolist(),
    }

"""How far apart are two sets of features if both were Gaussian? The Frechet distance, a figure."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def frechet_distance(first: ArrayLike, second: ArrayLike) -> float:
    """Return the squared Frechet distance of two Gaussians with the features' moments.

    |m1 - m2|^2 + tr S1 + tr S2 - 2 tr (S1 S2)^(1/2) (Dowson and Landau 1982; the FID of Heusel et
    al. 2017), with unbiased covariances. The last trace is the nuclear norm of
    X1 X2^T / sqrt((n1 - 1) (n2 - 1)), where X are the centred rows: S1 S2 has the same eigenvalues
    other than 0 as that matrix times its transpose. So with fewer rows than features no matrix of
    features x features is made: time n1 n2 D + n^3, memory 2 n D + n1 n2. With more rows, X are
    replaced by triangular factors of D rows (QR), which have the same covariances.

    Never evidence: at n < D it is far from 0 between two draws of one distribution (some 3000 for
    unit Gaussians of 2048 features and 200 rows), it grows as n falls, and it has no null
    distribution. Compare two values only of the same numbers of rows.

    Args:
        first: (rows, features), finite; two rows or more.
        second: (rows, features) of the same width.

    Raises:
        ValueError: widths differ, a side has under two rows, or a value is not finite.
    """
    (mean1, root1), (mean2, root2) = _moments(first), _moments(second)
    if mean1.shape != mean2.shape:
        raise ValueError(f"widths differ: {len(mean1)} and {len(mean2)} features")
    shift = mean1 - mean2
    traces = np.vdot(root1, root1) + np.vdot(root2, root2)
    shared = np.linalg.svd(root1 @ root2.T, compute_uv=False).sum()
    return float(shift @ shift + traces - 2 * shared)


def _moments(features: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the (features,) mean and a (rows, features) root of the covariance: root^T root."""
    rows = np.asarray(features, dtype=np.float64)
    if rows.ndim != 2 or len(rows) < 2:  # noqa: PLR2004
        raise ValueError(f"a covariance needs (two rows or more, features): shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise ValueError("a distance needs finite features: leave the other rows out first")
    mean = rows.mean(axis=0)
    root = (rows - mean) / np.sqrt(len(rows) - 1)
    if len(root) > root.shape[1]:
        root = np.asarray(np.linalg.qr(root, mode="r"))
    return mean, root

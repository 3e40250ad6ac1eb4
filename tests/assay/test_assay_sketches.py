import numpy as np
import pytest

from assay.sketches import Moments, Quantiles

SHARES = [0.01, 0.25, 0.5, 0.75, 0.99]


def in_parts(make, rows, cuts):
    """Sketch each part by itself, then merge them in order."""
    first, *others = [make() for _ in range(len(cuts) + 1)]
    parts = np.split(rows, cuts)
    first.update(parts[0])
    for other, part in zip(others, parts[1:], strict=True):
        other.update(part)
        first.merge(other)
    return first


@pytest.mark.parametrize("cuts", [[], [1], [0, 40], [10, 10, 99]])
def test_moments_of_parts_are_those_of_the_whole(cuts):
    rows = np.random.default_rng(0).normal(size=(100, 3)) @ [[2, 0, 1], [0, 1, 3], [0, 0, 1]] + 5
    found = in_parts(lambda: Moments(3), rows, cuts)
    assert found.count == 100
    assert found.mean == pytest.approx(rows.mean(axis=0))
    assert found.covariance == pytest.approx(np.cov(rows, rowvar=False))


def test_moments_lose_no_digits_far_from_the_origin():
    rows = 1e8 + np.random.default_rng(0).normal(size=(3000, 1))
    found = in_parts(lambda: Moments(1), rows, range(100, 3000, 100))
    assert found.covariance[0, 0] == pytest.approx(rows.var(ddof=1), rel=1e-6)


def test_a_covariance_of_one_row_is_refused():
    found = Moments(2)
    found.update(np.ones((1, 2)))
    with pytest.raises(ValueError, match="two rows"):
        _ = found.covariance


def ranks_of(values, rows):
    return np.array([(rows <= value).mean(axis=0) for value in values])


@pytest.mark.parametrize(
    "cuts", [[], range(1000, 40_000, 1000), [3, 20_000]], ids=["at once", "40 parts", "unequal"]
)
def test_quantiles_keep_the_stated_error(cuts):
    generator = np.random.default_rng(0)
    rows = np.stack([generator.normal(size=40_000), np.arange(40_000.0)], axis=1)
    found = in_parts(lambda: Quantiles(2, capacity=128), rows, cuts)
    error = found.error(0.001)
    assert 0 < error < 0.05
    shares = np.array(SHARES)[:, None]
    assert abs(ranks_of(found.at(SHARES), rows) - shares).max() <= error
    points = np.quantile(rows, SHARES, axis=0)
    assert abs(found.ranks(points) - shares).max() <= error


def test_errors_are_as_rare_as_stated():
    rows = np.arange(20_000.0)
    misses = 0
    for seed in range(100):
        found = Quantiles(1, capacity=64, seed=seed)
        found.update(np.random.default_rng(seed).permutation(rows)[:, None])
        misses += abs(found.ranks([[9_999.0]])[0, 0] - 0.5) > found.error(0.2)
    assert misses <= 20


def test_few_rows_are_exact():
    rows = np.random.default_rng(0).normal(size=(101, 2))
    found = Quantiles(2)
    found.update(rows)
    assert found.error() == 0
    assert found.at([0.5]) == pytest.approx(np.median(rows, axis=0)[None])


def test_memory_is_bounded_and_no_row_gets_lost():
    found = Quantiles(1, capacity=64)
    for _ in range(100):
        found.update(np.random.default_rng(0).normal(size=(1000, 1)))
    assert sum(map(len, found.levels)) <= 64 * (2 + np.log2(100_000 / 64))
    assert sum(len(level) * 2**at for at, level in enumerate(found.levels)) == found.count


@pytest.mark.parametrize(
    "use",
    [
        pytest.param(lambda: Quantiles(1, capacity=3), id="an odd capacity"),
        pytest.param(lambda: Quantiles(1).update([[np.nan]]), id="nan"),
        pytest.param(lambda: Quantiles(1).update([[1.0, 2.0]]), id="another width"),
        pytest.param(lambda: Quantiles(1).merge(Quantiles(2)), id="sketches of two widths"),
        pytest.param(lambda: Quantiles(1).at(0.5), id="no rows"),
    ],
)
def test_what_cannot_be_sketched_is_refused(use):
    with pytest.raises(ValueError, match=r"capacity|finite|no row"):
        use()

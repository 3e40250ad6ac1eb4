import numpy as np
import pytest
from scipy.spatial.distance import cdist

from assay.prdc import overlap


def by_whole_matrices(real, sim, nearest):
    real_radii, sim_radii = (np.sort(cdist(side, side), axis=1)[:, nearest] for side in (real, sim))
    between = cdist(real, sim)
    inside = between < real_radii[:, None]
    return (
        inside.any(axis=0).mean(),
        (between < sim_radii).any(axis=1).mean(),
        inside.sum(axis=0).mean() / nearest,
        (between.min(axis=1) < real_radii).mean(),
    )


@pytest.mark.parametrize("block", [7, 16, 512])
@pytest.mark.parametrize("nearest", [1, 5])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_it_is_what_whole_matrices_of_distances_give(monkeypatch, block, nearest, kind):
    monkeypatch.setattr("assay.prdc.BLOCK", block)
    generator = np.random.default_rng(0)
    real = generator.normal(size=(60, 3)).astype(kind)
    sim = (generator.normal(size=(45, 3)) * 0.8 + 0.5).astype(kind)
    found = overlap(real, sim, nearest=nearest)
    expected = by_whole_matrices(real, sim, nearest)
    assert (found.precision, found.recall, found.density, found.coverage) == pytest.approx(expected)


def test_sets_far_apart_do_not_overlap():
    generator = np.random.default_rng(0)
    found = overlap(generator.normal(size=(30, 4)), 1e3 + generator.normal(size=(30, 4)))
    assert (found.precision, found.recall, found.density, found.coverage) == (0, 0, 0, 0)


def test_an_origin_far_away_does_not_matter():
    real, sim = np.random.default_rng(0).normal(size=(2, 50, 4))
    assert overlap(real + 1e6, sim + 1e6) == overlap(real, sim)


def test_copies_of_one_row_are_neighbours_at_no_distance():
    found = overlap(np.ones((9, 2)), np.ones((9, 2)), nearest=3)
    assert found.precision == 0  # the ball is open, as the definitions have it


@pytest.mark.parametrize(
    ("real", "sim"),
    [
        pytest.param(np.zeros((9, 2)), np.zeros((9, 4)), id="widths differ"),
        pytest.param(np.zeros((5, 2)), np.zeros((9, 2)), id="no fifth neighbour"),
        pytest.param(np.full((9, 2), np.nan), np.zeros((9, 2)), id="nan"),
    ],
)
def test_what_has_no_neighbours_is_refused(real, sim):
    with pytest.raises(ValueError, match=r"widths|neighbour"):
        overlap(real, sim)

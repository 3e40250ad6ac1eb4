import numpy as np
import pytest
from sklearn.decomposition import PCA

from assay.pca import project


@pytest.mark.parametrize("num_features", [5, 90], ids=["tall", "wide"])
def test_sides_of_one_size_and_centre_give_scikit_learns_axes(num_features):
    generator = np.random.default_rng(0)
    sim, real = generator.normal(size=(2, 40, num_features)) * np.arange(1, num_features + 1)
    found = project(sim, real)
    expected = PCA(2, svd_solver="full").fit(np.concatenate([sim, real]))
    both = expected.transform(np.concatenate([sim, real]))
    assert np.abs(np.concatenate([found.sim_xy, found.real_xy])) == pytest.approx(np.abs(both))
    assert found.explained == pytest.approx(expected.explained_variance_ratio_)


def test_the_larger_side_does_not_choose_the_axes():
    generator = np.random.default_rng(0)
    sim = generator.normal(size=(5000, 2)) * [3.0, 0.1]
    real = generator.normal(size=(50, 2)) * [0.1, 4.0]
    found = project(sim, real)
    assert found.real_xy[:, 0].std() > 10 * found.sim_xy[:, 0].std()


def test_swapping_the_sides_swaps_the_picture():
    sim, real = np.random.default_rng(0).normal(size=(2, 20, 4))
    there, back = project(sim, real), project(real, sim)
    assert there.sim_xy == pytest.approx(back.real_xy)
    assert there.explained == pytest.approx(back.explained)


@pytest.mark.parametrize(
    ("sim", "real", "explained"),
    [
        pytest.param(np.ones((3, 4)), np.ones((2, 4)), [0, 0], id="nothing varies"),
        pytest.param(np.eye(1, 3), np.zeros((2, 3)), [1, 0], id="one direction only"),
        pytest.param([[1.0], [2.0]], [[3.0]], [1, 0], id="one feature"),
    ],
)
def test_axes_beyond_the_rank_are_zero(sim, real, explained):
    found = project(sim, real)
    assert found.explained == pytest.approx(explained)
    assert found.sim_xy.shape == (len(sim), 2)


@pytest.mark.parametrize(
    ("sim", "real"),
    [
        pytest.param(np.ones((0, 2)), np.ones((2, 2)), id="no rows"),
        pytest.param(np.ones((2, 3)), np.ones((2, 2)), id="widths differ"),
        pytest.param(np.full((2, 2), np.nan), np.ones((2, 2)), id="nan"),
    ],
)
def test_what_cannot_be_drawn_is_refused(sim, real):
    with pytest.raises(ValueError, match="projection"):
        project(sim, real)

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import binom

from assay.mmd import BANDWIDTH_FACTORS, mmd_test


def sessions(generator, num_groups, rows, width, share=0.7):
    """Rows of which most of the variance belongs to their session."""
    groups = np.repeat(np.arange(num_groups), rows)
    shared = np.sqrt(share) * generator.normal(size=(num_groups, width))[groups]
    return shared + np.sqrt(1 - share) * generator.normal(size=(len(groups), width)), groups


def naive_mmd2(sim, real, bandwidth):
    def mean_kernel(left, right, *, same):
        pairs = [
            (i, j) for i in range(len(left)) for j in range(len(right)) if not (same and i == j)
        ]
        gaps = [((left[i] - right[j]) ** 2).sum() for i, j in pairs]
        return np.mean(np.exp(-np.array(gaps) / (2 * bandwidth**2)))

    within = mean_kernel(sim, sim, same=True) + mean_kernel(real, real, same=True)
    return within - 2 * mean_kernel(sim, real, same=False)


def test_statistics_are_those_of_naive_loops():
    generator = np.random.default_rng(0)
    sim, real = generator.normal(size=(12, 3)), 5 + generator.normal(size=(9, 3))
    found = mmd_test(sim, real, None, None)
    both = np.concatenate([sim, real])
    median = np.sort(cdist(both, both)[np.triu_indices(21, 1)])[105]
    assert found.bandwidths == pytest.approx(
        [factor * median for factor in BANDWIDTH_FACTORS], rel=1e-5
    )
    naive = [naive_mmd2(sim, real, bandwidth) for bandwidth in found.bandwidths]
    assert found.mmd2_bandwidths == pytest.approx(naive, abs=1e-6)
    assert found.mmd2 == found.mmd2_bandwidths[1]


def false_alarms(draw, num_trials=120):
    return sum(
        mmd_test(*draw(seed), num_permutations=99, seed=seed).p_value <= 0.05
        for seed in range(num_trials)
    )


def equal_sessions(seed):
    generator = np.random.default_rng(seed)
    sim, sim_groups = sessions(generator, 8, 12, 10)
    real, real_groups = sessions(generator, 8, 12, 10)
    return sim, real, sim_groups, real_groups


def unequal_sessions(seed):
    generator = np.random.default_rng(seed)
    sides = [sessions(generator, 40, 1, 10, share=0)[0], sessions(generator, 40, 1, 10, share=0)[0]]
    groups = [np.repeat(np.arange(12), generator.integers(2, 20, 12)) for _ in sides]
    means = [generator.normal(size=(12, 10))[g] for g in groups]
    sim, real = [m + 0.6 * generator.normal(size=m.shape) for m in means]
    return sim, real, *groups


def rows_against_sessions(seed):
    generator = np.random.default_rng(seed)
    real, real_groups = sessions(generator, 10, 12, 10)
    return generator.normal(size=(120, 10)), real, None, real_groups


@pytest.mark.parametrize(
    "draw",
    [
        pytest.param(equal_sessions, id="sessions of one size"),
        pytest.param(unequal_sessions, id="sessions of many sizes"),
        pytest.param(rows_against_sessions, id="independent sim rows against real sessions"),
    ],
)
def test_correlated_rows_raise_no_more_alarms_than_stated(draw):
    alarms = false_alarms(draw)
    assert alarms <= binom.ppf(0.999, 120, 0.05)


def test_forgetting_the_sessions_raises_alarms():
    def forgotten(seed):
        sim, real, _, _ = equal_sessions(seed)
        return sim, real, None, None

    assert false_alarms(forgotten, 50) >= 35


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda x: x + 0.6, id="shifted"),
        pytest.param(lambda x: x * 1.6, id="wider"),
        pytest.param(
            lambda x: np.sign(x) * np.abs(x) ** 0.1, id="same mean and nearly the same spread"
        ),
    ],
)
def test_a_change_is_seen(change):
    fired = 0
    for seed in range(20):
        sim, real = np.random.default_rng(seed).normal(size=(2, 150, 10))
        fired += mmd_test(sim, change(real), None, None, seed=seed).p_value <= 0.05
    assert fired >= 19


def test_a_change_is_seen_through_sessions():
    fired = 0
    for seed in range(20):
        sim, real, *groups = equal_sessions(seed)
        fired += mmd_test(sim, real + 1.5, *groups, seed=seed).p_value <= 0.05
    assert fired >= 18


@pytest.mark.parametrize(
    ("num_sim", "num_real", "smallest", "num_permutations"),
    [
        pytest.param(1, 4, 1 / 5, 4, id="one group against four"),
        pytest.param(3, 3, 2 / 20, 19, id="three against three, mirrored"),
        pytest.param(1, 1, 1, 1, id="one against one cannot be judged"),
    ],
)
def test_few_groups_are_enumerated_and_the_least_p_is_said(
    num_sim, num_real, smallest, num_permutations
):
    generator = np.random.default_rng(0)
    sim, sim_groups = sessions(generator, num_sim, 10, 4, share=0)
    real, real_groups = sessions(generator, num_real, 10, 4, share=0)
    found = mmd_test(sim, real + 9, sim_groups, real_groups)
    assert found.p_value == found.smallest_p_value == pytest.approx(smallest)
    assert (found.num_permutations, found.permuted) == (num_permutations, "groups")


def test_the_effect_is_one_scale_for_all_widths_and_numbers_of_rows():
    generator = np.random.default_rng(0)
    for num_rows, width in ((100, 4), (400, 4), (400, 256)):
        sim, real = generator.normal(size=(2, num_rows, width))
        assert mmd_test(sim, real, None, None).effect == pytest.approx(0.5, abs=0.08)
        far = mmd_test(sim, real + 10, None, None)
        assert far.effect == 1.0


def test_the_effect_of_a_shift_along_one_axis_is_the_normal_one():
    sim, real = np.random.default_rng(0).normal(size=(2, 800, 1))
    found = mmd_test(sim, real + 1.0, None, None)
    assert found.effect == pytest.approx(0.760, abs=0.03)  # Phi(1 / sqrt 2)


def test_the_effect_does_not_learn_sessions_by_heart():
    found = [mmd_test(*equal_sessions(seed), seed=seed).effect for seed in range(30)]
    assert np.mean(found) == pytest.approx(0.5, abs=0.06)
    assert mmd_test([[0.0], [1.0]], [[0.0], [1.0]], [0, 0], [0, 1]).effect is None


def test_units_do_not_matter():
    sim, real = np.random.default_rng(0).normal(size=(2, 60, 5))
    small, large = (mmd_test(sim * u, real * u + 1e3 * u, None, None) for u in (1e-6, 1e6))
    assert (small.p_value, small.effect) == (large.p_value, large.effect)
    assert small.mmd2 == pytest.approx(large.mmd2, abs=1e-6)


def test_a_seed_repeats():
    sim, real = np.random.default_rng(0).normal(size=(2, 60, 5))
    one, same, other = (
        mmd_test(sim, real, None, None, seed=seed, max_rows=40) for seed in (0, 0, 1)
    )
    assert one == same != other
    assert (one.num_sim, one.num_real) == (40, 40)


@pytest.mark.parametrize("fill", [0.0, 7.0], ids=["zeros", "a constant"])
def test_features_that_never_vary_do_not_differ(fill):
    found = mmd_test(np.full((20, 3), fill), np.full((20, 3), fill), None, None)
    assert (found.p_value, found.effect) == (1.0, 0.5)
    assert found.mmd2 == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize(
    ("sim", "real", "groups"),
    [
        pytest.param(np.zeros((3, 2)), np.zeros((3, 4)), None, id="widths differ"),
        pytest.param(np.zeros((1, 2)), np.zeros((3, 2)), None, id="one row"),
        pytest.param(np.full((3, 2), np.nan), np.zeros((3, 2)), None, id="nan"),
        pytest.param(np.zeros((3, 2)), np.zeros((3, 2)), [1, 2], id="a group missing"),
    ],
)
def test_what_cannot_be_tested_is_refused(sim, real, groups):
    with pytest.raises(ValueError, match=r"widths|two rows|finite|one group"):
        mmd_test(sim, real, groups, None)

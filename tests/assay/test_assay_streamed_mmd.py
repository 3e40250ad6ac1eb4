import numpy as np
import pytest
from scipy.stats import binom

from assay.mmd import mmd_test
from assay.streamed_mmd import MAX_UNITS, EmbeddedSums, pack_groups, streamed_mmd_test


def pieces(rows, size=37):
    return (rows[start : start + size] for start in range(0, len(rows), size))


def own_units(rows):
    return np.arange(len(rows))


def test_it_estimates_the_exact_mmd2_within_its_error():
    sim, real = np.random.default_rng(0).normal(size=(2, 300, 8))
    real = real * 1.2 + 0.2
    exact = mmd_test(sim, real, None, None)
    for seed in range(5):
        found = streamed_mmd_test(
            pieces(sim),
            pieces(real),
            own_units(sim),
            own_units(real),
            bandwidth=exact.median_distance,
            seed=seed,
        )
        assert found.mmd2 == pytest.approx(exact.mmd2, abs=4 * found.mmd2_error)
        assert found.p_value == exact.p_value == 0.005


def test_enough_frequencies_give_the_kernels_mean():
    rows = np.random.default_rng(0).normal(size=(6, 3))
    sums = EmbeddedSums(3, 1.5, 6, num_frequencies=20_000)
    sums.update(rows, np.arange(6))
    squared = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    for at, bandwidth in enumerate((6.0, 1.5, 0.375)):
        flat = sums.sums[at].reshape(6, -1)
        expected = np.exp(-squared / (2 * bandwidth**2))
        assert flat @ flat.T / 20_000 == pytest.approx(expected, abs=0.04)


def test_parts_merge_to_the_whole():
    rows = np.random.default_rng(0).normal(size=(90, 4))
    units = np.random.default_rng(1).integers(0, 7, 90)
    whole, first, second = (EmbeddedSums(4, 2.0, 7) for _ in range(3))
    whole.update(rows, units)
    first.update(rows[:30], units[:30])
    second.update(rows[30:], units[30:])
    first.merge(second)
    assert first.counts.tolist() == whole.counts.tolist()
    assert first.sums == pytest.approx(whole.sums, abs=1e-4)


def alarms(draw, num_trials=120):
    found = 0
    for seed in range(num_trials):
        sim, real, sim_groups, real_groups = draw(np.random.default_rng(seed))
        generator = np.random.default_rng(seed)
        units = [
            pack_groups(groups, int(other.max()) + 1, generator)
            for groups, other in ((sim_groups, real_groups), (real_groups, sim_groups))
        ]
        made = streamed_mmd_test(
            [sim], [real], *units, bandwidth=4.0, num_permutations=99, seed=seed, num_frequencies=32
        )
        found += made.p_value <= 0.05
    return found


def rows_alone(generator):
    sim, real = generator.normal(size=(2, 100, 5))
    return sim, real, np.arange(100), np.arange(100)


def sessions(generator):
    groups = np.repeat(np.arange(20), 10)
    sim, real = generator.normal(size=(2, 20, 5))[:, groups] + 0.5 * generator.normal(
        size=(2, 200, 5)
    )
    return sim, real, groups, groups


def lopsided(generator):
    sim, real = generator.normal(size=(600, 5)), generator.normal(size=(30, 5))
    return sim, real, np.arange(600), np.arange(30)


@pytest.mark.parametrize("most", [MAX_UNITS, 50], ids=["every group", "groups packed"])
@pytest.mark.parametrize("draw", [rows_alone, sessions, lopsided])
def test_alike_sets_raise_no_more_alarms_than_stated(monkeypatch, draw, most):
    monkeypatch.setattr("assay.streamed_mmd.MAX_UNITS", most)
    monkeypatch.setattr("assay.streamed_mmd.LEAST_UNITS", most // 10)
    assert alarms(draw) <= binom.ppf(0.999, 120, 0.05)


def test_whole_groups_are_packed_and_bounded():
    groups = np.repeat(np.arange(9000), 2)
    units = pack_groups(groups, 100, np.random.default_rng(0))
    assert units.max() + 1 <= MAX_UNITS
    assert (units[::2] == units[1::2]).all()
    few = pack_groups(np.arange(100), 9000, np.random.default_rng(0))
    assert sorted(few) == [*range(100)]


def test_a_row_without_a_unit_is_refused():
    rows = np.zeros((3, 2))
    with pytest.raises(ValueError, match="one unit a row"):
        streamed_mmd_test([rows], [rows], np.arange(2), np.arange(3), bandwidth=1.0)

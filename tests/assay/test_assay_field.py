"""What stands behind the examination of the field's data: oracles, laws, hand-computed tables."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage, stats

from assay import alter_detail, alter_pictures, alterations
from assay.class_prior import class_prior, estimate_shares
from assay.confusions import best_relabelling, confusion, systematic
from assay.domains import Domains
from assay.explanations import Tried, explain
from assay.gains import paired_gain
from assay.label_noise import confident_joint, doubts, median_of_neighbours, votes
from assay.proposals import propose
from assay.tensor_axes import Axes, axes_of


def domains(kind, sim, real, labels=None):
    names = [f"channel {at}" for at in range(sim.shape[1])]
    return Domains(
        kind, names, sim, real, np.arange(len(sim)), np.arange(len(real)), 0, *(labels or ())
    )


def test_tensors_come_back_as_they_were():
    for shape in [(4, 3, 8, 9), (4, 8, 9, 3), (4, 6, 50), (4, 50, 6), (4, 7, 8), (4, 5)]:
        values = np.random.default_rng(0).normal(size=shape).astype(np.float32)
        axes = axes_of(shape)
        made = axes.canonical(values)
        assert made.shape[0] == 4
        np.testing.assert_array_equal(axes.back(made), values)


@given(st.sampled_from(list(alter_pictures.TURNS)))
def test_each_turn_is_undone(name):
    picture = np.random.default_rng(0).normal(size=(2, 1, 5, 5))
    planted = {
        "rot90": lambda v: np.rot90(v, 1, (-2, -1)),
        "rot180": lambda v: np.rot90(v, 2, (-2, -1)),
        "rot270": lambda v: np.rot90(v, 3, (-2, -1)),
        "mirror": lambda v: v[..., ::-1],
        "upside": lambda v: v[..., ::-1, :],
        "transpose": lambda v: np.swapaxes(v, -2, -1),
        "antitranspose": lambda v: np.rot90(np.swapaxes(v, -2, -1), 2, (-2, -1)),
    }[name](picture)
    np.testing.assert_array_equal(alter_pictures.turned(planted, name), picture)


def test_filters_are_those_of_scipy():
    picture = np.random.default_rng(0).normal(size=(3, 2, 9, 11))
    np.testing.assert_allclose(
        alter_detail.median(picture), ndimage.median_filter(picture, (1, 1, 3, 3), mode="nearest")
    )
    expected = ndimage.gaussian_filter(picture, (0, 0, 0.7, 0.7), mode="nearest", truncate=3)
    np.testing.assert_allclose(alter_detail.blurred(0.7)(picture), expected, atol=1e-12)


def _pictures(channels, rows=60, side=16):
    generator = np.random.default_rng(3)
    made = ndimage.gaussian_filter(
        generator.normal(size=(rows, channels, side, side)), (0, 0, 1, 1)
    )
    return np.clip(0.4 + made, 0, 1)


def _proposed(sim, real):
    return {one.key: one for one in propose(domains("pictures", sim, real), 40)[0]}


@pytest.mark.parametrize("width", [0.8, 1.2, 2.0])
def test_simulation_is_blurred_by_the_width_of_the_field_whatever_its_contrast(width):
    sim = _pictures(1)
    for contrast in (1.0, 0.3):
        real = contrast * alter_detail.blurred(width)(sim)
        made = _proposed(sim, real)["sim-blur"].apply(sim)
        np.testing.assert_allclose(
            made.std(axis=(2, 3)), (real / contrast).std(axis=(2, 3)), rtol=0.1, atol=0.005
        )


def test_a_picture_that_is_burnt_out_has_no_dead_channel_and_simulation_is_cut_off_alike():
    sim = _pictures(3)
    real = np.minimum(3 * sim, 1)
    real[:30] = 1.0
    found = _proposed(sim, real)
    assert not [key for key in found if key.startswith(("mean-", "guess-", "sim-dead-"))]
    made = found["sim-burnt"].apply(sim)
    assert np.abs(made[30:] - real[30:]).mean() < 0.1
    assert made.max() <= sim.max()


def test_a_dead_colour_is_seen_through_what_shines_into_it_and_is_none_where_all_are_dark():
    sim = _pictures(3)
    leaking = sim.copy()
    leaking[:, 2] = 0.18 * sim[:, 0]
    assert "sim-dead-2" in _proposed(sim, leaking)
    assert not [key for key in _proposed(sim, 0.1 * sim) if "dead" in key]


def test_a_turned_sign_fits_the_distribution_that_it_turned():
    sim = np.random.default_rng(0).gamma(2, size=(200, 3))
    both = domains("table", sim, -sim)
    curves = {0: alterations.straight(-1, 0)}
    assert alterations.misfit(both, [0], curves) < 0.05
    found = {one.key: one.simplicity for one in propose(both, 40)[0]}
    assert found["inverted-0"] < found["standardise-0"]


def test_matched_quantiles_are_matched():
    generator = np.random.default_rng(0)
    sim, real = generator.gamma(2, 1, (4000, 1)), np.exp(generator.normal(size=(4000, 1)))
    seen = domains("table", sim, real)
    curve = alterations.through(seen.quantiles[1][0], seen.quantiles[0][0])
    assert stats.ks_2samp(curve(real[:, 0]), sim[:, 0]).statistic < 0.02
    assert np.all(np.diff(curve(np.linspace(-1, 30, 500))) > 0)


@pytest.mark.parametrize("kind", ["pictures", "signals", "table"])
def test_equal_distributions_give_no_claim_but_those_that_no_statistic_shows(kind):
    generator = np.random.default_rng(3)
    shape = {"pictures": (3, 10, 10), "signals": (6, 40), "table": (6,)}[kind]
    sim, real = (generator.normal(size=(300, *shape)) for _ in range(2))
    made, left_out = propose(domains(kind, sim, real), 40)
    claims = {one.kind for one in made if one.domain == "real" and one.family != "ablate"}
    assert claims <= {"turned", "inverted", "swapped_channel"}
    assert left_out == 0


def test_alterations_are_bounded_and_leave_their_rows_as_they_were():
    generator = np.random.default_rng(0)
    sim = generator.normal(size=(200, 6, 40))
    real = 3 * generator.normal(size=(200, 6, 40)) + np.arange(6)[:, None]
    made, left_out = propose(domains("signals", sim, real), 12)
    claims = [
        one for one in made if one.domain == "real" and one.family not in ("ablate", "transplant")
    ]
    assert len(claims) == 12
    assert left_out > 0
    before = real.copy()
    for one in made:
        assert one.apply(real).shape == real.shape
    np.testing.assert_array_equal(real, before)
    assert len({one.key for one in made}) == len(made)


def test_known_units_are_named_the_nearest_first():
    assert alterations.snapped(9.81)[1] == "9.81 (g and m/s²)"
    assert alterations.snapped(10.02)[1] == "10"
    assert alterations.snapped(1.5)[1] is None


def test_of_what_regains_the_same_the_simple_is_preferred():
    generator = np.random.default_rng(0)
    mended = (np.arange(100) < 40).astype(float)
    other = (np.arange(100) >= 70).astype(float)

    def tried(key, simplicity, gained):
        found = paired_gain(np.zeros(100), gained, None)
        return Tried(
            key=key,
            kind=key,
            where=None,
            simplicity=simplicity,
            gained=gained,
            interval=found.interval,
            p_value=0.001,
        )

    more = np.maximum(mended, (generator.random(100) < 0.03).astype(float))
    found = explain(
        [tried("histogram", 60, more), tried("offset", 10, mended), tried("turn", 10, other)],
        None,
        alpha=0.05,
        margin=0.02,
    )
    assert found.keys == ("offset", "turn")
    assert found.same_as == {"histogram": "offset"}


def test_shares_are_found_without_labels_and_their_cost_with_them():
    generator = np.random.default_rng(0)
    right = np.array([0.95, 0.9, 0.5])

    def world(rows, shares):
        labels = generator.choice(3, size=rows, p=shares)
        wrong = generator.random(rows) > right[labels]
        return labels, np.where(wrong, (labels + 1) % 3, labels)

    sim, real = world(3000, [1 / 3] * 3), world(1500, [0.1, 0.1, 0.8])
    groups = np.arange(1500) % 50
    found = class_prior(*sim, *real, groups, answered=real[1])
    np.testing.assert_allclose(found.estimated, [0.1, 0.1, 0.8], atol=0.06)
    expected = (1 / 3 - np.array([0.1, 0.1, 0.8])) @ right
    assert found.explains.low <= expected <= found.explains.high
    assert found.p_shift < 1e-6
    assert found.p_assumption > 0.05
    broken = np.where(generator.random(1500) < 0.4, (real[0] + 2) % 3, real[1])
    assert class_prior(*sim, real[0], broken, groups, answered=broken).p_assumption < 0.001


def test_shares_that_cannot_be_told_apart_are_not_guessed():
    labels = np.array([0, 0, 1, 1])
    assert estimate_shares(labels, np.zeros(4, int), np.zeros(9, int), np.arange(2)) is None


def test_few_groups_that_lean_to_a_class_each_are_seldom_called_another_mix():
    generator = np.random.default_rng(0)
    groups, called = np.repeat(np.arange(4), 40), 0
    for _ in range(200):
        sim = generator.integers(2, size=600)
        real = (generator.random(160) < generator.beta(7.5, 7.5, 4)[groups]).astype(int)
        found = class_prior(sim, sim, real, real, groups, answered=real, num_draws=1)
        called += found.p_shift < 0.05
    assert called / 200 < 0.06


def test_the_confident_joint_is_that_of_the_paper():
    # Thresholds: class 0 (.9 + .6 + .2) / 3 = .567, class 1 (.7 + .9 + .3) / 3 = .633.
    ones = np.array([0.1, 0.4, 0.8, 0.7, 0.9, 0.3])
    joint, sure = confident_joint(np.stack([1 - ones, ones], 1), np.array([0, 0, 0, 1, 1, 1]))
    assert joint.tolist() == [[2, 1], [1, 2]]
    assert sure.tolist() == [0, 0, 1, 1, 1, 0]


def test_neighbours_tell_wrong_labels_from_a_wrong_model():
    generator = np.random.default_rng(0)
    truth = generator.integers(2, size=400)
    features = truth[:, None] * 4 + generator.normal(size=(400, 2))
    groups = np.arange(400) % 20
    sure = np.where(truth[:, None] == np.arange(2), 0.95, 0.05)
    flipped = np.where(np.arange(400) % 5 == 0, 1 - truth, truth)
    noisy = doubts(sure, flipped, votes(features, flipped, groups, 2))
    assert noisy.confirmed.sum() > 70
    assert noisy.refuted.sum() < 5
    wrong = np.where((np.arange(400) % 5 == 0)[:, None], 1 - sure, sure)
    model = doubts(wrong, truth, votes(features, truth, groups, 2))
    assert model.refuted.sum() > 70
    assert model.confirmed.sum() < 5


def test_neighbours_are_of_other_groups_however_few_those_have():
    features, targets = np.arange(12.0)[:, None], np.append(np.zeros(11), 9.0)
    groups = np.append(np.zeros(11, int), 1)
    found = median_of_neighbours(features, targets, groups)
    assert found.tolist() == [9.0] * 11 + [0.0]


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        (lambda labels: (labels + 1) % 5, "off_by_one"),
        (lambda labels: 4 - labels, "mirrored"),
        (lambda labels: np.where(labels == 1, 3, labels), "swallowed"),
        (lambda labels: np.where(labels < 2, 1 - labels, labels), "exchanged"),
        (lambda labels: np.full_like(labels, 2), "everything_to_one"),
    ],
)
def test_systematic_errors_are_named(wrong, kind):
    labels = np.arange(200) % 5
    found = systematic(confusion(labels, wrong(labels), 5))
    assert kind in [one.kind for one in found]


def test_scattered_errors_have_no_name_and_a_map_is_found_where_there_is_one():
    generator = np.random.default_rng(0)
    labels = np.arange(500) % 5
    scattered = np.where(generator.random(500) < 0.3, generator.integers(5, size=500), labels)
    assert systematic(confusion(labels, scattered, 5)) == []
    order = generator.permutation(5)
    assert best_relabelling(confusion(labels, order[labels], 5)) == np.argsort(order).tolist()


def test_axes_of_a_table_of_pictures_is_a_table():
    assert axes_of((10, 784)) == Axes("table", 1)

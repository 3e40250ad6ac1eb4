"""Confidence against accuracy: laws, an oracle, and planted over-confidence."""

import numpy as np
import pytest

from assay.calibration import (
    brier,
    calibrate,
    certainty,
    coverage_sweep,
    equal_mass,
    expected_accuracy,
    histogram,
    precision_recall,
    probabilities,
)


def planted(rows=4000, over=0.0, seed=0):
    """Rows whose accuracy is their confidence less `over`."""
    generator = np.random.default_rng(seed)
    confidence = generator.uniform(0.55, 0.95, rows)
    return confidence, generator.random(rows) < confidence - over


def test_most_of_what_is_only_noise_is_taken_off():
    found = [calibrate(*planted(400, seed=seed), None, num_draws=300) for seed in range(60)]
    noise = np.mean([one.error.value for one in found])
    assert noise > 0.05  # though confidence is what it says
    assert np.mean([one.debiased for one in found]) < 0.65 * noise


@pytest.mark.parametrize("over", [0.1, -0.04])
def test_a_planted_gap_is_found_with_its_sign(over):
    found = calibrate(*planted(over=over), None, num_draws=300)
    assert found.over == pytest.approx(over, abs=0.02)
    assert found.debiased == pytest.approx(abs(over), abs=0.02)
    assert found.error.low <= found.error.value <= found.error.high
    assert found.error.low > 0


def test_the_interval_covers_the_error_of_a_miscalibrated_model():
    inside = 0
    for seed in range(100):
        error = calibrate(*planted(500, 0.12, seed), None, num_draws=300).error
        inside += error.low <= 0.12 <= error.high
    assert inside >= 88


def test_groups_that_err_together_widen_the_interval():
    confidence, correct = planted(800)
    groups = np.arange(800) // 80
    correct = np.where(groups % 5 == 0, False, correct)
    alone = calibrate(confidence, correct, None).error
    grouped = calibrate(confidence, correct, groups).error
    assert grouped.high - grouped.low > 1.5 * (alone.high - alone.low)
    assert grouped.groups == 10


def test_the_error_is_that_of_a_plain_loop():
    confidence, correct = planted(333, 0.07)
    found = calibrate(confidence, correct, None, num_bins=7, num_draws=20)
    order = np.argsort(confidence)
    parts = [order[np.arange(333) * 7 // 333 == at] for at in range(7)]
    naive = sum(abs(confidence[p].mean() - correct[p].mean()) * len(p) for p in parts) / 333
    assert found.error.value == pytest.approx(naive)
    assert sum(one.n for one in found.bins) == 333


def test_one_confidence_is_one_bin():
    found = calibrate(np.full(50, 0.8), np.arange(50) < 40, None, num_draws=50)
    assert len(found.bins) == 1
    assert found.error.value == pytest.approx(0)
    assert equal_mass(np.full(5, 0.2), 10).tolist() == [0] * 5


@pytest.mark.parametrize(
    ("outputs", "how"),
    [
        pytest.param([[0.2, 0.8]], "probabilities", id="they sum to one"),
        pytest.param([[0.2, 0.7]], "softmax of the outputs", id="they do not"),
        pytest.param([[-1.0, 2.0]], "softmax of the outputs", id="negative"),
        pytest.param([[0.3]], "probabilities", id="one share"),
        pytest.param([[3.0]], "sigmoid of the output", id="one logit"),
    ],
)
def test_outputs_are_read_as_what_they_are(outputs, how):
    found, said = probabilities(np.array(outputs))
    assert said == how
    assert found.shape[1] == 2
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_softmax_and_brier_are_those_of_scipy_and_sklearn():
    from scipy.special import softmax
    from sklearn.metrics import brier_score_loss

    generator = np.random.default_rng(0)
    outputs, labels = generator.normal(size=(200, 2)) * 300, generator.integers(2, size=200)
    shares, _ = probabilities(outputs)
    np.testing.assert_allclose(shares, softmax(outputs, axis=1), atol=1e-12)
    ours = brier(shares, labels).mean()
    assert ours == pytest.approx(2 * brier_score_loss(labels, shares[:, 1]))


def test_a_class_that_no_output_has_is_simply_missed():
    assert brier(np.array([[1.0, 0.0]]), np.array([5])).tolist() == [1.0]


def test_accuracy_rises_as_the_unsure_are_left_out():
    sweep = coverage_sweep(*planted())
    assert sweep[0].coverage == 1.0
    assert [one.coverage for one in sweep] == sorted((one.coverage for one in sweep), reverse=True)
    assert sweep[-1].accuracy > sweep[0].accuracy + 0.1


def test_rows_of_one_confidence_stay_together():
    assert len(coverage_sweep(np.full(9, 0.5), np.ones(9, bool))) == 1


def test_precision_and_recall_are_those_of_sklearn():
    from sklearn.metrics import precision_score, recall_score

    generator = np.random.default_rng(1)
    share, positive = generator.random(300), generator.random(300) < 0.3
    for point in precision_recall(share, positive):
        called = share >= point.threshold
        assert point.precision == pytest.approx(precision_score(positive, called))
        assert point.recall == pytest.approx(recall_score(positive, called))
    assert precision_recall(share, np.zeros(300, bool)) == ()


def test_accuracy_is_guessed_where_only_how_many_rows_are_hard_has_changed():
    generator = np.random.default_rng(2)

    def rows(hard):
        margin = np.where(generator.random(3000) < hard, 0.2, 3.0) * generator.random(3000)
        shares, _ = probabilities(np.stack([margin, np.zeros(3000)], axis=1))
        return certainty(shares), margin > 0.15 * generator.random(3000)

    sim, real = rows(0.1), rows(0.6)
    guess = expected_accuracy(*sim, real[0], None, num_draws=100, seed=0)
    assert sim[1].mean() > real[1].mean() + 0.1
    assert guess.value == pytest.approx(real[1].mean(), abs=0.05)


def test_a_histogram_holds_every_row():
    assert sum(histogram(np.array([0.0, 0.5, 1.0]))) == pytest.approx(1)

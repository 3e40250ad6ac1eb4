import numpy as np
import pytest

from assay.kernel_distance import kernel_distance


def by_loops(first, second):
    def kernel(x, y):
        return (x @ y / len(x) + 1) ** 3

    def within(rows):
        pairs = [(i, j) for i in range(len(rows)) for j in range(len(rows)) if i != j]
        return np.mean([kernel(rows[i], rows[j]) for i, j in pairs])

    return (
        within(first)
        + within(second)
        - 2 * np.mean([[kernel(x, y) for y in second] for x in first])
    )


@pytest.fixture(params=[3, 512], ids=["several blocks", "one block"])
def block(request, monkeypatch):
    monkeypatch.setattr("assay.kernel_distance.BLOCK", request.param)


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize(("kind", "near"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_it_is_the_mean_over_all_pairs(kind, near):
    generator = np.random.default_rng(0)
    first = generator.normal(size=(10, 4)).astype(kind)
    second = (generator.normal(size=(7, 4)) + 1).astype(kind)
    found = kernel_distance(first, second)
    expected = by_loops(first.astype(np.float64), second.astype(np.float64))
    assert found.value == pytest.approx(expected, rel=near, abs=near)
    assert (found.num_first, found.num_second) == (10, 7)


def test_it_has_no_bias_and_its_error_is_at_least_what_draws_show():
    found = [
        kernel_distance(*np.random.default_rng(seed).normal(size=(2, 40, 6))) for seed in range(300)
    ]
    values = np.array([one.value for one in found])
    assert abs(values.mean()) < 3 * values.std() / np.sqrt(300)
    assert np.mean([one.standard_error for one in found]) >= 0.95 * values.std()


def test_the_error_of_a_true_difference_is_about_right():
    found = []
    for seed in range(200):
        first, second = np.random.default_rng(seed).normal(size=(2, 80, 6))
        found.append(kernel_distance(first, second + 1))
    spread = np.std([one.value for one in found])
    assert np.mean([one.standard_error for one in found]) == pytest.approx(spread, rel=0.2)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(np.zeros((3, 2)), np.zeros((3, 4)), id="widths differ"),
        pytest.param(np.zeros((1, 2)), np.zeros((3, 2)), id="one row"),
        pytest.param(np.full((3, 2), np.nan), np.zeros((3, 2)), id="nan"),
    ],
)
def test_what_has_no_pairs_is_refused(first, second):
    with pytest.raises(ValueError, match=r"widths|two rows|finite"):
        kernel_distance(first, second)

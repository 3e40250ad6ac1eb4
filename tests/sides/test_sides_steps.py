import pytest

from sides.steps import align


def keys(slots):
    return [(slot.key, slot.reference, slot.candidate) for slot in slots]


def steps(names):
    return [{"name": name} for name in names.split()]


@pytest.mark.parametrize(
    ("reference", "candidate", "expected"),
    [
        pytest.param("a b", "a b", [("00_a", 0, 0), ("01_b", 1, 1)], id="the same names"),
        pytest.param("a", "z", [("00_a", 0, 0)], id="one step each is the whole"),
        pytest.param(
            "a b c", "a c", [("00_a", 0, 0), ("01_b", 1, None), ("02_c", 2, 1)], id="one left out"
        ),
        pytest.param(
            "a c", "a b c", [("00_a", 0, 0), ("01_b", None, 1), ("02_c", 1, 2)], id="one added"
        ),
        pytest.param(
            "a b c",
            "a z c",
            [("00_a", 0, 0), ("01_b", 1, None), ("02_z", None, 1), ("03_c", 2, 2)],
            id="one renamed",
        ),
    ],
)
def test_steps_are_paired_by_name(reference, candidate, expected):
    assert keys(align(steps(reference), steps(candidate))) == expected


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [
        pytest.param("a b", "b a", id="another order"),
        pytest.param("a b", "y z", id="no common name"),
    ],
)
def test_what_cannot_be_paired_is_not_guessed(reference, candidate):
    assert align(steps(reference), steps(candidate)) is None

"""Laws of the explanation library: what was done is named, what was not done is never named."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.explain.library import explain

SLOW = settings(
    max_examples=4, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
SEEDS = st.integers(0, 10**6)


def smooth(values, axes, times):
    for _ in range(times):
        values = sum(np.roll(values, by, a) for a in axes for by in (-1, 0, 1)) / (3 * len(axes))
    return values


def pictures(seed, rows=8, side=16, times=1):
    images = smooth(np.random.default_rng(seed).random((rows, side, side, 3)), (1, 2), times)
    return (images - images.min()) / np.ptp(images)


def series(seed, rows=16, channels=4, length=64):
    return smooth(np.random.default_rng(seed).normal(size=(rows, channels, length)), (2,), 1)


def table(seed, rows=40, columns=8):
    return np.random.default_rng(seed).normal(size=(rows, columns))


def per_channel(values, rng, low, high):
    return rng.uniform(low, high, values.shape[-1])


ORDERS = [[1, 2, 0], [2, 1, 0], [1, 0, 2]]
PICTURES = {
    "scale": lambda x, rng: x * rng.choice([255, 256, 1 / 255, 10]),
    "invert": lambda x, rng: rng.choice([1.0, 255.0]) - x,
    "flip_horizontal": lambda x, rng: x[:, :, ::-1],
    "rotate_90": lambda x, rng: np.rot90(x, 1, (1, 2)),
    "transpose": lambda x, rng: x.swapaxes(1, 2),
    "channel_permutation": lambda x, rng: x[..., ORDERS[rng.integers(3)]],
    "channel_affine": lambda x, rng: x * per_channel(x, rng, 0.3, 3) + per_channel(x, rng, -1, 1),
    "gamma": lambda x, rng: x ** rng.choice([2.2, 0.5, 1.8, 0.4]),
    "quantise": lambda x, rng: np.rint(x * (n := int(rng.integers(6, 40)))) / n,
    "clip": lambda x, rng: np.clip(x, *np.quantile(x, [rng.uniform(0.05, 0.2), 0.9])),
    "shift": lambda x, rng: np.roll(x, (int(rng.integers(1, 4)), int(rng.integers(1, 4))), (1, 2)),
    "blur": lambda x, rng: smooth(x, (1,), 1) if rng.random() < 0.5 else smooth(x, (1, 2), 2),
    "colour_matrix": lambda x, rng: x @ (np.eye(3) + rng.uniform(-0.5, 0.5, (3, 3))),
    "layout_transpose": lambda x, rng: x.transpose(0, 3, 1, 2),
    "crop": lambda x, rng: x[:, 1 : 12 + rng.integers(3), 2:14],
    "some_rows+rotate_180": lambda x, rng: np.concatenate([x[:2, ::-1, ::-1], x[2:]]),
}
SERIES = {
    "lag": lambda x, rng: np.concatenate([np.roll(x[:, :1], rng.integers(2, 9), 2), x[:, 1:]], 1),
    "time_reversed": lambda x, rng: x[:, :, ::-1],
    "resampled": lambda x, rng: np.repeat(x[:, :, :: (k := rng.choice([2, 4]))], k, 2),
    "unit_ratio": lambda x, rng: x * np.array([1, rng.choice([9.80665, 1000, 60]), 1, 1])[:, None],
    "channel_permutation": lambda x, rng: x[:, [1, 0, 3, 2]],
    "mean_removed": lambda x, rng: x - x.mean(2, keepdims=True),
    "scale": lambda x, rng: x * rng.choice([9.80665, 3.6, 1000]),
}
TABLES = {
    "channel_permutation": lambda x, rng: x[:, np.roll(rng.permutation(8), 1)],
    "unit_ratio": lambda x, rng: x * np.where(np.arange(8) == rng.integers(8), 1000.0, 1.0),
    "channel_affine": lambda x, rng: x * per_channel(x, rng, 0.2, 7) + per_channel(x, rng, -2, 2),
    "channel_drop": lambda x, rng: np.delete(x, rng.integers(8), 1),
    "affine": lambda x, rng: rng.uniform(2.1, 2.4) * x + rng.uniform(3.1, 3.3),
}
ALL = [
    *((name, make, pictures) for name, make in PICTURES.items()),
    *((name, make, series) for name, make in SERIES.items()),
    *((name, make, table) for name, make in TABLES.items()),
]
IDS = [f"{data.__name__} {kind}" for kind, _, data in ALL]
# Kinds that say the same of these data.
SAME = {
    "channel_permutation": {"channel_copy"},
    "colour_matrix": {"linear_map"},
    "blur": {"sharpen"},
    "gamma": {"monotone_curve"},
}


@pytest.mark.parametrize(
    ("kind", "make", "data"), ALL, ids=[f"{d.__name__} {k}" for k, _, d in ALL]
)
@SLOW
@given(seed=SEEDS)
def test_what_was_done_is_named(kind, make, data, seed):
    before = data(seed)
    after = make(before, np.random.default_rng(seed))
    found = explain(before, after)
    assert found is not None
    assert found.kind in {kind, "identity", *SAME.get(kind, ())}, found.name
    assert found.residual_explained >= 0.99


@pytest.mark.parametrize(
    ("kind", "make", "data"), ALL, ids=[f"{d.__name__} {k}" for k, _, d in ALL]
)
@settings(SLOW, max_examples=2)
@given(seed=SEEDS, decimals=st.integers(3, 5))
def test_rounding_on_top_gives_the_same_name_or_none(kind, make, data, seed, decimals):
    before = data(seed)
    after = np.round(make(before, np.random.default_rng(seed)), decimals)
    found = explain(before, after)
    # Values of a millionth are nothing but their rounding.
    parts = set() if found is None else set(found.parts)
    wanted = set(kind.split("+")) | {"identity"} | SAME.get(kind, set())
    close = {"scale", "affine", "offset", "invert", "quantise", "channel_affine", "normalisation"}
    assert parts <= wanted | close, found.name


@pytest.mark.parametrize("data", [pictures, series, table])
@settings(SLOW, max_examples=2)
@given(seed=SEEDS)
def test_unrelated_data_are_unknown(data, seed):
    assert explain(data(seed), data(seed + 1)) is None


@pytest.mark.parametrize("data", [pictures, series, table])
@settings(SLOW, max_examples=2)
@given(seed=SEEDS, size=st.floats(0.15, 1))
def test_noise_is_unknown(data, seed, size):
    before = data(seed)
    noise = np.random.default_rng(seed + 1).normal(size=before.shape)
    assert explain(before, before + size * before.std() * noise) is None


PAIRS = [
    ("rotate_90", "scale"),
    ("channel_permutation", "gamma"),
    ("blur", "scale"),
    ("shift", "invert"),
]


@pytest.mark.parametrize("pair", PAIRS, ids="+".join)
@settings(SLOW, max_examples=2)
@given(seed=SEEDS)
def test_two_in_a_row_are_both_named(pair, seed):
    before, rng = pictures(seed), np.random.default_rng(seed)
    after = PICTURES[pair[1]](PICTURES[pair[0]](before, rng), rng)
    found = explain(before, after)
    assert found is not None
    assert set(found.parts) == set(pair), found.name


def test_decoys_are_not_named():
    rng = np.random.default_rng(0)
    flat = np.full((8, 16, 16, 3), 0.5)
    assert explain(flat, pictures(0)) is None, "nothing comes of a constant"
    assert explain(pictures(0), flat) is None, "nor of anything a constant"
    assert explain(flat, 2 * flat) is None, "a constant tells no factor from an offset"
    ids = rng.integers(0, 50, (40, 6))
    assert explain(ids, rng.integers(0, 50, (40, 6))) is None, "no table of codes"
    boxes = rng.random((40, 8))
    assert explain(boxes, rng.random((40, 8))) is None, "no format of boxes"
    assert explain(table(0)[:6], table(1)[:6]) is None, "few rows fit no linear map"

"""Each explainer of tables, series and codes on a planted transform."""

import numpy as np
import pytest

from assay.explain.library import explain
from assay.explain.units import known

RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(60, 8))
MISSING = RNG.random(TABLE.shape) < 0.1
HOLES = np.where(MISSING, np.nan, TABLE)
SERIES = RNG.normal(size=(16, 6, 80)).cumsum(axis=2)
CORNERS = RNG.random((40, 5, 2)) * 50
SIZES = 1 + RNG.random((40, 5, 2)) * 20
XYWH = np.concatenate([CORNERS, SIZES], axis=2)
XYXY = np.concatenate([CORNERS, CORNERS + SIZES], axis=2)
MIDDLES = np.concatenate([CORNERS + SIZES / 2, SIZES], axis=2)
IDS = RNG.integers(0, 30, (40, 50))


def times(**factors):
    column = np.ones(8)
    for name, factor in factors.items():
        column[int(name[1:])] = factor
    return TABLE * column


def late(by, channel=2):
    moved = SERIES.copy()
    moved[:, channel, by:] = SERIES[:, channel, :-by]
    moved[:, channel, :by] = SERIES[:, channel, :1]
    return moved


def read_at(rate):
    at = np.clip(np.arange(80) * rate, 0, 79)
    return np.stack([[np.interp(at, np.arange(80), c) for c in row] for row in SERIES])


def some(rows, factor):
    return np.where(np.arange(len(SERIES))[:, None, None] < rows, factor, 1) * SERIES


CELSIUS = 20 + 10 * TABLE
FAHRENHEIT = np.where(np.arange(8) == 4, CELSIUS * 1.8 + 32, CELSIUS)
BANDS = np.abs(SERIES)
FILTERS = RNG.random((4, 6))
PLANTED = [
    (TABLE, times(c3=1000), "unit_ratio", "column 3 multiplied by 1000"),
    (TABLE, times(c3=60, c5=0.3048), "unit_ratio", "column 5 multiplied by 0.3048 (feet and m)"),
    (CELSIUS, FAHRENHEIT, "unit_ratio", "column 4 from Celsius to Fahrenheit"),
    (TABLE, times(c3=1.37), "channel_affine", "column 3 multiplied by 1.37"),
    (TABLE, np.delete(TABLE, 5, 1), "channel_drop", "7 columns instead of 8: column 5 left out"),
    (TABLE, np.insert(TABLE, 5, 0.0, 1), "channel_add", "columns put in at 5"),
    (np.exp(TABLE), TABLE, "logarithm", "log x"),
    (np.abs(TABLE), 100 * np.log1p(0.05 * np.abs(TABLE)), "logarithm", "0.05 |x|), times 100"),
    (TABLE, np.sign(TABLE) * np.log1p(63 * np.abs(TABLE)), "logarithm", "log(1 + 63 |x|)"),
    (TABLE, np.abs(TABLE), "rectified", "the sign dropped"),
    (HOLES, np.where(MISSING, 0, TABLE), "missing_value", "missing values became 0"),
    (HOLES, np.where(MISSING, -999, TABLE), "missing_value", "missing values became -999"),
    (np.where(MISSING, -1, TABLE), HOLES, "missing_value", "-1 became missing values"),
    (np.where(MISSING, -1, TABLE), np.where(MISSING, 0, TABLE), "missing_value", "-1 became 0"),
    (
        HOLES,
        np.where(MISSING, np.nanmean(HOLES, 0), TABLE),
        "missing_value",
        "missing values became each column's mean",
    ),
    (HOLES, 1000 * np.where(MISSING, 0, TABLE), "missing_value+scale", "then multiplied by 1000"),
    (XYXY, XYWH, "box_format", "boxes as xywh (corner and size) instead of xyxy"),
    (XYWH, MIDDLES, "box_format", "boxes as cxcywh (middle and size) instead of xywh"),
    (MIDDLES.reshape(40, -1), XYXY.reshape(40, -1), "box_format", "boxes as xyxy"),
    (XYXY, XYXY[..., [1, 0, 3, 2]], "box_format", "x and y of boxes exchanged"),
    (IDS, RNG.permutation(30)[IDS], "code_table", "codes exchanged"),
    (IDS, IDS + 1, "offset", "1 added"),
    (SERIES, late(5), "lag", "channel 2 5 steps late"),
    (SERIES, 3.6 * late(5), "lag+scale", "then multiplied by 3.6"),
    (SERIES, SERIES[..., ::-1], "time_reversed", "reversed in time"),
    (SERIES, SERIES[..., ::4].repeat(4, 2), "resampled", "every 4. value kept and held"),
    (SERIES, read_at(22.05 / 16), "resampled", "read at 1.378 times its rate"),
    (SERIES, SERIES - SERIES.mean(2, keepdims=True), "mean_removed", "the mean of each channel"),
    (SERIES, some(5, 32768.0), "some_rows+scale", "on 31 % of the rows: multiplied by 32768"),
    (BANDS, np.einsum("fc,nct->nft", FILTERS, BANDS), "linear_map", "4x6, rank 4"),
]


@pytest.mark.parametrize(
    ("reference", "candidate", "kind", "text"), PLANTED, ids=[f"{k} {t}" for *_, k, t in PLANTED]
)
def test_a_planted_transform_is_named(reference, candidate, kind, text):
    found = explain(reference, candidate)
    assert found is not None
    assert found.kind == kind, found.name
    assert text in found.name
    assert found.residual_explained >= 0.99


SOUND = np.cumsum(RNG.normal(size=(20, 200)), axis=1)


@pytest.mark.parametrize(
    ("candidate", "kind"),
    [
        (SOUND[:, ::-1], "time_reversed"),
        (SOUND[:, ::2], "resampled"),
        (np.pad(SOUND, ((0, 0), (5, 0)), mode="edge")[:, :-5], "shift"),
        (SOUND / 32768, "scale"),
        (SOUND - SOUND.mean(axis=1, keepdims=True), "mean_removed"),
    ],
    ids=["reversed", "thinned", "moved", "scaled", "centred"],
)
def test_moments_of_one_sensor_are_no_columns(candidate, kind):
    assert explain(SOUND, candidate).kind == kind


def test_a_gain_for_each_band_is_one_explanation():
    mel = np.abs(RNG.normal(size=(12, 30, 40)))
    found = explain(mel, mel * np.linspace(1, 0.1, 30)[:, None])
    assert found.kind == "band_gain"


def test_columns_of_the_same_marginals_are_told_by_their_rows():
    rows = RNG.permuted(np.tile(np.sort(RNG.normal(size=60))[:, None], 12), axis=0)
    order = RNG.permutation(12)
    assert explain(rows, rows[:, order]).parameters["order"] == order.tolist()


def test_a_constant_that_clipping_left_is_no_missing_value():
    assert explain(TABLE, np.clip(TABLE, -1, None)).kind == "clip"


def test_a_linear_map_must_fit_rows_that_did_not_make_it():
    assert explain(RNG.normal(size=(30, 10)), RNG.normal(size=(30, 4))) is None


@pytest.mark.parametrize(
    ("slope", "offset", "text"),
    [
        (3.6, 0.0, "multiplied by 3.6"),
        (1.8, 32.0, "Fahrenheit"),
        (1.0, 0.0, ""),
        (1 / 60, 0, "1/60"),
    ],
)
def test_units_are_known_by_their_line(slope, offset, text):
    assert text in known(slope, offset, 20.0)[2]
    assert known(1.234, 0.0, 20.0) is None


INK = np.minimum(RNG.gamma(0.9, 5, (40, 8, 8)), 16).astype(int).astype(float)


@pytest.mark.parametrize("gain", [1.4, 1.8, 2.6])
def test_a_gain_that_runs_over_a_types_end_is_told_by_its_period(gain):
    gain *= 255 / 16
    found = explain(INK, (INK * gain).astype(np.int64).astype(np.uint8) / gain)
    assert found.kind == "wrap"
    assert found.parameters["period"] == pytest.approx(256 / gain, rel=0.02)


@pytest.mark.parametrize("cut", [np.rint, np.trunc, lambda x: np.floor(x + 0.5)])
def test_fractions_cast_to_two_whole_numbers_were_rounded(cut):
    assert explain(INK / 16, cut(INK / 16)).kind == "quantise"


def test_steps_of_a_half_are_found_where_each_level_was_cut_to_a_whole_number():
    values = RNG.integers(0, 256, (20, 8, 8))
    coarse = (127.5 * np.floor(values / 127.5)).astype(np.uint8)
    assert explain(values, coarse).kind == "quantise"


def test_a_line_in_a_table_leaves_nothing_but_rounding():
    table = RNG.normal(5, 1, (40, 4))
    table[:, 0] = 20 + 0.6 * RNG.normal(size=40)
    mixed = table.copy()
    mixed[:, 1] *= table[:, 0] / 40
    assert explain(table, mixed) is None
    other = table.copy()
    other[:, 1] = np.round(table[:, 1] * 3.6, 1)
    assert "affine" in explain(table, other).kind or explain(table, other).kind == "unit_ratio"

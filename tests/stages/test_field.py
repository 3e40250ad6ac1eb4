"""A fault in the field's data is named with what undoing it regains; what is no fault is not."""

import numpy as np
import planted_field
import pytest
from scipy.ndimage import gaussian_filter1d

from stages.reports.field import FieldReport
from stages.stage import NotApplicable, to_json


def channel(at, change):
    def fault(values, generator):
        made = values.copy()
        made[:, at] = change(made[:, at], generator)
        return made

    return fault


def exchanged(one, other):
    def fault(values, _):
        made = values.copy()
        made[:, [one, other]] = made[:, [other, one]]
        return made

    return fault


def added(channels, what):
    def fault(values, _):
        made = values.copy()
        made[:, channels] += what
        return made

    return fault


def late(at, by):
    def change(values, _):
        return values[:, np.clip(np.arange(values.shape[-1]) - by, 0, None)]

    return channel(at, change)


def held(values, generator):
    made = values.copy()
    for row in made:
        start = generator.integers(2, 12)
        row[start:] = row[start]
    return made


def noise(size):
    return lambda values, generator: values + generator.normal(0, size, values.shape)


def at_one_value(values, generator):
    return np.where(generator.random(len(values)) < 0.5, -99.0, values)


def dead(values, _):
    return 0 * values


PLANTED = {
    "a picture turned": ("pictures", lambda v, _: np.rot90(v, 1, (-2, -1)), "turned", None),
    "light for dark": ("pictures", lambda v, _: 1 - v, "inverted", None),
    "more light": ("pictures", lambda v, _: np.clip(1.8 * v, 0, 1), "exposure", None),
    "a gamma": ("pictures", lambda v, _: v**2.2, "exposure", None),
    "less contrast": ("pictures", lambda v, _: 0.4 * (v - 0.35) + 0.35, "contrast", None),
    "noise in pictures": ("pictures", noise(0.3), "sensor_noise", None),
    "a colour that is dead": ("pictures", channel(0, dead), "dead_channel", "red"),
    "gravity": ("signals", added([0, 1, 2], 1.5), "channel_offset", "channels 0-2"),
    "g for m/s2": ("signals", channel(0, lambda v, _: 9.81 * v), "channel_scale", "channel 0"),
    "a sign": ("signals", channel(1, lambda v, _: -v), "inverted", "channel 1"),
    "two axes": ("signals", exchanged(0, 2), "swapped_channel", "channels 0, 2"),
    "noise in signals": ("signals", noise(1.5), "sensor_noise", "channels 0-5"),
    "a late sensor": ("phases", late(1, 4), "lag", "channel 1"),
    "a dead sensor": ("phases", channel(1, dead), "dead_channel", "channel 1"),
    "a sensor that sticks": ("phases", channel(1, held), "stuck_value", "channel 1"),
    "smoothing": ("phases", lambda v, _: gaussian_filter1d(v, 4, axis=-1), "blur", "channels 0-2"),
    "an offset": ("table", added([1], 6.0), "channel_offset", "column 1"),
    "inches": ("table", channel(4, lambda v, _: 2.54 * v), "channel_scale", "column 4"),
    "two columns": ("table", exchanged(1, 4), "swapped_channel", "columns 1, 4"),
    "a word for nothing": ("table", channel(4, at_one_value), "stuck_value", "column 4"),
    "noise": (
        "table",
        lambda v, g: v + 0.9 * v.std(0) * g.normal(size=v.shape),
        "sensor_noise",
        None,
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_the_first_suspect_with_its_place_and_its_cost(name, tmp_path):
    kind, fault, expected, where = PLANTED[name]
    found = planted_field.examine(tmp_path / "w", kind, fault)
    assert isinstance(found, FieldReport)
    first = found.suspects[0]
    assert first.kind == expected
    assert where is None or first.where == where
    assert first.cost is not None
    assert first.cost.value >= 0.6 * found.gap.value
    assert first.cost.low > 0
    to_json(found)  # finite


@pytest.mark.parametrize("kind", planted_field.KINDS)
def test_without_a_loss_there_is_nothing_to_explain(kind, tmp_path):
    found = planted_field.examine(tmp_path / "w", kind)
    assert isinstance(found, NotApplicable)
    assert "not surely worse" in found.not_applicable


@pytest.mark.parametrize("kind", ["pictures", "signals", "table"])
def test_what_the_simulator_never_showed_is_given_no_other_name(kind, tmp_path):
    found = planted_field.examine(tmp_path / "w", kind, novel=0.6)
    assert [one.kind for one in found.suspects] == ["unknown"]
    assert found.remaining.value == pytest.approx(found.gap.value)


def wrong_labels(labels, generator):
    hit = generator.random(len(labels)) < 0.3
    labels[hit] = (labels[hit] + generator.integers(1, 4, hit.sum())) % 4
    return labels


@pytest.mark.parametrize("kind", ["pictures", "signals", "table"])
def test_wrong_labels_are_told_from_a_wrong_model(kind, tmp_path):
    found = planted_field.examine(tmp_path / "w", kind, labels=wrong_labels)
    assert found.suspects[0].kind == "label_noise"
    assert found.suspects[0].cost.value == pytest.approx(0.3, abs=0.1)
    novel = planted_field.examine(tmp_path / "n", kind, novel=0.6)
    assert "label_noise" not in [one.kind for one in novel.suspects]


def test_numbers_are_examined_too(tmp_path):
    moved = planted_field.examine(tmp_path / "a", "table", added([1], 3.0), regression=True)
    assert moved.suspects[0].kind == "channel_offset"
    assert moved.suspects[0].where == "column 1"

    def outlying(targets, generator):
        return np.where(generator.random(len(targets)) < 0.08, targets + 30, targets)

    wrong = planted_field.examine(tmp_path / "b", "table", labels=outlying, regression=True)
    assert (wrong.suspects[0].kind, wrong.suspects[0].where) == ("label_noise", "targets")
    offset = planted_field.examine(
        tmp_path / "c", "table", labels=lambda y, _: y + 8, regression=True
    )
    assert offset.suspects[0].where == "targets"
    assert isinstance(
        planted_field.examine(tmp_path / "d", "table", regression=True), NotApplicable
    )


def test_the_page_has_what_its_charts_need(tmp_path):
    found = planted_field.examine(tmp_path / "w", "phases", late(1, 4))
    assert {one.channel for one in found.ablation} == {"channel 0", "channel 1", "channel 2"}
    assert 0 in {one.lag for one in found.lags}
    assert [one.name for one in found.triage][:2] == [
        "simulation",
        "real, the reference's preprocessing",
    ]
    lag = next(one for one in found.lags if one.channel == "channel 1" and one.lag == 4)
    still = next(one for one in found.lags if one.channel == "channel 1" and one.lag == 0)
    assert lag.level.value > still.level.value + 0.5
    same = [one for one in found.experiments if one.same_as]
    assert all(one.same_as in {it.key for it in found.experiments} for one in same)

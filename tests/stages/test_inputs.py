"""A planted difference of raw samples leads the list; nothing is named where nothing differs."""

import json

import numpy as np
import pytest
from PIL import Image

from stages.inputs import Inputs, InputsParams, _kinds_in_turn, run
from stages.reports.inputs import InputsReport
from stages.stage import NotApplicable, to_json

ROWS, GROUPS = 120, 20


def examine(tmp_path, sim, real, *, groups=GROUPS, **params):
    """Samples as arrays, or as lists of pictures that become files."""
    lines = ["dataset,id,row,path,label,group,role"]
    for name, samples in (("sim", sim), ("real", real)):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        files = isinstance(samples, list)
        if not files:
            np.save(folder / "samples.npy", samples)
        for at, sample in enumerate(samples):
            if files:
                Image.fromarray(sample).save(folder / f"{at}.png")
            place = f",{at}.png" if files else f"{at},"
            role = "validation" if name == "sim" else ("diagnose", "prove")[at % 2]
            lines.append(f"{name},{name}{at},{place},0,g{at % groups},{role}")
    (tmp_path / "roles.csv").write_text("\n".join(lines) + "\n")
    given = InputsParams(**({"num_permutations": 1999, "resamples": 100} | params))
    places = Inputs(roles=tmp_path / "roles.csv", sim=tmp_path / "sim", real=tmp_path / "real")
    return run(given, places, tmp_path)


def pictures(seed, light=0, noise=4.0):
    generator = np.random.default_rng(seed)
    values = 120 + light + generator.normal(0, 20, (ROWS, 1, 1)) + generator.normal(
        0, noise, (ROWS, 16, 16)
    )  # fmt: skip
    return np.clip(values, 0, 255).astype(np.uint8)


def named(report):
    return [one.name for one in report.statistics if one.differs]


def test_nothing_is_named_where_nothing_differs(tmp_path):
    report = examine(tmp_path, pictures(1), pictures(2)).report
    assert isinstance(report, InputsReport)
    assert (report.kind, named(report), report.can_tell) == ("pictures", [], True)
    assert (report.num_sim, report.num_real) == (ROWS, ROWS // 2)  # what proves is not looked at


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param({"light": 60}, "brightness", id="another light"),
        pytest.param({"noise": 12.0}, "noise", id="another noise"),
    ],
)
def test_a_planted_difference_of_pictures_is_named(tmp_path, change, expected):
    report = examine(tmp_path, pictures(1), pictures(2, **change)).report
    found = next(one for one in report.statistics if one.name == expected)
    assert found.differs
    assert found.effect.low > 0.6
    assert found.histogram is not None
    assert sum(found.histogram.real) == pytest.approx(1)


def test_files_tell_their_size_and_mode(tmp_path):
    sim = [picture[:12] for picture in pictures(1)]
    real = [np.stack([picture] * 3, axis=-1) for picture in pictures(2)]
    report = examine(tmp_path, sim, real).report
    by_name = {one.name: one for one in report.statistics}
    assert by_name["mode"].distance == 1.0
    assert by_name["mode"].histogram.words == ["L", "RGB"]
    assert (by_name["height"].mean_sim, by_name["height"].mean_real) == (12, 16)
    assert "height" in named(report)


def test_a_dead_channel_and_a_lag_of_signals_are_named(tmp_path):
    generator = np.random.default_rng(0)
    waves = np.sin(np.arange(64) / 3 + generator.uniform(0, 6, (2, ROWS, 1)))
    sim, real = (
        np.stack([wave, np.roll(wave, shift, axis=1), noise], axis=2)
        for wave, shift, noise in zip(
            waves, (0, 3), generator.normal(size=(2, ROWS, 64)), strict=True
        )
    )
    real[:, :, 2] = 0.5
    report = examine(tmp_path, sim, real).report
    assert report.kind == "signals"
    assert {"channel 2 deviation", "channel 2 stuck", "lag 0-1"} <= set(named(report))


def test_columns_of_a_table_are_named_and_summed_up(tmp_path):
    pytest.importorskip("evidently")
    generator = np.random.default_rng(0)
    sim, real = generator.normal(size=(2, ROWS, 3)).astype(np.float32)
    real[:, 1] += 2
    made = examine(tmp_path, sim, real, columns=["carbon", "ash"])
    assert made.report.kind == "table"
    assert named(made.report) == ["ash"]
    assert made.report.statistics[0].name == "ash"
    summary = json.loads(made.summary)
    assert summary["real"]["MeanValue(column=ash)"] == pytest.approx(2, abs=0.3)
    assert set(summary["drift"]) == {"carbon", "ash", "column 2", "missing share"}


def test_a_private_case_shows_no_edges_and_no_extremes(tmp_path):
    table = np.random.default_rng(0).normal(size=(ROWS, 2))
    made = examine(tmp_path, table, table + 3, pictures="none")
    assert made.summary == "{}\n"
    assert all(one.histogram is None for one in made.report.statistics)


def test_too_few_groups_are_said_to_be_so(tmp_path):
    report = examine(tmp_path, pictures(1), pictures(2, light=90), groups=4).report
    assert (named(report), report.can_tell) == ([], False)


def test_unreadable_samples_are_counted(tmp_path):
    examine(tmp_path, list(pictures(1)), list(pictures(2)))
    (tmp_path / "sim/3.png").write_bytes(b"no picture")
    given = InputsParams(num_permutations=9, resamples=9)
    places = Inputs(roles=tmp_path / "roles.csv", sim=tmp_path / "sim", real=tmp_path / "real")
    assert run(given, places, tmp_path).report.num_unreadable == 1


def test_what_is_no_sample_that_can_be_described_says_so(tmp_path):
    odd = np.zeros((ROWS, 2, 2, 2, 2))
    report = examine(tmp_path, odd, odd).report
    assert isinstance(report, NotApplicable)
    assert "neither pictures nor signals" in report.not_applicable


def test_the_same_inputs_give_the_same_bytes(tmp_path):
    one, two = (examine(tmp_path, pictures(1), pictures(2)) for _ in range(2))
    assert to_json(one.report) == to_json(two.report)
    assert one.statistics == two.statistics


def test_the_first_of_each_kind_stands_before_the_second_of_any():
    names = ["channel 0 stuck", "channel 1 stuck", "channel 1 mean", "lag 0-1", "channel 0 mean"]
    differs = np.array([True, True, True, False, True])
    assert _kinds_in_turn(names, [0, 1, 2, 4, 3], differs) == [0, 2, 1, 4, 3]


def test_columns_that_hold_nothing_or_too_much_do_not_end_the_examination(tmp_path):
    pytest.importorskip("evidently")
    sim, real = np.random.default_rng(0).normal(size=(2, ROWS, 4))
    sim[:, 1] = np.nan
    real[:, 2] = 1.0
    made = examine(tmp_path, sim, real)
    assert set(json.loads(made.summary)["drift"]) == {
        "column 0",
        "column 2",
        "column 3",
        "missing share",
    }
    sim[::2, 3] = -np.finfo(float).max
    made = examine(tmp_path, sim, real)
    assert "column 0" in (names := {one.name for one in made.report.statistics})
    assert "column 3" not in names

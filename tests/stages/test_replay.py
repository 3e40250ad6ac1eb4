"""Rows of training in validation are found, a missed figure is told; twins are no leak."""

import csv

import numpy as np
import pytest

from stages.replay import Inputs, ReplayParams, run
from stages.reports.predict import PredictReport
from stages.reports.train import TrainReport


def write(folder, samples, labels, groups, name):
    folder.mkdir()
    np.save(folder / "samples.npy", samples)
    lines = [
        {"id": f"{name}{at}", "row": at, "path": "", "label": int(label), "group": group}
        for at, (label, group) in enumerate(zip(labels, groups, strict=True))
    ]
    with (folder / "manifest.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    return lines


def replay(folder, train, validation, *, right=None, groups=None, metrics=None, **over):
    """Labels are parities of the row; `right` says which validation rows the reference knows."""
    count = len(validation)
    labels = np.arange(count) % 2
    right = np.ones(count, bool) if right is None else right
    groups = groups or (
        [f"t{at // 4}" for at in range(len(train))],
        [f"v{at // 4}" for at in range(count)],
    )
    write(folder / "train", train, np.arange(len(train)) % 2, groups[0], "t")
    lines = write(folder / "sim", validation, labels, groups[1], "v")
    with (folder / "roles.csv").open("w", newline="") as file:
        names = ["dataset", *lines[0], "role"]
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows({"dataset": "sim", **line, "role": "validation"} for line in lines)
    (folder / "outputs").mkdir()
    np.save(folder / "outputs/sim.labels.npy", np.where(right, labels, 1 - labels))
    inputs = Inputs(
        train=folder / "train",
        sim=folder / "sim",
        roles=folder / "roles.csv",
        trained=TrainReport(origin="trained", files={}, metrics=metrics or {}),
        predicted=PredictReport(side="reference", model="m", sets={"sim": count}, errors={}),
        outputs=folder / "outputs",
    )
    return run(ReplayParams(resamples=200, **over), inputs, folder).report


def pictures(seed, count=120):
    generator = np.random.default_rng(seed)
    coarse = generator.normal(size=(count, 5, 5, 3))
    return np.clip(128 + 50 * coarse.repeat(4, 1).repeat(4, 2), 0, 255).astype(np.uint8)


def table(seed, count=300, columns=6):
    return np.random.default_rng(seed).normal(size=(count, columns))


def few_values(seed, count=300):
    return np.random.default_rng(seed).integers(0, 3, (count, 4)).astype(np.float64)


def waves(seed, count=200):
    generator = np.random.default_rng(seed)
    phase = generator.integers(0, 8, (count, 1)) * (np.pi / 4)
    return np.sin(np.arange(128) / 6 + phase).astype(np.float32)


def states(seed, count=200):
    """One session is one state; its rows hardly differ."""
    generator = np.random.default_rng(seed)
    return generator.normal(size=(count // 4, 6)).repeat(4, 0) + 1e-3 * generator.normal(
        size=(count, 6)
    )


SETS = {
    "pictures": pictures,
    "table": table,
    "few values": few_values,
    "waves": waves,
    "states": states,
}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("seed", range(4))
def test_samples_of_one_distribution_are_no_leak(tmp_path, name, seed):
    report = replay(tmp_path, SETS[name](2 * seed), SETS[name](2 * seed + 1))
    assert report.suspects == []
    assert report.leakage.without is None


@pytest.mark.parametrize("name", ["pictures", "table", "states"])
def test_rows_of_training_are_found_and_told_with_what_they_feign(tmp_path, name):
    train, validation = SETS[name](0), SETS[name](1)
    validation[:40] = train[10:50]
    right = np.arange(len(validation)) < 40
    right[60:100:2] = True
    report = replay(tmp_path, train, validation, right=right)
    [found] = report.suspects
    assert (found.component, found.kind) == ("data", "leakage")
    assert report.leakage.num_exact == 40
    assert found.cost.low > 0
    measured, without = report.leakage.all_rows.value, report.leakage.without.value
    assert found.cost.value == pytest.approx(measured - without)


@pytest.mark.parametrize("name", ["pictures", "table"])
def test_rows_that_are_nearly_those_of_training_are_found(tmp_path, name):
    train, validation = SETS[name](0), SETS[name](1)
    noise = np.random.default_rng(5).normal(size=validation[:30].shape)
    spoilt = train[:30] + noise * (2.0 if name == "pictures" else 0.002)
    spoilt = np.clip(spoilt, 0, 255) if name == "pictures" else spoilt
    validation[:30] = spoilt.astype(validation.dtype)
    report = replay(tmp_path, train, validation, right=np.arange(len(validation)) < 60)
    [found] = report.suspects
    assert found.kind == "leakage"
    assert report.leakage.num_exact == 0
    assert report.leakage.num_near >= 29


def test_a_group_on_both_sides_is_a_leak_where_it_feigns_something(tmp_path):
    train, validation = table(0), table(1)
    groups = [f"t{at // 4}" for at in range(300)], [f"t{at // 4}" for at in range(100)]
    groups[1].extend(f"v{at // 4}" for at in range(200))
    right = np.arange(300) < 100
    right[100::3] = True
    report = replay(tmp_path, train, validation, groups=groups, right=right)
    assert report.leakage.num_shared_groups == 25
    assert [one.kind for one in report.suspects] == ["leakage"]


def test_names_of_groups_that_happen_to_be_alike_are_no_leak(tmp_path):
    groups = [f"g{at // 4}" for at in range(300)], [f"g{at // 4 + 40}" for at in range(300)]
    right = np.random.default_rng(0).random(300) < 0.8
    report = replay(tmp_path, table(0), table(1), groups=groups, right=right)
    assert report.leakage.num_shared_groups > 0
    assert report.suspects == []


@pytest.mark.parametrize(
    ("over", "reached", "by"),
    [
        pytest.param({"reported": 0.95}, False, "case", id="the case's figure"),
        pytest.param({"metrics": {"val_accuracy": 0.95}}, False, "training", id="training's"),
        pytest.param({"reported": 0.75}, True, "case", id="reached"),
        pytest.param({"metrics": {"train_accuracy": 1.0}}, None, None, id="on what it trained on"),
    ],
)
def test_what_was_reported_is_reached_or_not(tmp_path, over, reached, by):
    right = np.arange(300) % 4 > 0
    report = replay(tmp_path, table(0), table(1), right=right, **over)
    assert (report.reached, report.reported_by) == (reached, by)
    assert [one.kind for one in report.suspects] == (["replay"] if reached is False else [])


def test_without_training_samples_nothing_is_compared(tmp_path):
    report = replay(tmp_path, table(0), table(1))
    (tmp_path / "train/manifest.csv").unlink()
    assert report.leakage.why_not is None


def test_ids_of_a_private_case_are_not_named(tmp_path):
    train = table(0)
    report = replay(tmp_path, train, np.concatenate([train[:50], table(1)]), pictures="none")
    assert report.leakage.num_exact == 50
    assert report.leakage.rows == []

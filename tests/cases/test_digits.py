import importlib
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from ruamel.yaml import YAML

CASES = Path(__file__).parents[2] / "cases"
CODE = [str(CASES / "digits/code"), str(CASES / "digits-misdeployed/code")]


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("digits")
    importlib.import_module("digits_data").make(out, seed=0)
    return out


@pytest.fixture(scope="module")
def model(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    digits_model = importlib.import_module("digits_model")
    metrics = digits_model.train(data / "train", folder, seed=0)
    assert metrics["train_accuracy"] > 0.99
    return digits_model.build(folder)


def samples(data: Path, name: str) -> NDArray[np.uint8]:
    return np.load(data / name / "samples.npy")


def column(data: Path, name: str, key: str) -> list[str]:
    head, *rows = (data / name / "manifest.csv").read_text().splitlines()
    return [row.split(",")[head.split(",").index(key)] for row in rows]


def steps(case: str, side: str) -> dict[str, Callable[[Any], Any]]:
    """A side's steps by name, as its case.yaml declares them."""
    declared = YAML(typ="safe").load(CASES / case / "case.yaml")

    def step(call: str, args: dict[str, float]) -> Callable[[Any], Any]:
        module, function = call.split(":")
        return lambda sample: getattr(importlib.import_module(module), function)(sample, **args)

    return {row["name"]: step(row["call"], row.get("args", {})) for row in declared[side]["steps"]}


def run(chain: dict[str, Callable[[Any], Any]], raw: NDArray[np.uint8]) -> NDArray[np.float32]:
    return np.stack([reduce(lambda value, step: step(value), chain.values(), s) for s in raw])


def accuracy(model, inputs: NDArray[np.float32], labels: list[str]) -> float:
    torch = importlib.import_module("torch")
    with torch.no_grad():
        answers = model(torch.from_numpy(inputs)).argmax(1).numpy()
    return float((answers == np.array(labels, int)).mean())


def test_the_same_seed_makes_the_same_bytes(data, tmp_path):
    importlib.import_module("digits_data").make(tmp_path, seed=0)
    files = sorted(path.relative_to(data) for path in data.rglob("*") if path.is_file())
    assert len(files) == 6
    assert all((data / path).read_bytes() == (tmp_path / path).read_bytes() for path in files)


@pytest.mark.parametrize(
    ("name", "num_rows", "num_groups", "last"),
    [
        pytest.param("train", 4800, 12, "train-4799", id="train"),
        pytest.param("sim", 1200, 12, "sim-1199", id="sim"),
        pytest.param("real", 1797, 14, "real-1796", id="real"),
    ],
)
def test_manifests_name_each_sample_once(data, name, num_rows, num_groups, last):
    raw, ids = samples(data, name), column(data, name, "id")
    assert (raw.shape, raw.dtype, raw.max()) == ((num_rows, 8, 8), np.uint8, 16)
    assert (ids[0], ids[-1], len(set(ids))) == (f"{name}-0000", last, num_rows)
    assert column(data, name, "row") == [str(row) for row in range(num_rows)]
    assert set(column(data, name, "label")) == set("0123456789")
    assert len(set(column(data, name, "group"))) == num_groups


def test_no_two_samples_are_equal_within_or_across_the_sets(data):
    raw = np.concatenate([samples(data, name) for name in ("train", "sim", "real")])
    assert len(np.unique(raw.reshape(len(raw), -1), axis=0)) == len(raw)


def test_another_seed_renders_other_digits():
    digits_data = importlib.import_module("digits_data")
    sevens = [
        digits_data.render("sim", 10, np.random.default_rng((seed, 1)), set()).samples[7]
        for seed in (0, 1)
    ]
    assert (sevens[0] != sevens[1]).any()


def test_real_is_what_load_digits_returns(data):
    oracle = importlib.import_module("sklearn.datasets").load_digits()
    np.testing.assert_array_equal(samples(data, "real"), oracle.images)
    assert column(data, "real", "label") == [str(digit) for digit in oracle.target]


def test_a_form_begins_where_the_labels_begin_to_count(data):
    labels = "".join(column(data, "real", "label"))
    starts = importlib.import_module("digits_data").FORM_STARTS
    incomplete = {906: "123456789" + "0123456789" * 2, 1545: "0123456789012345690123456"}
    for start in starts:
        assert labels.startswith(incomplete.get(start, "0123456789" * 3), start)


def test_the_reference_declares_the_steps_that_the_model_was_trained_behind(data):
    raw = samples(data, "train")[:50]
    prepare = importlib.import_module("digits_model").prepare
    for case in ("digits", "digits-misdeployed"):
        trained = np.stack([prepare(sample) for sample in raw])
        np.testing.assert_array_equal(run(steps(case, "reference"), raw), trained)
    assert (trained.shape, trained.dtype, trained.max()) == ((50, 1, 8, 8), np.float32, 1.0)


def test_the_model_is_right_on_sim_and_mostly_wrong_on_real(data, model):
    reference = steps("digits", "reference")
    sim = accuracy(model, run(reference, samples(data, "sim")), column(data, "sim", "label"))
    real = accuracy(model, run(reference, samples(data, "real")), column(data, "real", "label"))
    assert sim > 0.98
    assert 0.2 < real < 0.55


@pytest.mark.parametrize(
    ("replaced", "least", "most"),
    [
        pytest.param(["decode"], 0.1, 1.0, id="transposed alone costs"),
        pytest.param(["scale"], -0.02, 0.02, id="x255 alone is harmless"),
        pytest.param(["decode", "scale", "layout"], 0.1, 1.0, id="the candidate as deployed"),
    ],
)
def test_only_the_transposed_frame_costs_accuracy(data, model, replaced, least, most):
    raw, labels = samples(data, "real"), column(data, "real", "label")
    reference = steps("digits-misdeployed", "reference")
    candidate = steps("digits-misdeployed", "candidate")
    mixed = {name: (candidate if name in replaced else reference)[name] for name in reference}
    cost = accuracy(model, run(reference, raw), labels) - accuracy(model, run(mixed, raw), labels)
    assert least < cost < most


def test_the_candidate_reads_a_frame_transposed_and_255_times_as_bright(data):
    sample = samples(data, "real")[0]
    reference, candidate = (
        run(steps("digits-misdeployed", side), sample[None])[0, 0]
        for side in ("reference", "candidate")
    )
    np.testing.assert_allclose(candidate, reference.T * 255, rtol=1e-6)


def test_training_twice_gives_the_same_weights(data, tmp_path):
    digits_model = importlib.import_module("digits_model")
    few = tmp_path / "few"
    few.mkdir()
    np.save(few / "samples.npy", samples(data, "train")[:200])
    head = (data / "train/manifest.csv").read_text().splitlines(keepends=True)[:201]
    (few / "manifest.csv").write_text("".join(head))
    for out in ("first", "second"):
        digits_model.train(few, tmp_path / out, seed=0)
    weights = [(tmp_path / out / digits_model.WEIGHTS).read_bytes() for out in ("first", "second")]
    assert weights[0] == weights[1]


def test_the_layers_where_features_are_read_exist(model):
    declared = YAML(typ="safe").load(CASES / "digits/case.yaml")["reference"]["layers"]
    assert set(declared) <= {name for name, _ in model.named_modules()}
    assert not model.training

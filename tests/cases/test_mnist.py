import importlib
from functools import reduce
from pathlib import Path

import numpy as np
import pytest
from ruamel.yaml import YAML

CASES = Path(__file__).parents[2] / "cases"
CODE = [str(CASES / "mnist/code"), str(CASES / "mnist-misdeployed/code")]


def module(name):
    return importlib.import_module(name)


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("mnist")
    module("mnist_data").make(out, seed=0)
    return out


@pytest.fixture(scope="module")
def model(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    metrics = module("mnist_model").train(data / "train", folder, seed=0)
    assert metrics["train_accuracy"] > 0.97
    return module("mnist_model").build(folder)


def samples(data: Path, name: str) -> np.ndarray:
    return np.load(data / name / "samples.npy")


def column(data: Path, name: str, key: str) -> list[str]:
    head, *rows = (data / name / "manifest.csv").read_text().splitlines()
    return [row.split(",")[head.split(",").index(key)] for row in rows]


def steps(case: str, side: str) -> dict:
    """A side's steps by name, as its case.yaml declares them."""
    declared = YAML(typ="safe").load(CASES / case / "case.yaml")

    def step(call, args):
        file, function = call.split(":")
        return lambda sample: getattr(module(file), function)(sample, **args)

    return {row["name"]: step(row["call"], row.get("args", {})) for row in declared[side]["steps"]}


def run(chain: dict, raw: np.ndarray) -> np.ndarray:
    return np.stack([reduce(lambda value, step: step(value), chain.values(), s) for s in raw])


def accuracy(model, inputs: np.ndarray, labels: list[str]) -> float:
    torch = module("torch")
    with torch.no_grad():
        answers = model(torch.from_numpy(inputs)).argmax(1).numpy()
    return float((answers == np.array(labels, int)).mean())


def test_the_same_seed_makes_the_same_digits():
    mnist_data = module("mnist_data")
    made = [
        mnist_data.render("sim", 24, np.random.default_rng((seed, 1)), mnist_data.PLAIN).samples
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(made[0], made[1])
    assert (made[0] != made[2]).any()


@pytest.mark.parametrize(
    ("name", "num_rows", "num_groups"), [("train", 4800, 12), ("sim", 1200, 12), ("real", 5000, 25)]
)
def test_manifests_name_each_sample_once(data, name, num_rows, num_groups):
    raw, ids = samples(data, name), column(data, name, "id")
    assert (raw.shape, raw.dtype) == ((num_rows, 28, 28), np.uint8)
    assert raw[:, 0].mean() < 10 < raw[:, 8:20, 8:20].mean(), "paper is dark, ink is bright"
    assert (ids[-1], len(set(ids))) == (f"{name}-{num_rows - 1}", num_rows)
    labels, counts = np.unique(column(data, name, "label"), return_counts=True)
    assert (labels.tolist(), set(counts)) == (list("0123456789"), {num_rows // 10})
    assert len(set(column(data, name, "group"))) == num_groups


def test_a_block_holds_as_many_of_each_digit(data):
    pairs = list(zip(column(data, "real", "group"), column(data, "real", "label"), strict=True))
    assert set(np.unique(pairs, axis=0, return_counts=True)[1]) == {20}


def test_no_handwritten_digit_stands_twice(data):
    assert len(np.unique(samples(data, "real").reshape(5000, -1), axis=0)) == 5000


def test_a_line_of_the_wheels_file_is_read_row_by_row():
    line = ",".join(map(str, [at % 256 for at in range(784)] + [7]))
    found, labels = module("mnist_5k").parse(f"{line}\n{line}\n")
    assert (found.shape, labels.tolist()) == ((2, 28, 28), [7, 7])
    assert found[0, 1, :3].tolist() == [28, 29, 30]
    with pytest.raises(ValueError, match="between 0 and 255"):
        module("mnist_5k").parse(line.replace("255", "256"))


def test_randomised_digits_differ_more_from_each_other():
    mnist_data = module("mnist_data")

    def spread(jitter):
        drawn = mnist_data.render("sim", 480, np.random.default_rng(0), jitter)
        ones = drawn.samples[np.array(drawn.labels) == 1]
        return ones.astype(float).std(0).mean()

    assert spread(mnist_data.RANDOMISED) > 1.1 * spread(mnist_data.PLAIN)


def test_the_reference_declares_the_steps_that_the_model_was_trained_behind(data):
    raw = samples(data, "train")[:50]
    prepared = np.stack([module("mnist_model").prepare(sample) for sample in raw])
    assert (prepared.shape, prepared.dtype) == ((50, 1, 28, 28), np.float32)
    for case in ("mnist", "mnist-misdeployed"):
        np.testing.assert_array_equal(run(steps(case, "reference"), raw), prepared)


def test_the_model_is_right_on_sim_and_on_half_of_real(data, model):
    reference = steps("mnist", "reference")
    sim = accuracy(model, run(reference, samples(data, "sim")), column(data, "sim", "label"))
    real = accuracy(model, run(reference, samples(data, "real")), column(data, "real", "label"))
    assert sim > 0.97
    assert 0.4 < real < 0.6


@pytest.mark.parametrize(
    ("replaced", "least", "most"),
    [
        pytest.param(["decode"], 0.25, 0.6, id="inverted alone costs"),
        pytest.param(["scale"], -0.01, 0.01, id="/256 alone is harmless"),
        pytest.param(["decode", "scale"], 0.25, 0.6, id="the candidate as deployed"),
    ],
)
def test_only_the_inverted_picture_costs_accuracy(data, model, replaced, least, most):
    raw, labels = samples(data, "real")[::5], column(data, "real", "label")[::5]
    reference = steps("mnist-misdeployed", "reference")
    candidate = steps("mnist-misdeployed", "candidate")
    mixed = {name: (candidate if name in replaced else reference)[name] for name in reference}
    cost = accuracy(model, run(reference, raw), labels) - accuracy(model, run(mixed, raw), labels)
    assert least < cost < most


def test_the_candidate_sees_paper_bright_and_a_two_hundred_and_fifty_sixth_darker(data):
    sample = samples(data, "real")[:1]
    reference, candidate = (
        run(steps("mnist-misdeployed", side), sample) for side in ("reference", "candidate")
    )
    np.testing.assert_allclose(candidate, (1 - reference) * 255 / 256, atol=1e-6)


def test_training_twice_gives_the_same_weights(data, tmp_path):
    mnist_model = module("mnist_model")
    few = tmp_path / "few"
    few.mkdir()
    np.save(few / "samples.npy", samples(data, "train")[:200])
    head = (data / "train/manifest.csv").read_text().splitlines(keepends=True)[:201]
    (few / "manifest.csv").write_text("".join(head))
    for out in ("first", "second"):
        mnist_model.train(few, tmp_path / out, seed=0)
    weights = [(tmp_path / out / mnist_model.WEIGHTS).read_bytes() for out in ("first", "second")]
    assert weights[0] == weights[1]


def test_the_layers_where_features_are_read_exist(model):
    declared = YAML(typ="safe").load(CASES / "mnist/case.yaml")["reference"]["layers"]
    assert set(declared) <= {name for name, _ in model.named_modules()}
    assert not model.training

import importlib
from pathlib import Path

import numpy as np
import pytest
from ruamel.yaml import YAML

CASES = Path(__file__).parents[2] / "cases"
CODE = [str(CASES / "motion/code")]


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("motion")
    importlib.import_module("motion_data").make(out, seed=0)
    return out


@pytest.fixture(scope="module")
def model(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    motion_model = importlib.import_module("motion_model")
    metrics = motion_model.train(data / "train", folder, seed=0)
    assert metrics["train_accuracy"] > 0.98
    return motion_model.build(folder)


def samples(data: Path, name: str) -> np.ndarray:
    return np.load(data / name / "samples.npy")


def column(data: Path, name: str, key: str) -> list[str]:
    head, *rows = (data / name / "manifest.csv").read_text().splitlines()
    return [row.split(",")[head.split(",").index(key)] for row in rows]


def accuracy(model, inputs, labels) -> float:
    torch = importlib.import_module("torch")
    with torch.no_grad():
        return float((model(inputs).argmax(1) == labels).double().mean())


def read(folder: Path):
    return importlib.import_module("motion_model").read(folder)


def test_the_same_seed_makes_the_same_bytes(data, tmp_path):
    importlib.import_module("motion_data").make(tmp_path, seed=0)
    files = sorted(path.relative_to(data) for path in data.rglob("*") if path.is_file())
    assert len(files) == 6
    assert all((data / path).read_bytes() == (tmp_path / path).read_bytes() for path in files)


def test_another_seed_generates_other_motion():
    motion_data = importlib.import_module("motion_data")
    one, other = (
        motion_data.generate("sim", (1, 1), np.random.default_rng((seed, 1))).samples
        for seed in (0, 1)
    )
    assert (one != other).any(axis=(1, 2)).all()


@pytest.mark.parametrize(
    ("name", "num_rows", "num_groups", "last"),
    [
        pytest.param("train", 1920, 24, "train-1919", id="train"),
        pytest.param("sim", 480, 12, "sim-479", id="sim"),
        pytest.param("real", 80, 20, "real-79", id="real"),
    ],
)
def test_manifests_name_each_recording_once(data, name, num_rows, num_groups, last):
    raw, ids = samples(data, name), column(data, name, "id")
    assert (raw.shape, raw.dtype) == ((num_rows, 100, 6), np.float32)
    assert (ids[-1], len(set(ids))) == (last, num_rows)
    assert column(data, name, "row") == [str(row) for row in range(num_rows)]
    labels, counts = np.unique(column(data, name, "label"), return_counts=True)
    assert (labels.tolist(), set(counts)) == (list("0123"), {num_rows // 4})
    assert len(set(column(data, name, "group"))) == num_groups


def test_a_block_holds_one_recording_of_each_activity(data):
    pairs = list(zip(column(data, "real", "group"), column(data, "real", "label"), strict=True))
    assert len(set(pairs)) == len(pairs) == 80


def test_no_wearer_of_sim_was_met_in_training(data):
    assert not set(column(data, "train", "group")) & set(column(data, "sim", "group"))


def test_real_is_what_the_package_holds():
    basic_motions = importlib.import_module("basic_motions")
    texts = basic_motions.find()
    if not texts:
        pytest.skip("neither aeon nor sktime is installed: nothing to compare with")
    recorded, labels = basic_motions.read(texts)
    own = importlib.import_module("motion_data").recorded()
    np.testing.assert_array_equal(own.samples, recorded)
    assert own.labels == labels.tolist()


def test_a_file_of_the_archive_is_read_moment_by_moment():
    channels = [",".join(str(100 * channel + at) for at in range(100)) for channel in range(6)]
    text = "#a remark\n@data\n" + ":".join([*channels, "Running"]) + "\n"
    recorded, labels = importlib.import_module("basic_motions").parse(text)
    assert (recorded.shape, labels.tolist()) == ((1, 100, 6), [2])
    assert recorded[0, 7].tolist() == [7, 107, 207, 307, 407, 507]


def test_who_stands_feels_gravity_in_simulation_only(data):
    felt = {}
    for name in ("sim", "real"):
        still = np.array(column(data, name, "label")) == "0"
        felt[name] = np.linalg.norm(samples(data, name)[still, :, :3].mean(axis=(0, 1)))
    assert 9.0 < felt["sim"] < 10.0
    assert felt["real"] < 0.5


def test_the_reference_declares_the_steps_that_the_model_was_trained_behind(data):
    declared = YAML(typ="safe").load(CASES / "motion/case.yaml")["reference"]["steps"]
    prepare = importlib.import_module("motion_model").prepare
    for sample in samples(data, "real")[:5]:
        made = sample
        for step in declared:
            module, function = step["call"].split(":")
            made = getattr(importlib.import_module(module), function)(made, **step.get("args", {}))
        np.testing.assert_array_equal(made, prepare(sample))
    assert (made.shape, made.dtype) == ((6, 100), np.float32)


def test_the_model_names_sim_and_mostly_mistakes_real(data, model):
    assert accuracy(model, *read(data / "sim")) > 0.97
    assert 0.25 < accuracy(model, *read(data / "real")) < 0.6


def test_gravity_given_back_restores_most_of_the_accuracy(data, model):
    inputs, labels = read(data / "real")
    upwards = inputs.new_zeros((1, 6, 1))
    upwards[0, 0, 0] = 1.0
    gain = accuracy(model, inputs + upwards, labels) - accuracy(model, inputs, labels)
    assert gain > 0.2


def test_a_model_that_never_knew_gravity_does_well_on_the_watch(data, tmp_path):
    motion_data = importlib.import_module("motion_data")
    train = motion_data.generate("train", (12, 20), np.random.default_rng((0, 0)), gravity=0.0)
    motion_data.write(train, tmp_path / "train")
    model = importlib.import_module("motion_model").fit(*read(tmp_path / "train"), seed=0)
    assert accuracy(model, *read(data / "real")) > 0.65


def test_training_twice_gives_the_same_weights(data, tmp_path):
    motion_model = importlib.import_module("motion_model")
    few = tmp_path / "few"
    few.mkdir()
    np.save(few / "samples.npy", samples(data, "train")[:100])
    head = (data / "train/manifest.csv").read_text().splitlines(keepends=True)[:101]
    (few / "manifest.csv").write_text("".join(head))
    for out in ("first", "second"):
        motion_model.train(few, tmp_path / out, seed=0)
    weights = [(tmp_path / out / motion_model.WEIGHTS).read_bytes() for out in ("first", "second")]
    assert weights[0] == weights[1]


def test_the_layers_where_features_are_read_exist(model):
    declared = YAML(typ="safe").load(CASES / "motion/case.yaml")["reference"]["layers"]
    assert set(declared) <= {name for name, _ in model.named_modules()}
    assert not model.training

import importlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from ruamel.yaml import YAML

CASES = Path(__file__).parents[2] / "cases"
CODE = [str(CASES / "shapes/code"), str(CASES / "shapes-misdeployed/code")]
ORIENTATION = 0x0112


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("shapes")
    importlib.import_module("shapes_data").make(out, seed=0)
    return out


@pytest.fixture(scope="module")
def model(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    shapes_model = importlib.import_module("shapes_model")
    metrics = shapes_model.train(data / "train", folder, seed=0)
    assert metrics["train_accuracy"] > 0.98
    return shapes_model.build(folder)


def column(data: Path, name: str, key: str) -> list[str]:
    head, *rows = (data / name / "manifest.csv").read_text().splitlines()
    return [row.split(",")[head.split(",").index(key)] for row in rows]


def files(data: Path, name: str) -> list[bytes]:
    return [(data / name / path).read_bytes() for path in column(data, name, "path")]


def steps(case: str, side: str) -> dict[str, Callable[[Any], Any]]:
    """A side's steps by name, as its case.yaml declares them."""
    declared = YAML(typ="safe").load(CASES / case / "case.yaml")

    def step(call: str, args: dict[str, float]) -> Callable[[Any], Any]:
        module, function = call.split(":")
        return lambda sample: getattr(importlib.import_module(module), function)(sample, **args)

    return {row["name"]: step(row["call"], row.get("args", {})) for row in declared[side]["steps"]}


def run(chain: dict[str, Callable[[Any], Any]], jpegs: list[bytes]) -> np.ndarray:
    inputs = []
    for jpeg in jpegs:
        made: Any = jpeg
        for step in chain.values():
            made = step(made)
        inputs.append(made)
    return np.stack(inputs)


def accuracy(model, inputs: np.ndarray, labels: list[str]) -> float:
    torch = importlib.import_module("torch")
    with torch.no_grad():
        answers = model(torch.from_numpy(inputs)).argmax(1).numpy()
    return float((answers == np.array(labels, int)).mean())


def jpeg(upright: np.ndarray, orientation: int) -> bytes:
    """A file that shows `upright` once it is turned as its tag says."""
    shapes_data = importlib.import_module("shapes_data")
    image, stored = Image.fromarray(upright), shapes_data.STORED[orientation]
    tags = Image.Exif()
    tags[ORIENTATION] = orientation
    return shapes_data.encode(image.transpose(stored) if stored is not None else image, 95, tags)


def test_the_same_seed_takes_the_same_pictures():
    shapes_data = importlib.import_module("shapes_data")
    scenes = {name: shapes_data.photograph(name) for name in shapes_data.PHOTOGRAPHS}
    one, again, other = (
        shapes_data.take(
            "real", shapes_data.real_cameras(seed)[:3], 2, scenes, np.random.default_rng((seed, 2))
        ).files
        for seed in (0, 0, 1)
    )
    assert one == again
    assert not set(one) & set(other)


@pytest.mark.parametrize(
    ("name", "num_rows", "num_groups", "last"),
    [
        pytest.param("train", 1440, 12, "train-1439", id="train"),
        pytest.param("sim", 360, 12, "sim-359", id="sim"),
        pytest.param("real", 672, 16, "real-671", id="real"),
    ],
)
def test_manifests_name_each_file_once(data, name, num_rows, num_groups, last):
    ids = column(data, name, "id")
    assert (ids[-1], len(set(ids))) == (last, num_rows)
    assert column(data, name, "path") == [f"files/{one}.jpg" for one in ids]
    labels, counts = np.unique(column(data, name, "label"), return_counts=True)
    assert (labels.tolist(), set(counts)) == (list("012345"), {num_rows // 6})
    assert len(set(column(data, name, "group"))) == num_groups
    assert len(set(files(data, name))) == num_rows


@pytest.mark.parametrize("name", ["sim", "real"])
def test_files_are_no_squares_and_some_are_stored_on_their_side(data, name):
    sizes, orientations = set(), set()
    for file in files(data, name):
        with Image.open(io.BytesIO(file)) as image:
            assert image.format == "JPEG"
            sizes.add(image.size)
            orientations.add(image.getexif()[ORIENTATION])
    assert sizes == {(96, 72), (72, 96)}
    assert orientations == ({1, 6} if name == "sim" else {1, 3, 6, 8})


@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
@pytest.mark.parametrize("module", ["shapes_steps", "misdeployed_pictures"])
def test_both_decoders_turn_a_picture_upright(module, orientation):
    upright = np.zeros((72, 96, 3), np.uint8)
    upright[:36, :48] = 200  # the corner above on the left is bright
    seen = importlib.import_module(module).decode(jpeg(upright, orientation)).astype(int)
    assert seen.shape == (72, 96, 3)
    assert np.abs(seen - upright).mean() < 3


def test_the_device_reads_blue_first():
    red = np.zeros((72, 96, 3), np.uint8)
    red[..., 0] = 200
    file = jpeg(red, 1)
    reference = importlib.import_module("shapes_steps").decode(file).astype(int)
    device = importlib.import_module("misdeployed_pictures").decode(file).astype(int)
    assert np.abs(device[..., ::-1] - reference).max() <= 2
    assert reference[..., 0].mean() > 150
    assert device[..., 0].mean() < 50


def test_the_middle_square_is_cut_out():
    crop = importlib.import_module("shapes_steps").crop
    wide = np.arange(4 * 8 * 3, dtype=np.uint8).reshape(4, 8, 3)
    np.testing.assert_array_equal(crop(wide), wide[:, 2:6])
    np.testing.assert_array_equal(crop(wide.transpose(1, 0, 2)), wide.transpose(1, 0, 2)[2:6])


def test_the_reference_declares_the_steps_that_the_model_was_trained_behind(data):
    some = files(data, "train")[:20]
    prepare = importlib.import_module("shapes_model").prepare
    trained = np.stack([prepare(file) for file in some])
    for case in ("shapes", "shapes-misdeployed"):
        np.testing.assert_array_equal(run(steps(case, "reference"), some), trained)
    assert (trained.shape, trained.dtype) == ((20, 3, 32, 32), np.float32)
    assert -1 <= trained.min() < 0 < trained.max() <= 1


def test_the_model_is_right_on_sim_and_loses_on_real(data, model):
    chain = steps("shapes", "reference")
    sim = accuracy(model, run(chain, files(data, "sim")), column(data, "sim", "label"))
    real = accuracy(model, run(chain, files(data, "real")), column(data, "real", "label"))
    assert sim > 0.97
    assert 0.5 < real < 0.92


@pytest.mark.parametrize(
    ("replaced", "least", "most"),
    [
        pytest.param(["decode"], 0.3, 1.0, id="blue first costs"),
        pytest.param(["resize"], -0.02, 0.02, id="the other filter is harmless"),
        pytest.param(["decode", "resize"], 0.3, 1.0, id="the candidate as deployed"),
    ],
)
def test_only_the_order_of_the_channels_costs_accuracy(data, model, replaced, least, most):
    jpegs, labels = files(data, "real"), column(data, "real", "label")
    reference = steps("shapes-misdeployed", "reference")
    candidate = steps("shapes-misdeployed", "candidate")
    mixed = {name: (candidate if name in replaced else reference)[name] for name in reference}
    cost = accuracy(model, run(reference, jpegs), labels)
    cost -= accuracy(model, run(mixed, jpegs), labels)
    assert least < cost < most


def test_the_layers_where_features_are_read_exist(model):
    declared = YAML(typ="safe").load(CASES / "shapes/case.yaml")["reference"]["layers"]
    assert set(declared) <= {name for name, _ in model.named_modules()}
    assert not model.training

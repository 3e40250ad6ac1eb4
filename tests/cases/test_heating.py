import importlib
from pathlib import Path

import numpy as np
import pytest
from ruamel.yaml import YAML

CASES = Path(__file__).parents[2] / "cases"
CODE = [str(CASES / "heating/code"), str(CASES / "heating-misdeployed/code")]
BOTH = ("heating", "heating-misdeployed")


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("heating")
    importlib.import_module("heating_data").make(out, seed=0)
    return out


@pytest.fixture(scope="module")
def model(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    heating_model = importlib.import_module("heating_model")
    metrics = heating_model.train(data / "train", folder, seed=0)
    assert metrics["train_mae"] < 0.3
    return heating_model.build(folder)


def samples(data: Path, name: str) -> np.ndarray:
    return np.load(data / name / "samples.npy")


def column(data: Path, name: str, key: str) -> list[str]:
    head, *rows = (data / name / "manifest.csv").read_text().splitlines()
    return [row.split(",")[head.split(",").index(key)] for row in rows]


def values(data: Path, name: str) -> np.ndarray:
    return np.array(column(data, name, "label"), float)


def steps(case: str, side: str) -> list[dict]:
    """A side's steps, as its case.yaml declares them."""
    return YAML(typ="safe").load(CASES / case / "case.yaml")[side]["steps"]


def run(chain: list[dict], raw: np.ndarray) -> np.ndarray:
    made = list(raw)
    for step in chain:
        module, function = step["call"].split(":")
        call = getattr(importlib.import_module(module), function)
        made = [call(sample, **step.get("args", {})) for sample in made]
    return np.stack(made)


def r2(model, inputs: np.ndarray, wanted: np.ndarray) -> float:
    torch = importlib.import_module("torch")
    with torch.no_grad():
        answers = model(torch.from_numpy(inputs))[:, 0].numpy()
    return float(1 - ((wanted - answers) ** 2).sum() / ((wanted - wanted.mean()) ** 2).sum())


def test_the_same_seed_makes_the_same_bytes(data, tmp_path):
    importlib.import_module("heating_data").make(tmp_path, seed=0)
    files = sorted(path.relative_to(data) for path in data.rglob("*") if path.is_file())
    assert len(files) == 6
    assert all((data / path).read_bytes() == (tmp_path / path).read_bytes() for path in files)


def test_another_seed_invents_other_fuels():
    simulate = importlib.import_module("heating_data").simulate
    one, other = (simulate("sim", 50, np.random.default_rng((seed, 1))) for seed in (0, 1))
    assert (one.samples != other.samples).any(axis=1).all()


@pytest.mark.parametrize(
    ("name", "num_rows", "num_groups", "last"),
    [
        pytest.param("train", 3000, 20, "train-2999", id="train"),
        pytest.param("sim", 600, 20, "sim-599", id="sim"),
        pytest.param("real", 536, 258, "real-535", id="real"),
    ],
)
def test_manifests_name_each_sample_once(data, name, num_rows, num_groups, last):
    raw, ids = samples(data, name), column(data, name, "id")
    assert (raw.shape, raw.dtype) == ((num_rows, 5), np.float32)
    assert (ids[-1], len(set(ids))) == (last, num_rows)
    assert column(data, name, "row") == [str(row) for row in range(num_rows)]
    assert len(set(column(data, name, "group"))) == num_groups
    assert raw.min() >= 0
    assert raw.sum(axis=1).max() < 101  # analyses that add up to a little more are published, too


def test_real_is_the_table_that_lies_beside_the_code(data):
    table = (CASES / "heating/code/biomass.csv").read_text().splitlines()
    assert (len(table), table[1]) == (537, "Akhrot Shell,49.81,5.64,42.94,0.41,0.0,20.008")
    np.testing.assert_allclose(samples(data, "real")[0], [49.81, 5.64, 42.94, 0.41, 0], rtol=1e-6)
    assert (column(data, "real", "label")[0], column(data, "real", "group")[0]) == (
        "20.008",
        "akhrot",
    )


@pytest.mark.parametrize(
    ("composition", "expected"),
    [
        pytest.param([100, 0, 0, 0, 0], 33.83, id="carbon"),
        pytest.param([0, 100, 0, 0, 0], 144.3, id="hydrogen"),
        pytest.param([0, 100 / 9, 800 / 9, 0, 0], 0.0, id="water burns no more"),
        pytest.param([0, 0, 0, 100, 0], 0.0, id="nitrogen"),
        pytest.param([0, 0, 0, 0, 100], 9.42, id="sulphur"),
    ],
)
def test_dulongs_formula_gives_the_elements_their_heat(composition, expected):
    dulong = importlib.import_module("heating_data").dulong
    assert dulong(np.array([composition], float))[0] == pytest.approx(expected, abs=1e-9)


def test_simulated_labels_are_the_formula_and_a_little_noise(data):
    dulong = importlib.import_module("heating_data").dulong
    for name in ("train", "sim"):
        errors = values(data, name) - dulong(samples(data, name).astype(float))
        assert abs(errors.mean()) < 0.03
        assert 0.13 < errors.std() < 0.17


def test_the_reference_declares_the_steps_that_the_model_was_trained_behind(data):
    raw = samples(data, "train")[:50]
    prepare = importlib.import_module("heating_model").prepare
    for case in BOTH:
        trained = np.stack([prepare(sample) for sample in raw])
        np.testing.assert_array_equal(run(steps(case, "reference"), raw), trained)
    assert (trained.shape, trained.dtype) == ((50, 5), np.float32)


def test_the_model_knows_the_formula_and_the_calorimeter_knows_better(data, model):
    chain = steps("heating", "reference")
    sim = r2(model, run(chain, samples(data, "sim")), values(data, "sim"))
    real = r2(model, run(chain, samples(data, "real")), values(data, "real"))
    assert sim > 0.995
    assert 0.3 < real < 0.5


@pytest.mark.parametrize(
    ("replaced", "least", "most"),
    [
        pytest.param(["decode"], -0.01, 0.01, id="one decimal is harmless"),
        pytest.param(["select"], 10, 1000, id="hydrogen and oxygen swapped cost"),
        pytest.param(["decode", "select", "standardise"], 10, 1000, id="as deployed"),
    ],
)
def test_only_the_swapped_columns_cost(data, model, replaced, least, most):
    raw, wanted = samples(data, "real"), values(data, "real")
    reference = steps("heating-misdeployed", "reference")
    candidate = steps("heating-misdeployed", "candidate")
    mixed = [
        theirs if ours["name"] in replaced else ours
        for ours, theirs in zip(reference, candidate, strict=True)
    ]
    cost = r2(model, run(reference, raw), wanted) - r2(model, run(mixed, raw), wanted)
    assert least < cost < most


def test_training_twice_gives_the_same_weights(data, tmp_path):
    heating_model = importlib.import_module("heating_model")
    few = tmp_path / "few"
    few.mkdir()
    np.save(few / "samples.npy", samples(data, "train")[:200])
    head = (data / "train/manifest.csv").read_text().splitlines(keepends=True)[:201]
    (few / "manifest.csv").write_text("".join(head))
    for out in ("first", "second"):
        heating_model.train(few, tmp_path / out, seed=0)
    weights = [(tmp_path / out / heating_model.WEIGHTS).read_bytes() for out in ("first", "second")]
    assert weights[0] == weights[1]


def test_the_layers_where_features_are_read_exist(model):
    declared = YAML(typ="safe").load(CASES / "heating/case.yaml")["reference"]["layers"]
    assert set(declared) <= {name for name, _ in model.named_modules()}
    assert not model.training

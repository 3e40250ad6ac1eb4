import json

import numpy as np
import pytest
import toy as toys

from sides import predict
from sides.case_code import CaseCodeError
from stages.reports.predict import PredictReport
from stages.stage import read_report


@pytest.fixture
def toy(tmp_path, monkeypatch):
    toy = toys.make(tmp_path, monkeypatch)
    tensors = toys.RAW.astype(np.float32)
    np.save(tmp_path / "sim.npy", tensors[:20])
    np.save(tmp_path / "real-reference.npy", tensors)
    np.save(tmp_path / "real-candidate.npy", tensors[:, ::-1])
    (tmp_path / "swap").mkdir()
    np.save(tmp_path / "swap/00_decode.npy", tensors.transpose(0, 2, 1))
    (tmp_path / "swap/keys.json").write_text(json.dumps(["00_decode"]))
    return toy


def run(
    toy, model="build", postprocess=None, *, side="reference", task="classification", layers=()
):
    into = toy.into("out")
    params = {
        "model": f"toy_models:{model}",
        "postprocess": postprocess and f"toy_models:{postprocess}",
        "task": task,
        "layers": layers,
        "layer_rows": 500,
        "layer_seed": 0,
        "recorded": None,
        "batch": 16,
        "device": "cpu",
    }
    inputs = {
        "model": toy.folder / "model",
        "weights": None,
        "roles": toy.folder / "roles.csv",
        "recorded": None,
        "real": toy.folder / f"real-{side}.npy",
        "sim": toy.folder / "sim.npy",
        "real_reference": toy.folder / "real-reference.npy",
        "real_candidate": toy.folder / "real-candidate.npy",
        "swap": toy.folder / "swap",
    }
    predict.run(params, inputs, into, side)
    return read_report(PredictReport, into / "report.json"), into / "outputs"


def test_each_set_gets_raw_outputs_and_the_largest_ones_label(toy):
    report, outputs = run(toy)
    assert report.sets == {
        "sim": 20,
        "real-reference": 40,
        "real-candidate": 40,
        "swap-00_decode": 40,
    }
    expected = toys.RAW.reshape(40, -1).astype(np.float32) @ np.load(
        toy.folder / "model/weights.npy"
    )
    found = np.load(outputs / "real-reference.npy")
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert found.dtype == np.float32
    labels = np.load(outputs / "real-reference.labels.npy")
    assert labels.dtype == np.int64
    np.testing.assert_array_equal(labels, found.argmax(1))


def test_the_candidate_is_not_asked_about_exchanged_steps(toy):
    report, _ = run(toy, side="candidate")
    assert set(report.sets) == {"sim", "real-reference", "real-candidate"}


def test_tensors_that_the_model_cannot_take_are_a_finding(toy):
    report, outputs = run(toy, "strict")
    assert list(report.errors) == ["swap-00_decode"]
    assert "ValueError: expected (4, 6), got (6, 4)" in report.errors["swap-00_decode"]
    assert not list(outputs.glob("swap*"))


def test_its_own_tensors_must_go_through(toy):
    np.save(toy.folder / "real-candidate.npy", np.zeros((40, 6, 4), np.float32))
    report, _ = run(toy, "strict")
    assert "real-candidate" in report.errors
    (toy.folder / "out").rename(toy.folder / "before")
    with pytest.raises(CaseCodeError, match=r"On its own tensors \(real-candidate\)"):
        run(toy, "strict", side="candidate")


def test_outputs_that_are_no_numbers_are_counted(toy):
    tensors = toys.RAW[:20].astype(np.float32)
    tensors[3] = np.nan
    np.save(toy.folder / "sim.npy", tensors)
    report, _ = run(toy)
    assert report.num_nonfinite_rows["sim"] == 1


def test_postprocessing_makes_the_labels(toy):
    _, outputs = run(toy, "single", "sign")
    labels = np.load(outputs / "sim.labels.npy")
    np.testing.assert_array_equal(labels, (toys.RAW[:20, 0, 0] > 0.5).astype(int))


@pytest.mark.parametrize(
    ("model", "postprocess", "words"),
    [
        pytest.param(
            "misfit", None, "given the weights in .*model, failed: RuntimeError: size", id="misfit"
        ),
        pytest.param(
            "single", None, "one output a row: state reference.postprocess", id="one output"
        ),
        pytest.param(
            "build", "floats", r"reference.postprocess made float32 \[16\]", id="no labels"
        ),
        pytest.param("flat", None, r"made float32 \[384\] of 16 rows", id="wrong rank"),
        pytest.param("number", None, "returned int; expected a torch module", id="no model"),
        pytest.param("bild", None, "Did you mean build", id="misspelt"),
    ],
)
def test_a_model_that_cannot_answer_is_named(toy, model, postprocess, words):
    with pytest.raises(CaseCodeError, match=words):
        run(toy, model, postprocess)


def test_a_torch_module_is_put_in_evaluation_mode(toy):
    torch = pytest.importorskip("torch")
    (toy.folder / "code/toy_net.py").write_text(
        "import torch\n"
        "def build(folder):\n"
        "    torch.manual_seed(0)\n"
        "    layers = torch.nn.Flatten(), torch.nn.Dropout(0.5), torch.nn.Linear(24, 3)\n"
        "    return torch.nn.Sequential(*layers)\n"
    )
    from sides.model import as_function, build

    model = build("toy_net:build", "reference.model", toy.folder)
    assert isinstance(model, torch.nn.Module)
    ask = as_function(model, "reference.model", "cpu")
    batch = toys.RAW.astype(np.float32)
    np.testing.assert_array_equal(ask(batch), ask(batch))
    assert not model.training


def test_a_regressions_only_output_is_its_answer(toy):
    _, outputs = run(toy, "single", task="regression")
    labels = np.load(outputs / "sim.labels.npy")
    assert labels.dtype == np.float64
    np.testing.assert_array_equal(labels, toys.RAW[:20, 0, 0])


def test_a_regression_with_several_outputs_needs_postprocessing(toy):
    with pytest.raises(CaseCodeError, match=r"3 outputs a row: state reference.postprocess"):
        run(toy, task="regression")
    (toy.folder / "out").rename(toy.folder / "before")
    _, outputs = run(toy, postprocess="floats", task="regression")
    assert np.load(outputs / "sim.labels.npy").dtype == np.float64


def layers_of(outputs):
    return json.loads((outputs.parent / "layers/layers.json").read_text())


def test_layers_are_read_of_rows_that_prove_nothing(toy):
    pytest.importorskip("torch")
    (toy.folder / "code/toy_models.py").write_text(
        "import torch\n"
        "def build(folder):\n"
        "    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(24, 3))\n"
    )
    _, outputs = run(toy, layers=["1"])
    told = layers_of(outputs)
    assert told["real"] == list(range(0, 40, 2)), "every other row has the role prove"
    assert np.load(outputs.parent / "layers/1.real.npy").shape == (20, 3)
    found = np.load(outputs.parent / "layers/1.sim.npy")
    np.testing.assert_allclose(found, np.load(outputs / "sim.npy"), rtol=1e-6)


def test_what_has_no_layers_says_why(toy):
    _, outputs = run(toy)
    assert (
        layers_of(outputs)["why_not"] == "The case lists no reference.layers, so no layer was read."
    )
    (toy.folder / "out").rename(toy.folder / "before")
    _, outputs = run(toy, layers=["fc"])
    assert "The model is a function, no torch module with layers" in layers_of(outputs)["why_not"]


def test_what_worked_last_is_asked_about_its_own_tensors_alone(toy):
    np.save(toy.folder / "real-last_good.npy", toys.RAW.astype(np.float32))
    report, _ = run(toy, side="last_good")
    assert set(report.sets) == {"sim", "real-last_good"}


def test_tensors_that_nobody_logged_are_absent_and_not_wrong(toy):
    np.save(toy.folder / "real-candidate.npy", np.zeros(0, np.float32))
    report, _ = run(toy)
    assert "no tensors of the candidate were logged" in report.absent["real-candidate"]
    assert report.errors == {}

import hashlib

import pytest
import toy as toys

from sides.case_code import CaseCodeError
from stages.stage import InputFault
from stages.train import Inputs, TrainParams, run

TRAINER = """
def train(train, out, seed):
    (out / "w.txt").write_text(str(seed))
    return {"accuracy": 1}

def lazy(train, out, seed):
    return {}

def diverging(train, out, seed):
    train(train, out, seed)

def nothing_finite(train, out, seed):
    (out / "w.txt").write_text("")
    return {"loss": float("nan")}

def chatty(train, out, seed):
    (out / "w.txt").write_text("")
    return "done"
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    for name in ("code", "into", "train"):
        (tmp_path / name).mkdir()
    (tmp_path / "code/toy_trainer.py").write_text(TRAINER)
    (tmp_path / "train/manifest.csv").write_text("id,row,path,label,group\na,0,,1,g\n")
    toys.look_in(tmp_path / "code", monkeypatch)
    return tmp_path


def train(place, name=None, weights=None):
    call = name and f"toy_trainer:{name}"
    inputs = Inputs(train=place / "train", weights=weights)
    return run(TrainParams(call=call, seed=5), inputs, place / "into")


def test_the_case_trains_its_model(place):
    outputs = train(place, "train")
    assert (outputs.model / "w.txt").read_text() == "5"
    assert outputs.report.origin == "trained"
    assert outputs.report.metrics == {"accuracy": 1.0}
    assert outputs.report.files == {"w.txt": hashlib.sha256(b"5").hexdigest()}


@pytest.mark.parametrize("one_file", [True, False])
def test_given_weights_are_copied(place, one_file):
    given = place / "given"
    (given / "deep").mkdir(parents=True)
    (given / "deep/w.bin").write_bytes(b"w")
    outputs = train(place, weights=given / "deep/w.bin" if one_file else given)
    assert outputs.report.origin == "given"
    assert list(outputs.report.files) == (["w.bin"] if one_file else ["deep/w.bin"])


def test_given_weights_are_the_reference_even_beside_a_training(place):
    (place / "given").mkdir()
    (place / "given/w.bin").write_bytes(b"w")
    outputs = train(place, "train", weights=place / "given")
    assert (outputs.report.origin, list(outputs.report.files)) == ("given", ["w.bin"])
    assert outputs.report.metrics == {}


def test_neither_weights_nor_a_training_is_refused(place):
    with pytest.raises(InputFault, match=r"neither train.call nor reference.weights"):
        train(place)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        pytest.param("lazy", r"train.call \(toy_trainer:lazy\) left no file", id="no weights"),
        pytest.param("diverging", "TypeError: ", id="raises"),
        pytest.param("nothing_finite", "no finite number for loss", id="NaN"),
        pytest.param("chatty", "returned 'done'", id="no metrics"),
    ],
)
def test_training_that_goes_wrong_is_named(place, name, words):
    with pytest.raises(CaseCodeError, match=words):
        train(place, name)


def test_training_needs_samples(place):
    (place / "train/manifest.csv").write_text("id,row,path,label,group\n")
    with pytest.raises(InputFault, match="needs training samples"):
        train(place, "train")

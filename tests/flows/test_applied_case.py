"""A mitigation becomes a case that can be checked and run; what cannot be put in is refused."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from flows.applied_case import Applied
from flows.case import load_case
from flows.commands.mitigate import _accepted
from flows.faults import Faults
from stages.mitigate_rows import loading, npz, text
from stages.reports.mitigate import MitigateReport, NotOffered, Offer, OfferFile
from stages.stage import Estimate

TOY = Path(__file__).parents[1] / "e2e/toy"
FIGURE = Estimate(value=0.5, low=0.4, high=0.6, n=100)
INDEX = np.arange(36).reshape(6, 6).T.ravel()
TENSORS = (
    'answer = (tensors.reshape(len(tensors), -1)[:, made["places"]] * made["gain"] + '
    'made["offset"]).astype("float32").reshape(len(tensors), *made["shape"])'
)
UNDO = npz(places=INDEX, gain=np.ones(36), offset=np.zeros(36), shape=np.array([6, 6]))
SERVE = text(serve="reference")
RENAME = 'answer = np.array(made["map"])[labels]'
FILES = {
    "undo_transform": ("tensors", "undo_transform.npz", UNDO, TENSORS),
    "relabel": (
        "labels",
        "relabel.json",
        text(map=[1, 0]),
        'answer = np.array(made["map"])[labels]',
    ),
    "output_bias": (
        "outputs",
        "output_bias.npz",
        npz(shift=np.array([0.0, 9.0]), labels=np.array([0, 1])),
        'answer = made["labels"][(outputs + made["shift"]).argmax(axis=1)]',
    ),
    "reference_steps": ("steps", "reference_steps.json", SERVE, "answer = made"),
    "reference_side": (
        "deployment",
        "reference_side.json",
        text(serve="reference"),
        "answer = made",
    ),
    "reference_model": ("model", "reference_model.json", SERVE, "answer = made"),
    "temperature": (
        "confidence",
        "temperature.json",
        text(temperature=2.0),
        "answer = outputs / 2",
    ),
}


def offer(kind: str, **other) -> Offer:
    acts_on, file, _, use = FILES[kind]
    known = {
        "kind": kind,
        "title": f"a `{kind}`",
        "acts_on": acts_on,
        "measure": "brier" if acts_on == "confidence" else "metric",
        "fitted": 9,
        "before": FIGURE,
        "after": FIGURE,
        "gain": FIGURE,
        "p_value": 0.001,
        "p_holm": 0.004,
        "accepted": True,
        "why": "it helps",
        "files": [OfferFile(name=file, sha256="0" * 64)],
        "load": list(loading(file, use)),
    }
    return Offer(**(known | other))


@pytest.fixture
def root(tmp_path) -> Path:
    shutil.copytree(TOY, tmp_path / "cases/toy")
    (tmp_path / "data_contracts").mkdir()
    shutil.move(tmp_path / "cases/toy/contract.yaml", tmp_path / "data_contracts/toy.yaml")
    return tmp_path


def applied(root: Path, kind: str, **other) -> Applied:
    files = root / "offers" / kind
    files.mkdir(parents=True)
    (files / FILES[kind][1]).write_bytes(FILES[kind][2])
    made = offer(kind, **other)
    return Applied(loaded=load_case(root, "toy"), offer=made, files=files, look=3, run="a-run")


def module(folder: Path, name: str, monkeypatch):
    monkeypatch.syspath_prepend(str(folder / "code"))
    monkeypatch.delitem(sys.modules, name, raising=False)
    return __import__(name)


@pytest.mark.parametrize("kind", [kind for kind in FILES if kind != "temperature"])
def test_each_kind_becomes_a_case_without_a_fault(root, kind):
    made = applied(root, kind)
    folder = made.write()
    loaded = load_case(root, made.name)
    assert folder.name == f"toy-{kind.replace('_', '-')}"
    assert loaded.case.params["gate"]["look"] == 3
    assert loaded.code_roots[0] == "cases/toy/code"
    assert loaded.case.reference == made.loaded.case.reference
    assert (folder / "README.md").read_text().startswith(f"# {folder.name}")


def test_a_transform_is_undone_by_a_step_of_its_own(root, monkeypatch):
    made = applied(root, "undo_transform")
    folder = made.write()
    steps = load_case(root, made.name).case.candidate.steps
    assert [step.name for step in steps] == ["decode", "scale", "mitigation"]
    tensor = np.arange(36, dtype=np.float32).reshape(6, 6)
    found = module(folder, made.module, monkeypatch).adapt(tensor)
    np.testing.assert_array_equal(found, tensor.T)


def test_labels_are_renamed_behind_the_candidates_own_answer(root, monkeypatch):
    made = applied(root, "relabel")
    found = module(made.write(), made.module, monkeypatch).answer(
        np.array([[3.0, 1.0], [0.0, 1.0]])
    )
    assert found.tolist() == [1, 0]
    assert load_case(root, made.name).case.candidate.postprocess == f"{made.module}:answer"


def test_outputs_are_shifted_before_they_are_read(root, monkeypatch):
    made = applied(root, "output_bias")
    found = module(made.write(), made.module, monkeypatch).answer(
        np.array([[3.0, 1.0], [99.0, 0.0]])
    )
    assert found.tolist() == [1, 0]


def test_the_references_steps_replace_the_candidates(root):
    made = applied(root, "reference_steps")
    made.write()
    case = load_case(root, made.name).case
    assert case.candidate.steps == case.reference.steps


def test_a_case_that_is_there_is_not_overwritten(root):
    made = applied(root, "relabel")
    made.write()
    with pytest.raises(Faults, match="is there already"):
        made.write()


def test_a_fault_leaves_nothing_behind(root):
    made = applied(root, "relabel", files=[OfferFile(name="gone.json", sha256="0" * 64)])
    with pytest.raises(FileNotFoundError):
        made.write()
    assert not (root / "cases" / made.name).exists()


def report(*offers: Offer) -> MitigateReport:
    return MitigateReport(
        offers=list(offers),
        not_offered=[NotOffered(kind="last_layer", why="No torch module.")],
        safe_mode=[],
        margin=0.02,
        alpha=0.05,
    )


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("last_layer", "last_layer is not offered: No torch module."),
        (
            "nonsense",
            "no mitigation nonsense. Accepted here: reference_steps, temperature.",
        ),
        ("relabel", "relabel is not accepted: it loses"),
        ("temperature", "changes no answer"),
        ("abstain", "a way to serve, and no candidate"),
    ],
)
def test_what_cannot_be_applied_is_refused_in_one_sentence(kind, says):
    found = report(
        offer("reference_steps"),
        offer("temperature"),
        offer("relabel", accepted=False, why="it loses"),
    )
    with pytest.raises(Faults) as refused:
        _accepted(found, kind)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)
    assert _accepted(found, "reference_steps").kind == "reference_steps"


def test_the_offers_file_is_the_one_that_the_case_holds(root):
    made = applied(root, "relabel")
    folder = made.write()
    assert json.loads((folder / "code/relabel.json").read_text()) == {"map": [1, 0]}

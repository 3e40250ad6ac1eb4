"""Mitigations: what helps on rows that nothing was fitted to is accepted; its file says it all."""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from planted_mitigations import mitigation_inputs
from planted_numbers import Numbers, build_numbers
from planted_world import CLASSES, World, build

from stages.mitigate import MitigateParams, run
from stages.reports.mitigate import MitigateReport
from stages.reports.runtime import RuntimeReport
from stages.reports.suspect import Suspect
from stages.stage import NotApplicable, to_json


def tried(folder: Path, made: dict, change=lambda _folder: None, **params):
    """Run the stage on a planted world whose model nobody can ask here."""
    change(folder)
    into = folder / "into"
    into.mkdir()
    stated = {"model": "onnx", "image": "onnx", "classes": CLASSES, "resamples": 200} | params
    return run(MitigateParams(**stated), mitigation_inputs(made, folder), into)


def planted(tmp_path, change=lambda _folder: None, params=None, **world):
    return tried(tmp_path, build(World(**world), tmp_path), change, **(params or {}))


def renamed(folder):
    """Deploy a label map that is off by one."""
    for name in ("sim", "real-reference", "real-candidate"):
        for file in (f"{name}.labels.npy", f"{name}.npy"):
            path = folder / "candidate" / file
            old = np.load(path)
            np.save(path, (old + 1) % CLASSES if old.ndim == 1 else np.roll(old, 1, axis=1))


def test_a_label_map_is_put_right_and_its_file_says_how(tmp_path):
    outputs = planted(tmp_path, renamed)
    report = outputs.report
    assert isinstance(report, MitigateReport)
    offer = report.offer("relabel")
    assert offer is not None
    assert offer.accepted, offer.why
    assert offer.before.value < 0.1
    assert offer.after.value > 0.9
    assert offer.gain.low > 0.8
    assert offer.sim is not None
    assert offer.sim.low > 0.8
    folder = outputs.offers / "relabel"
    assert (
        hashlib.sha256((folder / "relabel.json").read_bytes()).hexdigest() == offer.files[0].sha256
    )
    labels = np.arange(CLASSES)
    assert loaded(folder, labels=labels).tolist() == [9, 0, 1, 2, 3, 4, 5, 6, 7, 8]


def loaded(folder: Path, **given):
    """Run the two lines of an offer, where nothing of ours can be imported."""
    import os
    import subprocess

    lines = (folder / "load.txt").read_text().splitlines()
    assert len(lines) == 2
    np.savez(folder / "given.npz", **given)
    code = [
        "import numpy",
        "globals().update(dict(numpy.load('given.npz')))",
        *lines,
        "numpy.savez('answer.npz', **(answer if isinstance(answer, dict) else {'answer': answer}))",
        "import sys; assert not {'assay', 'stages', 'sides'} & set(sys.modules)",
    ]
    environment = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
    words = [sys.executable, "-I", "-c", "\n".join(code)]
    subprocess.run(words, cwd=folder, env=environment, check=True, timeout=60)
    with np.load(folder / "answer.npz") as made:
        found = dict(made)
    return found.get("answer", found)


def test_nothing_is_accepted_where_nothing_is_wrong(tmp_path):
    report = planted(tmp_path).report
    assert [one.kind for one in report.accepted] == []


def test_the_reference_is_offered_where_the_candidates_model_is_broken(tmp_path):
    report = planted(tmp_path, model=0.5).report
    offer = report.offer("reference_model")
    assert offer.accepted, offer.why
    twin = next(one for one in report.not_offered if one.kind == "reference_side")
    assert "answers as `reference_model`" in twin.why


def test_steps_of_the_reference_mend_a_broken_step(tmp_path):
    report = planted(tmp_path, steps={"turn": (0.7, "transpose")}).report
    offer = report.offer("reference_steps")
    assert offer.accepted, offer.why
    assert offer.gain.value == pytest.approx(0.69, abs=0.08)


def test_what_worked_before_is_offered_and_told_in_the_safe_mode(tmp_path):
    report = planted(tmp_path, real=0.6, last_good=0.95).report
    assert report.offer("last_good").accepted
    modes = {mode.name: mode for mode in report.safe_mode}
    assert set(modes) >= {"as it is", "what worked before", "a person"}
    assert modes["a person"].human_per_1000.value == 1000
    assert modes["a person"].answered is None
    assert modes["as it is"].coverage.value == 1
    assert modes["what worked before"].answered.low > modes["as it is"].answered.high


def unsure(folder):
    """Let the candidate be unsure where it is wrong, and say more than it knows throughout."""
    generator = np.random.default_rng(0)
    import csv

    with (folder / "roles.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["dataset"] == "real"]
    truth = np.array([int(row["label"]) for row in rows])
    answers = np.load(folder / "candidate/real-candidate.labels.npy")
    right = answers == truth
    sure = np.where(
        right, generator.uniform(3, 6, len(rows)), generator.uniform(0.5, 3.2, len(rows))
    )
    np.save(
        folder / "candidate/real-candidate.npy",
        (np.eye(CLASSES)[answers] * 3 * sure[:, None]).astype(np.float32),
    )


def test_who_is_unsure_where_it_is_wrong_can_abstain_and_the_price_is_told(tmp_path):
    outputs = planted(tmp_path, unsure, real=0.7)
    report = outputs.report
    mode = next(mode for mode in report.safe_mode if mode.name == "abstain")
    assert 0.5 < mode.coverage.value < 0.9
    assert mode.answered.value > 0.93
    left = 1000 * (1 - mode.coverage.value)
    assert mode.human_per_1000.value == pytest.approx(left)
    kept = loaded(outputs.offers / "abstain", confidence=np.array([0.0, 1.0]))
    assert kept.tolist() == [False, True]


def test_without_a_confidence_that_is_high_enough_it_says_so(tmp_path):
    report = planted(tmp_path, real=0.5).report
    assert "No confidence is high enough" in report.why_no_abstaining
    assert "abstain" not in {mode.name for mode in report.safe_mode}


def test_a_candidate_that_refuses_its_tensors_is_wrong_and_the_reference_is_offered(tmp_path):
    report = planted(tmp_path, refuses=("real-candidate",)).report
    offer = report.accepted[0]
    assert offer.before.value == 0
    assert offer.after.value > 0.9
    assert offer.kind.startswith("reference_")


@pytest.mark.parametrize("kind", ["temperature", "isotonic"])
def test_confidence_is_mended_and_no_answer_changes(tmp_path, kind):
    outputs = planted(tmp_path, unsure, real=0.6)
    offer = outputs.report.offer(kind)
    assert offer.measure == "brier"
    assert offer.accepted, offer.why
    assert offer.after.value < offer.before.value
    assert offer.sim is None
    raw = np.load(tmp_path / "candidate/real-candidate.npy")[:50].astype(float)
    shares = np.exp(raw - raw.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    given = {"outputs": raw, "confidence": shares.max(axis=1)}
    made = loaded(outputs.offers / kind, **given)
    if kind == "temperature":
        assert (made.argmax(axis=1) == raw.argmax(axis=1)).all()
    else:
        assert ((made >= 0) & (made <= 1)).all()


def test_simulation_that_would_get_worse_refuses_a_mitigation(tmp_path):
    def only_in_the_field(folder):
        renamed(folder)
        for name in ("sim.labels.npy", "sim.npy"):
            (folder / "candidate" / name).write_bytes((folder / "reference" / name).read_bytes())

    offer = planted(tmp_path, only_in_the_field).report.offer("relabel")
    assert offer.gain.low > 0.8
    assert not offer.accepted
    assert "Simulation may get worse" in offer.why


@pytest.mark.parametrize(
    ("world", "says"),
    [
        ({"labelled": False}, "0 real rows with a label fit"),
        ({"rows": 45}, "20 of each are asked for"),
        ({"recorded": ()}, "not known"),
    ],
)
def test_where_nothing_can_be_judged_it_says_why(tmp_path, world, says):
    outputs = planted(tmp_path, **world)
    assert isinstance(outputs.report, NotApplicable)
    assert says in outputs.report.not_applicable
    assert json.loads((outputs.offers / "kinds.json").read_text()) == []


def test_numbers_that_are_off_are_put_on_a_line(tmp_path):
    made = build_numbers(Numbers(model=3.0), tmp_path)
    outputs = tried(tmp_path, made, metric="mae", classes=None, unit="MJ/kg")
    offer = outputs.report.offer("straight_line")
    assert offer.before.value == pytest.approx(3.0, abs=0.3)
    assert offer.after.value < 0.6
    assert offer.gain.low > 2
    found = loaded(outputs.offers / "straight_line", labels=np.array([23.0]))
    assert found[0] == pytest.approx(20, abs=0.3)
    assert "no confidence" in outputs.report.why_no_abstaining


def test_the_same_run_writes_the_same_bytes(tmp_path):
    made = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        outputs = planted(folder, unsure, real=0.6)
        files = sorted(path for path in outputs.offers.rglob("*") if path.is_file())
        made.append((to_json(outputs.report), [path.read_bytes() for path in files]))
    assert made[0] == made[1]


def test_where_the_precision_broke_the_offer_says_that_it_is_forced(tmp_path):
    from dataclasses import replace

    from stages.mitigate_attempts import Attempts

    given = mitigation_inputs(build(World(), tmp_path), tmp_path)
    attempts = Attempts(params=None, inputs=given, judging=None)
    assert attempts._forced() == ""
    suspect = Suspect(
        component="model", kind="half_precision_overflow", title="it overflows", evidence=[]
    )
    seen = RuntimeReport(
        suspects=[suspect],
        layers=[],
        first_layer=None,
        why_no_layers=None,
        invariance=[],
        outputs=None,
        why_no_outputs=None,
        weights="same",
        weights_says="",
        same_postprocess=True,
        tolerance=1e-4,
        rows=9,
    )
    again = Attempts(params=None, inputs=replace(attempts.inputs, runtime=seen), judging=None)
    assert again._forced() == "FP32 forced. "

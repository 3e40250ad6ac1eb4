"""What production logged: taken in whole or refused by name, and used for what it can tell."""

import json

import numpy as np
import pandas as pd
import pytest
import toy as toys

from sides import predict, preprocess
from sides.case_code import CaseCodeError
from stages.recording import take_in
from stages.reports.predict import PredictReport
from stages.reports.preprocess import PreprocessReport
from stages.reports.swap import SwapAnswer
from stages.stage import InputFault, read_report

IDS = [f"real-{i:04d}" for i in range(40)]
REFERENCE = [toys.step("decode"), toys.step("scale", by=255.0)]
NAMED = [{"name": "decode"}, {"name": "scale"}]


def log(folder, *, tensors=None, predictions=None, kind="csv"):
    folder.mkdir()
    if tensors is not None:
        np.savez(folder / "tensors.npz", **tensors)
    if predictions is not None and kind == "npz":
        np.savez(folder / "predictions.npz", **predictions)
    elif predictions is not None:
        table = pd.DataFrame(predictions)
        write = table.to_parquet if kind == "parquet" else table.to_csv
        write(folder / f"predictions.{kind}", index=False)
    return folder


def given(rows=3, **over):
    ids = np.array(IDS[:rows])
    return {"ids": ids, "input": np.zeros((rows, 4, 6), np.float32)} | over


def table(rows=3, **over):
    return {"id": IDS[:rows], "label": [0] * rows} | over


@pytest.mark.parametrize("kind", ["csv", "parquet", "npz"])
def test_both_files_are_brought_into_one_order(tmp_path, kind):
    tensors = given(4, input=np.arange(4, dtype=np.float32)[:, None])
    outputs = np.arange(8, dtype=np.float64).reshape(4, 2)
    order = [3, 1, 0]
    if kind == "npz":
        told = {"ids": np.array(IDS)[order], "labels": np.array(order), "outputs": outputs[order]}
    else:
        told = {"id": np.array(IDS)[order], "label": order}
        told |= {f"output_{i}": outputs[order, i] for i in range(2)}
    folder = log(tmp_path / "logs", tensors=tensors, predictions=told, kind=kind)
    summary = take_in(folder, tmp_path / "into", "candidate.recorded")
    assert (summary.rows, summary.num_left_out) == (3, 1)
    assert summary.arrays == ["input", "labels", "outputs"]
    assert json.loads((tmp_path / "into/ids.json").read_text()) == [IDS[0], IDS[1], IDS[3]]
    assert np.load(tmp_path / "into/input.npy").ravel().tolist() == [0, 1, 3]
    assert np.load(tmp_path / "into/labels.npy").tolist() == [0, 1, 3]
    np.testing.assert_array_equal(np.load(tmp_path / "into/outputs.npy"), outputs[[0, 1, 3]])


def test_arrays_larger_than_a_block_in_either_order_are_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr("stages.recording.BLOCK_BYTES", 1000)
    rows = np.random.default_rng(0).random((40, 7, 9))
    rows[5, 0, 0] = np.nan
    tensors = given(40, input=rows, step_decode=np.asfortranarray(rows))
    summary = take_in(log(tmp_path / "logs", tensors=tensors), tmp_path / "into", "x")
    np.testing.assert_array_equal(np.load(tmp_path / "into/input.npy"), rows)
    np.testing.assert_array_equal(np.load(tmp_path / "into/step_decode.npy"), rows)
    assert summary.num_nonfinite_rows == {"input": 1, "step_decode": 1}


@pytest.mark.parametrize(
    ("logged", "says"),
    [
        pytest.param({}, "holds none of tensors.npz, predictions.parquet", id="nothing"),
        pytest.param(
            {"tensors": {"input": np.zeros(2)}}, "tensors.npz has no ids; it has: input", id="ids"
        ),
        pytest.param(
            {"tensors": given(ids=np.array(["a", "b", "c"], dtype=object))},
            "tensors.npz: ids holds Python objects, which would have to be unpickled",
            id="a pickle",
        ),
        pytest.param(
            {"tensors": given(ids=np.array(["a", "b", "a"]))},
            "tensors.npz: ids, row 3: the id 'a' stands twice",
            id="twice",
        ),
        pytest.param(
            {"tensors": given(input=np.zeros((2, 4)))}, "input has 2 rows, ids has 3", id="lengths"
        ),
        pytest.param(
            {"tensors": given(input=np.array(["x"] * 3))},
            "tensors.npz: input is <U1; expected numbers",
            id="text",
        ),
        pytest.param(
            {"tensors": given(picture=np.zeros(3))},
            "tensors.npz: picture: expected ids, input and step_<name>",
            id="another key",
        ),
        pytest.param(
            {"predictions": {"label": [1]}}, "has no column id; it has: label", id="no id"
        ),
        pytest.param(
            {"predictions": {"id": ["a"]}}, "has neither labels nor outputs", id="no answers"
        ),
        pytest.param(
            {"predictions": table(label=[0, "cat", 1])},
            "predictions.csv: label, row 2: 'cat': expected a number",
            id="a word",
        ),
        pytest.param(
            {"predictions": table(output_0=[1.0] * 3, output_2=[1.0] * 3)},
            "numbered from output_0 without a gap",
            id="a gap",
        ),
        pytest.param(
            {"tensors": given(), "predictions": table(id=["a", "b", "c"])},
            "have no id in common. For example its tensors real-0000, real-0001",
            id="other ids",
        ),
    ],
)
def test_a_fault_names_the_file_the_key_and_the_row(tmp_path, logged, says):
    with pytest.raises(InputFault) as caught:
        take_in(log(tmp_path / "logs", **logged), tmp_path / "into", "candidate.recorded")
    assert str(caught.value).startswith("candidate.recorded: ")
    assert says in str(caught.value)


def test_two_files_of_predictions_are_refused(tmp_path):
    folder = log(tmp_path / "logs", predictions=table())
    (folder / "predictions.npz").write_bytes(b"")
    with pytest.raises(InputFault, match=r"predictions.csv and predictions.npz: keep one"):
        take_in(folder, tmp_path / "into", "candidate.recorded")


@pytest.fixture
def toy(tmp_path, monkeypatch):
    return toys.make(tmp_path, monkeypatch)


def record(toy, **logged):
    take_in(log(toy.folder / "logs", **logged), toy.folder / "recorded/candidate", "candidate")


def turned():
    return toys.RAW[:, ::-1, ::-1]


def everything():
    """A recording of all rows, in reverse: decoded upside down, then scaled rightly."""
    rows = turned()[::-1]
    scaled = rows.astype(np.float32) / np.float32(255)
    return {"ids": np.array(IDS)[::-1], "step_decode": rows, "input": scaled}


def run_preprocess(toy, steps=NAMED):
    into = toy.into("out")
    inputs = toy.inputs | {"recorded": toy.folder / "recorded"}
    preprocess.run(toys.preprocess_params(steps, 4, "logs"), inputs, into, "candidate")
    return read_report(PreprocessReport, into / "report.json"), into


def test_logged_tensors_stand_for_what_the_code_would_make(toy):
    record(toy, tensors=everything())
    report, into = run_preprocess(toy)
    np.testing.assert_allclose(np.load(into / "real.npy"), turned() / 255, rtol=1e-6)
    assert np.load(into / "sim.npy").shape == (0, 4, 6)
    assert report.paired == ["real-0000", "real-0002", "real-0004", "real-0006"]
    assert [(step.name, step.call) for step in report.steps] == [
        ("decode", "recorded"),
        ("scale", "recorded"),
    ]
    np.testing.assert_array_equal(np.load(into / "steps/00_decode.npy"), turned()[[0, 2, 4, 6]])


def test_the_last_step_made_what_the_model_got(toy):
    logged = everything()
    record(toy, tensors=logged | {"step_scale": np.zeros_like(logged["input"])})
    _, into = run_preprocess(toy)
    rows = np.load(into / "steps/01_scale.npy")
    np.testing.assert_allclose(rows, turned()[[0, 2, 4, 6]] / 255, rtol=1e-6)


def test_steps_without_names_are_one(toy):
    record(toy, tensors=everything())
    report, _ = run_preprocess(toy, [])
    assert [step.name for step in report.steps] == ["preprocessing"]


def test_without_tensors_the_preprocessing_is_not_known(toy):
    record(toy, predictions=table(40))
    report, into = run_preprocess(toy)
    assert (report.steps, report.paired, report.num_real) == ([], [], 0)
    assert "no tensors were logged" in report.why_not
    assert len(np.load(into / "real.npy")) == 0


def test_a_step_that_was_not_logged_is_named(toy):
    record(toy, tensors={key: everything()[key] for key in ("ids", "input")})
    with pytest.raises(CaseCodeError, match=r"candidate.steps\[0\]: the recording holds no step_d"):
        run_preprocess(toy)


def run_predict(toy, task="classification"):
    into = toy.into("predicted")
    params = {"task": task, "recorded": "logs", "model": None}
    inputs = {"roles": toy.folder / "roles.csv", "recorded": toy.folder / "recorded"}
    predict.run(params, inputs, into, "candidate")
    return read_report(PredictReport, into / "report.json"), into / "outputs"


def test_logged_answers_stand_in_the_order_of_the_rows(toy):
    outputs = np.random.default_rng(0).random((40, 3))
    told = {"id": IDS[::-1]} | {f"output_{i}": outputs[::-1, i] for i in range(3)}
    record(toy, predictions=told)
    report, folder = run_predict(toy)
    assert report.sets == {"real-candidate": 40}
    assert set(report.absent) == {"sim", "real-reference"}
    assert all(why.startswith("recorded: ") for why in report.absent.values())
    np.testing.assert_allclose(np.load(folder / "real-candidate.npy"), outputs, rtol=1e-6)
    labels = np.load(folder / "real-candidate.labels.npy")
    np.testing.assert_array_equal(labels, outputs.argmax(1))


def test_labels_alone_are_labels_alone(toy):
    record(toy, predictions=table(40, label=[1.0, None] * 20))
    report, folder = run_predict(toy)
    assert np.load(folder / "real-candidate.labels.npy").tolist() == [1, -1] * 20
    assert not (folder / "real-candidate.npy").exists()
    assert "raw outputs were not" in report.no_outputs["real-candidate"]


def test_a_logged_target_is_its_own_output(toy):
    record(toy, predictions=table(40, label=np.linspace(0, 1, 40)))
    _, folder = run_predict(toy, "regression")
    np.testing.assert_allclose(np.load(folder / "real-candidate.labels.npy"), np.linspace(0, 1, 40))
    assert np.load(folder / "real-candidate.npy").shape == (40, 1)


def test_without_predictions_the_answers_are_not_known(toy):
    record(toy, tensors=everything())
    report, _ = run_predict(toy)
    assert report.sets == {}
    assert report.absent["real-candidate"] == "recorded: no predictions were logged."


def exchange(toy, steps=NAMED):
    into = toy.into("swap")
    toys.swap(toy, REFERENCE, steps, into, recorded="logs")
    return read_report(SwapAnswer, into / "report.json"), into


def test_a_logged_step_is_exchanged_where_it_was_made_of_the_same_input(toy):
    record(toy, tensors=everything())
    report, into = exchange(toy)
    decode, scale = report.steps
    assert (decode.error, decode.candidate_call) == (None, "recorded")
    np.testing.assert_allclose(np.load(into / "tensors/00_decode.npy"), turned() / 255, rtol=1e-6)
    assert "made of another input than the reference's (sample 0 (real-0000))" in scale.error


def test_a_logged_step_that_equals_the_references_is_not_exchanged(toy):
    logged = everything()
    rows = toys.RAW[::-1]
    record(toy, tensors=logged | {"step_decode": rows, "input": rows.astype(np.float32) / 16})
    report, into = exchange(toy)
    assert [step.name for step in report.steps] == ["scale"]
    np.testing.assert_allclose(np.load(into / "tensors/01_scale.npy"), toys.RAW / 16, rtol=1e-6)


@pytest.mark.parametrize(
    ("lines", "ids"),
    [
        (["id,label", "NA,1", "007,0"], ["NA", "007"]),
        (["id,label", "a,1,", "b,0,"], ["a", "b"]),  # a comma too many shifts no column
    ],
)
def test_an_id_of_a_csv_is_what_stands_there(tmp_path, lines, ids):
    folder = log(tmp_path / "logs")
    (folder / "predictions.csv").write_text("\n".join(lines) + "\n")
    take_in(folder, tmp_path / "into", "candidate.recorded")
    assert json.loads((tmp_path / "into/ids.json").read_text()) == ids
    assert np.load(tmp_path / "into/labels.npy").tolist() == [1, 0]


def test_a_row_without_an_id_or_a_file_without_rows_is_refused(tmp_path):
    nobody = log(tmp_path / "a", predictions=table(id=["a", None, "c"]), kind="parquet")
    with pytest.raises(InputFault, match="id, row 2: the id '' is empty"):
        take_in(nobody, tmp_path / "into a", "candidate.recorded")
    with pytest.raises(InputFault, match=r"ids is empty\. Log at least one row"):
        take_in(log(tmp_path / "b", tensors=given(0)), tmp_path / "into b", "candidate.recorded")


@pytest.mark.parametrize("label", [0.5, np.inf, 1e300])
def test_a_logged_label_that_is_no_whole_number_is_refused(toy, label):
    record(toy, predictions={"id": IDS, "label": [label] * len(IDS)})
    with pytest.raises(CaseCodeError, match="no class numbers: fractions, or far too large"):
        run_predict(toy)

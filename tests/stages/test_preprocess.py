import numpy as np
import pytest
import toy as toys

from sides import preprocess
from sides.case_code import CaseCodeError
from stages.reports.preprocess import PreprocessReport
from stages.stage import read_report

STEPS = [toys.step("decode"), toys.step("scale", by=100.0)]


@pytest.fixture
def toy(tmp_path, monkeypatch):
    return toys.make(tmp_path, monkeypatch)


def run(toy, steps, paired=4):
    into = toy.into("out")
    preprocess.run(toys.preprocess_params(steps, paired), toy.inputs, into, "reference")
    return read_report(PreprocessReport, into / "report.json"), into


def test_tensors_are_the_steps_one_after_another(toy):
    report, into = run(toy, STEPS)
    real = np.load(into / "real.npy")
    np.testing.assert_array_equal(real, toys.RAW.astype(np.float32) / np.float32(100))
    assert real.dtype == np.float32
    assert np.load(into / "sim.npy").shape == (20, 4, 6)
    assert (report.num_sim, report.num_real) == (20, 40)


def test_each_steps_output_is_kept_for_the_paired_rows(toy):
    report, into = run(toy, STEPS)
    assert report.paired == ["real-0000", "real-0002", "real-0004", "real-0006"]
    decoded = np.load(into / "steps" / report.steps[0].file)
    assert decoded.dtype == np.uint8
    np.testing.assert_array_equal(decoded, toys.RAW[[0, 2, 4, 6]])
    assert [(s.file, s.dtype, s.shape) for s in report.steps] == [
        ("00_decode.npy", "uint8", [4, 6]),
        ("01_scale.npy", "float32", [4, 6]),
    ]


def test_a_step_that_works_in_place_changes_no_recorded_output(toy):
    steps = [toys.step("decode"), toys.step("in_place"), toys.step("in_place")]
    _, into = run(toy, steps)
    for number, name in enumerate(["00_decode", "01_in_place", "02_in_place"]):
        kept = np.load(into / "steps" / f"{name}.npy")
        np.testing.assert_array_equal(kept, toys.RAW[[0, 2, 4, 6]] + np.uint8(number))


def test_a_file_comes_as_its_bytes(toy):
    real = toy.folder / "data" / "real"
    (real / "a.bin").write_bytes(b"\x01\x02")
    line = {"dataset": "real", "id": "a", "row": "", "path": "a.bin", "label": "", "group": ""}
    sim = {**line, "dataset": "sim", "role": "validation"}
    (toy.folder / "data" / "sim" / "a.bin").write_bytes(b"\x01\x02")
    toys.write_csv(toy.folder / "roles.csv", [sim, {**line, "role": "unlabelled"}])
    report, into = run(toy, [toys.step("read", "from_bytes")])
    assert np.load(into / "real.npy").tolist() == [[1.0, 2.0]]
    assert report.paired == ["a"]  # no row has a label: unlabelled ones are paired


def test_outputs_of_several_shapes_are_kept_one_by_one(toy):
    steps = [toys.step("decode", "ragged"), toys.step("crop", "halves")]
    with pytest.raises(CaseCodeError, match=r"output for sample 2 \(sim-0002\) has shape \[3, 3\]"):
        run(toy, steps)


def test_sample_17_is_named_with_the_users_lines_only(toy):
    with pytest.raises(CaseCodeError) as caught:
        run(toy, [toys.step("decode"), toys.step("crop", "halves")])
    assert str(caught.value) == (
        "reference.steps[1] 'crop' (toy_steps:halves) failed on sample 17 (sim-0017): "
        "ValueError: no half of 17\n"
        '  File "toy_steps.py", line 28, in halves\n'
        '    raise ValueError("no half of " + str(raw[0, 0]))'
    )


def test_what_is_no_array_is_refused(toy):
    with pytest.raises(CaseCodeError, match=r"returned str for sample 0 \(sim-0000\)"):
        run(toy, [toys.step("decode", "text")])

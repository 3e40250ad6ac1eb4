import json

import numpy as np
import pytest
import toy as toys

from stages.reports.swap import SwapAnswer
from stages.stage import NotApplicable, read_report

REFERENCE = [toys.step("decode"), toys.step("scale", by=255.0)]
PAIRED = [0, 2, 4, 6]


@pytest.fixture
def toy(tmp_path, monkeypatch):
    return toys.make(tmp_path, monkeypatch)


def run(toy, candidate, reference=REFERENCE, **over):
    into = toy.into("swap")
    toys.swap(toy, reference, candidate, into, **over)
    return read_report(SwapAnswer, into / "report.json"), into


def test_each_differing_step_is_exchanged_alone(toy):
    report, into = run(toy, [toys.step("decode", "turned"), toys.step("scale", by=16.0)])
    assert [(s.key, s.error) for s in report.steps] == [("00_decode", None), ("01_scale", None)]
    turned = np.load(into / "tensors/00_decode.npy")
    np.testing.assert_allclose(turned, np.rot90(toys.RAW, 2, (1, 2)) / 255, rtol=1e-6)
    scaled = np.load(into / "tensors/01_scale.npy")
    np.testing.assert_allclose(scaled, toys.RAW / 16, rtol=1e-6)


def test_both_sides_get_the_same_input_for_the_paired_rows(toy):
    _, into = run(toy, [toys.step("decode", "turned"), toys.step("scale", by=16.0)])
    decoded = toys.RAW[PAIRED]
    left = np.load(into / "steps/00_decode.reference.npy")
    right = np.load(into / "steps/00_decode.candidate.npy")
    np.testing.assert_array_equal(left, decoded)
    np.testing.assert_array_equal(right, np.rot90(decoded, 2, (1, 2)))
    np.testing.assert_allclose(np.load(into / "steps/01_scale.candidate.npy"), decoded / 16)


def test_equal_steps_leave_lists_of_nothing_and_no_empty_folder(toy):
    report, into = run(toy, REFERENCE)
    assert report.steps == []
    assert json.loads((into / "tensors/keys.json").read_text()) == []
    assert json.loads((into / "steps/keys.json").read_text()) == []


@pytest.mark.parametrize(
    ("call", "words"),
    [
        pytest.param("nowhere", "has no function nowhere", id="not importable here"),
        pytest.param("halves", "failed on sample 17 (real-0017)", id="fails on one sample"),
        pytest.param("text", "returned str", id="no array"),
    ],
)
def test_a_step_that_cannot_run_is_a_finding(toy, call, words):
    report, into = run(toy, [toys.step("decode", call), toys.step("scale", by=16.0)])
    assert words in report.steps[0].error
    assert report.steps[1].error is None
    assert sorted(path.name for path in (into / "tensors").iterdir()) == [
        "01_scale.npy",
        "keys.json",
    ]
    assert json.loads((into / "steps/keys.json").read_text()) == ["01_scale"]


def test_a_step_whose_output_the_next_refuses_is_still_compared(toy):
    reference = [toys.step("decode"), toys.step("crop", "halves"), toys.step("scale")]
    rows = toys.RAW.copy()
    rows[17] = 0  # the reference itself takes all rows
    np.save(toy.folder / "data/real/samples.npy", rows)
    np.save(toy.folder / "data/sim/samples.npy", rows)
    candidate = [toys.step("decode", "ragged"), *reference[1:]]
    report, into = run(toy, candidate, reference)
    assert "output for sample 2 (real-0002) has shape [3, 3]" in report.steps[0].error
    assert not (into / "tensors/00_decode.npy").exists()
    assert (into / "steps/00_decode.candidate.npz").exists()


def test_a_step_that_only_one_side_has_is_left_out_or_put_in(toy):
    report, into = run(toy, [toys.step("decode")])
    assert [(s.key, s.candidate_call) for s in report.steps] == [("01_scale", "")]
    np.testing.assert_array_equal(np.load(into / "tensors/01_scale.npy"), toys.RAW)


def test_steps_in_another_order_are_not_exchanged(toy):
    report, into = run(toy, [toys.step("scale"), toys.step("decode")])
    assert isinstance(report, NotApplicable)
    assert (into / "tensors/keys.json").exists()


def test_a_step_that_works_in_place_spoils_nobodys_input(toy):
    reference = [toys.step("decode"), toys.step("add", "in_place"), toys.step("scale")]
    candidate = [toys.step("decode"), toys.step("add", "decode"), toys.step("scale", by=16.0)]
    _, into = run(toy, candidate, reference)
    left = np.load(into / "steps/01_add.reference.npy")
    right = np.load(into / "steps/01_add.candidate.npy")
    np.testing.assert_array_equal(left, right + np.uint8(1))


def test_steps_stated_alike_are_exchanged_only_where_another_image_makes_them_differ(toy):
    where = {"reference_image": "torch", "candidate_image": "serve:1"}
    report, _ = run(toy, REFERENCE, **where)
    assert report.steps == []


def test_what_another_image_makes_of_the_same_words_is_exchanged(toy, monkeypatch):
    """The candidate's image is played by a module that knows which side asks."""
    code = (
        "import inspect\n\n"
        "def scale(image):\n"
        "    known = [frame.frame.f_locals for frame in inspect.stack()]\n"
        "    side = next(names['side'] for names in known if 'side' in names)\n"
        "    return image / (16.0 if side == 'candidate' else 255.0)\n"
    )
    (toy.folder / "code/toy_images.py").write_text(code)
    same = {"name": "scale", "call": "toy_images:scale", "args": {}}
    steps = [toys.step("decode"), same]
    report, into = run(toy, steps, steps, reference_image="torch", candidate_image="serve:1")
    assert [step.key for step in report.steps] == ["01_scale"]
    np.testing.assert_allclose(np.load(into / "tensors/01_scale.npy"), toys.RAW / 16, rtol=1e-6)


def test_pictures_of_several_sizes_are_exchanged_one_by_one(toy):
    reference = [toys.step("decode", "ragged"), toys.step("mean", "flat_sum")]
    candidate = [toys.step("decode"), toys.step("mean", "flat_sum")]
    report, into = run(toy, candidate, reference)
    assert report.steps[0].error is None
    whole = toys.RAW.reshape(40, -1).sum(1).astype(np.float32)
    np.testing.assert_array_equal(np.load(into / "tensors/00_decode.npy")[:, 0], whole)


def test_raw_samples_are_not_copied(toy):
    run(toy, [toys.step("decode", "turned"), REFERENCE[1]])
    kept = sorted(path.name for path in (toy.folder / "swap-inputs/values").iterdir())
    assert kept == ["00_decode.after.npys", "keys.json"]


def test_a_program_is_exchanged_as_a_function_is(toy):
    import sys

    body = (
        f"#!{sys.executable}\n"
        "import io, sys, numpy as np\n"
        "given = sys.stdin.buffer\n"
        "while given.peek(1):\n"
        "    np.lib.format.read_magic(given)\n"
        "    shape, _, dtype = np.lib.format.read_array_header_1_0(given)\n"
        "    numbers = given.read(int(np.prod(shape)) * dtype.itemsize)\n"
        "    answer = io.BytesIO()\n"
        "    np.save(answer, np.frombuffer(numbers, dtype).reshape(shape)[::-1, ::-1])\n"
        "    sys.stdout.buffer.write(answer.getvalue())\n"
        "    sys.stdout.buffer.flush()\n"
    )
    (toy.folder / "code/turn").write_text(body)
    (toy.folder / "code/turn").chmod(0o755)
    turn = {"name": "decode", "call": None, "command": ["turn"], "args": {}}
    report, into = run(toy, [turn, REFERENCE[1]])
    assert [(s.error, s.candidate_call) for s in report.steps] == [(None, "turn")]
    turned = np.load(into / "tensors/00_decode.npy")
    np.testing.assert_allclose(turned, np.rot90(toys.RAW, 2, (1, 2)) / 255, rtol=1e-6)

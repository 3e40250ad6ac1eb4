import numpy as np
import pytest
import toy as toys

from sides.case_code import CaseCodeError
from stages import parity
from stages.reports.preprocess import PreprocessReport
from stages.reports.swap import SwapAnswer
from stages.stage import NotApplicable, read_report

REFERENCE = [toys.step("decode"), toys.step("scale", by=255.0)]
PNG = b"\x89PNG\r\n"


@pytest.fixture
def toy(tmp_path, monkeypatch):
    return toys.make(tmp_path, monkeypatch)


def run(toy, candidate, reference=REFERENCE, over=(), **params):
    toys.swap(toy, reference, candidate, toy.into("swap"), paired=16, **dict(over))
    inputs = parity.Inputs(
        reference=read_report(PreprocessReport, toy.folder / "swap-reference/report.json"),
        candidate=read_report(PreprocessReport, toy.folder / "swap-candidate/report.json"),
        reference_steps=toy.folder / "swap-reference/steps",
        candidate_steps=toy.folder / "swap-candidate/steps",
        swap=read_report(SwapAnswer, toy.folder / "swap/report.json"),
        swap_steps=toy.folder / "swap/steps",
    )
    outputs = parity.run(parity.ParityParams(**params), inputs, toy.folder)
    assert outputs.worst.startswith(PNG)
    return outputs


def test_equal_sides_pass(toy):
    report = run(toy, REFERENCE).report
    assert report.passed
    assert report.first_differing_step is None
    assert report.own == []
    assert [step.equal for step in report.chain] == [True, True]


def test_a_planted_turn_is_found_where_it_was_planted_and_named(toy):
    report = run(toy, [toys.step("decode", "turned"), REFERENCE[1]]).report
    assert not report.passed
    assert report.first_differing_step == "decode"
    assert [own.key for own in report.own] == ["00_decode"]
    assert report.own[0].transform is not None
    assert "180" in report.own[0].transform.name
    assert report.own[0].transform.explained >= 0.99
    assert len(report.worst) == 4


def test_a_difference_in_a_later_step_is_named_beside_the_first(toy):
    candidate = [toys.step("decode", "turned"), toys.step("scale", by=1.0)]
    report = run(toy, candidate).report
    assert [(own.step, own.transform.kind) for own in report.own][1] == ("scale", "scale")


def test_a_step_that_is_left_out_is_where_the_chain_parts(toy):
    report = run(toy, [toys.step("decode")]).report
    assert report.first_differing_step == "scale"
    assert [own.key for own in report.own] == ["01_scale"]


def test_a_nan_on_one_side_has_no_number_and_a_note(toy):
    report = run(toy, [*REFERENCE, toys.step("fill", "to_nan")]).report
    assert report.chain[2].max_abs is None
    assert report.chain[2].note == "384 values are NaN on one side only"


def test_shapes_that_differ_are_told(toy):
    report = run(toy, [toys.step("decode", "transposed"), REFERENCE[1]]).report
    first = report.chain[0]
    assert (first.shape_reference, first.shape_candidate) == ([4, 6], [6, 4])
    assert first.note == "the shapes differ"
    assert first.max_abs is None


def test_steps_that_cannot_be_paired_are_compared_as_a_whole(toy):
    report = run(toy, [toys.step("scale"), toys.step("decode")]).report
    assert [step.step for step in report.chain] == ["preprocessing"]
    assert report.first_differing_step == "preprocessing"


def test_samples_of_several_shapes_are_compared_one_by_one(toy):
    crop = [toys.step("decode", "ragged")]
    fixed = [toys.step("flat", "flat_sum")]
    report = run(toy, [*crop, *fixed], [toys.step("decode"), *fixed]).report
    assert report.first_differing_step == "decode"
    assert report.own[0].transform.kind == "crop"
    assert report.own[0].transform.name.endswith("(and so for 2 shapes)")


def test_no_sample_is_drawn_where_pictures_are_off(toy):
    candidate = [toys.step("decode", "turned"), REFERENCE[1]]
    shown = run(toy, candidate).worst
    for name in [path.name for path in toy.folder.glob("swap*")]:
        (toy.folder / name).rename(toy.folder / f"before-{name}")
    kept = run(toy, candidate, pictures="none")
    assert len(kept.worst) < len(shown) / 2
    assert kept.report.rows[:2] == ["pair 0", "pair 1"], "ids may name persons"
    assert set(kept.report.worst) <= set(kept.report.rows)


def test_without_paired_rows_there_is_no_answer():
    empty = PreprocessReport(side="reference", steps=[], num_sim=0, num_real=0, paired=[])
    inputs = parity.Inputs(
        reference=empty,
        candidate=empty,
        reference_steps=None,
        candidate_steps=None,
        swap=NotApplicable(not_applicable="no"),
        swap_steps=None,
    )
    assert isinstance(parity.run(parity.ParityParams(), inputs, None).report, NotApplicable)


def test_the_picture_is_the_same_each_time(toy):
    from stages.parity_picture import draw
    from stages.step_pairs import Pair

    samples = toys.RAW[:4].astype(np.float32)
    pair = Pair("00_decode", "decode", samples, samples[:, ::-1])
    assert draw(pair, [0, 1], ["a", "b", "c", "d"]) == draw(pair, [0, 1], ["a", "b", "c", "d"])


OWN_KIND = """
import numpy as np
from assay.explain.proposal import of_planes

SHADE = np.linspace(1, 0.3, 24).reshape(4, 6)

def vignette(reference, candidate):
    yield of_planes("vignette", "corners darkened", lambda planes: planes * SHADE, cost=1.5)

def broken(reference, candidate):
    raise ValueError("no such corner")
    yield
"""
SHADED = """
import numpy as np
from toy_steps import scale as plain
from toy_kinds import SHADE

def scale(image, by=255.0):
    return plain(image, by) * SHADE
"""


def test_an_explainer_of_the_case_names_a_kind_of_its_own(toy):
    (toy.folder / "code/toy_kinds.py").write_text(OWN_KIND)
    (toy.folder / "code/toy_shaded.py").write_text(SHADED)
    shaded = [REFERENCE[0], {**REFERENCE[1], "call": "toy_shaded:scale"}]
    report = run(toy, shaded, explainers=["toy_kinds:vignette"]).report
    assert report.own[0].transform.kind == "vignette"
    assert report.own[0].transform.name == "corners darkened"


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("toy_kinds:broken", r"explainers\[0\] \(toy_kinds:broken\) failed.*no such corner"),
        ("toy_kinds:vignete", r"explainers\[0\]: toy_kinds:vignete: .*Did you mean vignette"),
    ],
)
def test_an_explainer_that_fails_is_told_with_its_line(toy, call, told):
    (toy.folder / "code/toy_kinds.py").write_text(OWN_KIND)
    with pytest.raises(CaseCodeError, match=told):
        run(toy, [toys.step("decode", "turned"), REFERENCE[1]], explainers=[call])


RESIZES = """
import numpy as np

def half(image):
    return image.reshape(2, 2, 3, 2).mean((1, 3)).astype(np.float32)

def thinned(image):
    return image[1::2, 1::2].astype(np.float32)
"""


def test_a_resize_is_told_by_what_its_step_was_given(toy):
    (toy.folder / "code/toy_sizes.py").write_text(RESIZES)
    sides = [
        [REFERENCE[0], {"name": "resize", "call": f"toy_sizes:{call}", "args": {}}]
        for call in ("half", "thinned")
    ]
    report = run(toy, sides[1], sides[0]).report
    assert report.own[0].transform.kind == "resize_filter"
    assert report.own[0].transform.name == "resized with nearest instead of bilinear"

"""Samples whose shapes differ from row to row, and pieces of pictures that lie and that stand."""

import numpy as np
import pytest

from assay.explain.library import explain

RNG = np.random.default_rng(0)


def picture(height, width):
    grid = np.add.outer(np.arange(height), np.arange(width))[..., None] / 6
    waves = 110 + 60 * np.sin(grid + RNG.uniform(0, 6, 3)) + RNG.normal(0, 12, (height, width, 3))
    return np.clip(waves, 0, 255).astype(np.uint8)


PICTURES = [picture(*((24, 32) if row % 3 else (32, 24))) for row in range(12)]


def middle(image, share=0.0, side=24):
    top, left = (round((size - side) / 2 * (1 + share)) for size in image.shape[:2])
    return image[top : top + side, left : left + side]


def boxed(image):
    made = np.full((32, 32, 3), 114, np.uint8)
    height, width = image.shape[:2]
    top, left = (32 - height) // 2, (32 - width) // 2
    made[top : top + height, left : left + width] = image
    return made


def each(change):
    return [np.ascontiguousarray(change(image)) for image in PICTURES]


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda x: x[..., ::-1], "channel_permutation"),
        (lambda x: x.astype(float) / 255, "scale"),
        (lambda x: (np.floor(x / 127.5) * 127.5).astype(np.uint8), "quantise"),
        (lambda x: np.clip(x, 60, 255), "clip"),
        (lambda x: (x * 1.8).astype(np.uint8), "wrap"),
        (middle, "crop"),
    ],
    ids=["order", "scale", "steps", "clip", "wrap", "crop"],
)
def test_one_kind_explains_pictures_of_two_shapes(change, kind):
    found = explain(PICTURES, each(change))
    assert found is not None
    assert found.kind == kind, found.name
    assert found.residual_explained >= 0.99


def test_files_that_a_reader_turns_by_their_orientation_change_their_shape():
    ways = [0, 0, 1, 0, 3, 2, 0, 1, 0, 3, 0, 0]
    turned = [np.rot90(image, way).copy() for image, way in zip(PICTURES, ways, strict=True)]
    found = explain(PICTURES, turned)
    assert set(found.parts) == {"some_rows", "rotate_90", "rotate_180", "rotate_270"}
    assert found.parameters["share"] == pytest.approx(5 / 12)
    assert found.name.startswith("on 42 % of the rows: ")


def test_a_change_on_some_rows_of_each_shape_is_told_of_these():
    mixed = [x[..., ::-1] if row % 2 else x for row, x in enumerate(PICTURES)]
    found = explain(PICTURES, mixed)
    assert found.kind == "some_rows+channel_permutation"
    assert "50 % of the rows" in found.name


def test_shapes_that_no_one_kind_explains_are_unknown():
    noise = [
        RNG.integers(0, 255, x.shape).astype(np.uint8) if x.shape[0] == 24 else x[..., ::-1]
        for x in PICTURES
    ]
    assert explain(PICTURES, noise) is None


def test_equal_samples_of_several_shapes_have_no_difference():
    assert explain(PICTURES, [x.copy() for x in PICTURES]).kind == "identity"


@pytest.mark.parametrize(
    ("candidate", "kind", "text"),
    [
        (np.stack(each(boxed)), "letterbox", "padded to 32x32"),
        (np.stack(each(lambda x: middle(x, 0.75))), "crop_offset", "instead of cropped to 24x24"),
        (np.stack(each(lambda x: middle(x, side=20))), "crop", "cropped to 20x20"),
        (PICTURES, "crop", "left whole instead of cropped to 24x24"),
    ],
    ids=["letterbox", "offset", "smaller", "whole"],
)
def test_pieces_are_told_by_what_they_were_cut_from(candidate, kind, text):
    found = explain(np.stack(each(middle)), candidate, source=PICTURES)
    assert found.kind == kind
    assert text in found.name

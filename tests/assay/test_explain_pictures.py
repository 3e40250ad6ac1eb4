"""Each explainer of pictures on a planted transform, with oracles where another library has it."""

import colorsys
import io
import tracemalloc

import numpy as np
import pytest
from scipy import ndimage

from assay.explain import jpeg
from assay.explain.colour import GREYS, MATRICES
from assay.explain.library import explain
from assay.explain.rendering import RENDERINGS


def smooth(values, axes, times):
    for _ in range(times):
        values = sum(np.roll(values, by, a) for a in axes for by in (-1, 0, 1)) / (3 * len(axes))
    return values


def pictures(seed=0, rows=8, height=24, width=24, times=2):
    images = smooth(np.random.default_rng(seed).random((rows, height, width, 3)), (1, 2), times)
    return (images - images.min()) / np.ptp(images)


def as_bytes(images):
    return np.rint(255 * images).astype(np.uint8)


def turned(images):
    chosen = images.copy()
    chosen[:3] = np.rot90(chosen[:3], 1, (1, 2))
    return chosen


GREY = GREYS["BT.601 weights (.299, .587, .114)"]
SHARP = np.array([[0, -1, 0], [-1, 8, -1], [0, -1, 0]])[None, :, :, None] / 4
PLANTED = [
    (lambda x: ndimage.gaussian_filter(x, (0, 1, 1, 0)), "blur", "sigma 1 px"),
    (lambda x: ndimage.uniform_filter(x, (1, 3, 3, 1), mode="nearest"), "blur", "mean of 3x3"),
    (lambda x: ndimage.correlate(x, SHARP, mode="mirror"), "sharpen", "its middle 2 of 1"),
    (lambda x: x @ np.array(MATRICES["RGB to YUV"]).T, "colour_matrix", "RGB to YUV"),
    (lambda x: x @ np.array(GREY), "colour_matrix", "grey by BT.601"),
    (lambda x: x[..., ::-1] @ np.array(GREY), "colour_matrix", "of BGR read as RGB"),
    (lambda x: x @ np.array(MATRICES["sepia"]).T, "colour_matrix", "sepia"),
    (lambda x: 0.5 * x + 0.5 * (x @ np.array(GREY))[..., None], "colour_matrix", "0.5 times"),
    (lambda x: x[..., 0], "channel_drop", "only channel 0"),
    (np.log1p, "logarithm", "log(1 + x)"),
    (
        lambda x: (x - x.mean((1, 2, 3), keepdims=True)) / x.std((1, 2, 3), keepdims=True),
        "standardised_per_sample",
        "of each sample",
    ),
    (lambda x: x.reshape(8, 12, 2, 12, 2, 3).mean((2, 4)), "resampled", "12x12"),
    (turned, "some_rows+rotate_90", "on 38 % of the rows"),
    (lambda x: turned(x) / 255, "some_rows+rotate_90+scale", "then multiplied by 1/255"),
]
IDS = [f"{kind} {text}" for _, kind, text in PLANTED]


@pytest.mark.parametrize(
    ("transform", "kind", "text"), PLANTED, ids=[k + " " + t for _, k, t in PLANTED]
)
def test_a_planted_transform_is_named(transform, kind, text):
    found = explain(pictures(), transform(pictures()))
    assert found is not None
    assert found.kind == kind, found.name
    assert text in found.name


def test_hue_is_known_from_the_standard_library():
    images = pictures(rows=3, height=12, width=12)
    pixels = [colorsys.rgb_to_hsv(*pixel) for pixel in images.reshape(-1, 3)]
    assert explain(images, np.array(pixels).reshape(images.shape)).kind == "colour_space"


LOST = {
    "blur": lambda x: ndimage.gaussian_filter(x, (0, 1, 1, 0)),
    "quantise": lambda x: np.round(x, 1),
    "clip": lambda x: np.clip(x, 0.3, 0.6),
}


@pytest.mark.parametrize("kind", LOST)
def test_what_only_the_reference_does_is_told_so(kind):
    found = explain(LOST[kind](pictures()), pictures())
    assert found.kind == kind
    assert found.parameters["undone"] == 1
    assert found.name.startswith("the candidate leaves out what the reference does")


def test_another_piece_of_a_larger_picture_is_told_by_its_offset():
    large = pictures(height=40, width=40)
    found = explain(large[:, 4:28, 4:28], large[:, 5:29, 6:30] / 255)
    assert found.parts == ("crop_offset", "scale")
    assert found.name == ("cut out 1 px lower and 2 px further right, then multiplied by 1/255")


def boxed(images, fill):
    inner = RENDERINGS[1].apply(images.transpose(0, 3, 1, 2), (14, 24)).transpose(0, 2, 3, 1)
    made = np.full(images.shape, fill)
    made[:, 5:19] = inner
    return made


def test_a_letterbox_is_told_by_its_bands():
    found = explain(pictures(), boxed(pictures(), 0.5))
    assert found.kind == "letterbox"
    assert "shrunk to 14x24" in found.name
    assert "above and below" in found.name
    back = explain(boxed(pictures(), 0.5), pictures())
    assert (back.kind, back.parameters["undone"]) == ("letterbox", 1)


INSIDE, WIDTHS = pictures()[:, 4:-4, 4:-4], ((0, 0), (4, 4), (4, 4), (0, 0))
PADDED = np.pad(INSIDE, WIDTHS)


@pytest.mark.parametrize(
    ("candidate", "text"),
    [
        (np.pad(INSIDE, WIDTHS, constant_values=0.45), "filled with 0.45"),
        (np.pad(INSIDE, WIDTHS, mode="reflect"), "filled by its inside (reflect)"),
        (np.pad(INSIDE, WIDTHS, mode="edge"), "filled by its inside (edge)"),
    ],
    ids=["fill", "reflect", "edge"],
)
def test_another_padding_is_told_by_its_border(candidate, text):
    found = explain(PADDED, candidate)
    assert found.kind == "pad"
    assert text in found.name
    assert explain(candidate, PADDED).kind == "pad"


def through_pillow(images, **options):
    image = pytest.importorskip("PIL.Image")
    made = []
    for picture in images:
        file = io.BytesIO()
        image.fromarray(picture).save(file, "JPEG", **options)
        made.append(np.asarray(image.open(file)))
    return np.stack(made)


@pytest.mark.parametrize(("quality", "subsampling", "halved"), [(75, 2, 1), (40, 2, 1), (60, 0, 0)])
def test_jpeg_is_told_by_its_quality_as_pillow_encodes_it(quality, subsampling, halved):
    images = as_bytes(pictures())
    found = explain(images, through_pillow(images, quality=quality, subsampling=subsampling))
    assert found.kind == "jpeg"
    assert (found.parameters["quality"], found.parameters["halved"]) == (quality, halved)


def test_our_jpeg_is_pillows_to_a_hundredth_of_what_it_does():
    images = as_bytes(pictures(height=20, width=28))
    ours = jpeg.encode(images.transpose(0, 3, 1, 2).astype(float), 75, halved=True)
    theirs = through_pillow(images, quality=75).transpose(0, 3, 1, 2)
    done = ((images.transpose(0, 3, 1, 2) - theirs.astype(float)) ** 2).mean()
    assert ((ours - theirs) ** 2).mean() < 0.01 * done


def resized(images, size, name):
    image = pytest.importorskip("PIL.Image")
    how = getattr(image.Resampling, name)
    return np.stack([np.asarray(image.fromarray(p).resize(size[::-1], how)) for p in images])


@pytest.mark.parametrize(
    ("had", "got", "text"),
    [
        ("BILINEAR", "NEAREST", " instead of bilinear, antialiased"),
        ("BICUBIC", "LANCZOS", "resized with Lanczos, antialiased instead of bicubic, antialiased"),
        ("NEAREST", "BOX", "resized with box instead of nearest"),
    ],
)
def test_a_filter_is_told_by_rendering_the_source_again(had, got, text):
    source = as_bytes(pictures(height=48, width=64, times=1))
    sides = [resized(source, (24, 24), name) for name in (had, got)]
    found = explain(*sides, source=source)
    assert found.kind == "resize_filter"
    assert text in found.name


def test_pictures_of_several_sizes_are_rendered_one_by_one():
    source = [as_bytes(pictures(height=48, width=64 - 2 * i, times=1)[:1])[0] for i in range(6)]
    sides = [
        np.concatenate([resized(p[None], (24, 24), name) for p in source])
        for name in ("BILINEAR", "NEAREST")
    ]
    assert explain(*sides, source=source).kind == "resize_filter"


def test_a_frame_is_told_by_rendering_the_source_again():
    source = as_bytes(pictures(height=48, width=64, times=1))
    stretched = resized(source, (24, 24), "BILINEAR")
    cut = resized(source, (24, 32), "BILINEAR")[:, :, 4:28]
    found = explain(stretched, cut, source=source)
    assert found.kind == "zoom"
    assert found.name == "short side resized, middle cut out instead of stretched"


def test_what_is_no_resize_is_not_told_by_the_source():
    source = as_bytes(pictures(height=48, width=64, times=1))
    stretched = resized(source, (24, 24), "BILINEAR")
    found = explain(stretched, stretched[..., ::-1], source=source)
    assert found.kind == "channel_permutation"


def test_a_case_adds_a_kind_of_its_own():
    from assay.explain.proposal import of_planes

    shade = np.linspace(1, 0.2, 24)[:, None] * np.linspace(0.3, 1, 24)[None, :]

    def vignette(_reference, _candidate):
        yield of_planes("vignette", "corners darkened", lambda p: p * shade, cost=1.5)

    images = pictures()
    found = explain(images, 255 * images * shade[..., None], more=[vignette])
    assert found.kind == "vignette+scale"
    assert explain(images, 255 * images * shade[..., None]) is None


def test_a_wide_blur_is_a_blur_and_no_composition():
    images = as_bytes(pictures(rows=4, height=72, width=72, times=1))
    wide = np.rint(ndimage.gaussian_filter(images.astype(float), (0, 8, 8, 0), mode="mirror"))
    found = explain(images, wide)
    assert found.kind == "blur"
    assert found.parameters["sigma"] == pytest.approx(8, rel=0.1)


def test_a_wide_mean_is_a_blur():
    images = as_bytes(pictures(rows=4, height=64, width=64, times=1))
    mean = np.rint(ndimage.uniform_filter(images.astype(float), (1, 15, 15, 1), mode="mirror"))
    found = explain(images, mean)
    assert (found.kind, found.parameters.get("size")) == ("blur", 15)


def test_a_steep_curve_on_bytes_is_known_at_each_of_their_values():
    images = as_bytes(pictures())
    steep = as_bytes(1 / (1 + np.exp(-40 * (images / 255 - 0.75))))
    found = explain(images, steep)
    assert found is not None
    assert found.kind == "monotone_curve"
    assert found.residual_explained > 0.9999


def test_where_bytes_start_again_is_known_though_no_sampled_value_is_near_it():
    values = np.random.default_rng(0).integers(20, 256, (32, 72, 96, 3)).astype(np.uint8)
    for row in (0, -1):  # what the search looks at
        values[row][(values[row] > 119) & (values[row] < 143)] = 100
    gained = (values * 1.8).astype(np.int64).astype(np.uint8)
    found = explain(values, gained)
    assert found is not None
    assert found.kind == "wrap"


def test_a_long_recording_is_no_picture_to_be_rendered_again():
    generator = np.random.default_rng(0)
    recording = generator.normal(size=(8, 2000, 1))
    reference = np.abs(recording[:, : 14 * 24].reshape(8, 14, 24))
    tracemalloc.start()
    found = explain(reference, reference * np.linspace(1, 2, 24), source=recording)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found is not None
    assert found.kind == "band_gain"
    assert peak_bytes < 100e6

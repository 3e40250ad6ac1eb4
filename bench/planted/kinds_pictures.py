"""Faults of preprocessing that only pictures have: where pixels lie, and how they are rendered."""

from typing import Any

import numpy as np

from bench.planted.draft import Draft
from bench.planted.kind import CURVES, TURNS, kind

Rng = np.random.Generator
WHERE = "preprocessing"


def square(draft: Draft) -> str:
    """Return the last step whose pictures are square and in raw units."""
    return {"digits": "decode", "glyphs": "decode", "signs": "crop"}[draft.base.name]


@kind(WHERE, "channel_permutation channel_order", "signs")
def colour_order(draft: Draft, severity: int, rng: Rng) -> str:
    order = ([1, 0, 2], [1, 2, 0], [2, 1, 0])[severity]
    del rng
    return draft.after("decode", f"value = np.ascontiguousarray(value[..., {order}])")


@kind(WHERE, TURNS | {"some_rows", "orientation"}, "signs")
def orientation_ignored(draft: Draft, severity: int, rng: Rng) -> str:
    del rng, severity
    return draft.after(
        "decode",
        """
        import io
        from PIL import Image
        value = np.asarray(Image.open(io.BytesIO(sample)).convert("RGB"))
        """,
    )


@kind(WHERE, TURNS, "digits glyphs signs")
def turned(draft: Draft, severity: int, rng: Rng) -> str:
    if severity == 0:
        way = rng.choice(["value[::-1]", "value[:, ::-1]"])
    elif severity == 1:
        way = rng.choice(["value[::-1, ::-1]", "np.swapaxes(value, 0, 1)"])
    else:
        way = f"np.rot90(value, {rng.choice([1, 3])})"
    return draft.after(square(draft), f"value = np.ascontiguousarray({way})")


@kind(WHERE, "resize_filter", "glyphs")
def resize_filter(draft: Draft, severity: int, rng: Rng) -> str:
    del rng
    size = draft.base.extra["size"]
    way = ("INTER_LINEAR", "INTER_LANCZOS4", "INTER_NEAREST")[severity]
    return draft.after(
        "resize",
        f"""
        import cv2
        value = cv2.resize(sample, ({size}, {size}), interpolation=cv2.{way})
        """,
    )


@kind(WHERE, "letterbox stretch pad zoom crop", "signs")
def letterbox(draft: Draft, severity: int, rng: Rng) -> str:
    del rng
    fill = (128, 114, 0)[severity]
    return draft.after(
        "crop",
        f"""
        height, width = sample.shape[:2]
        side = max(height, width)
        top, left = (side - height) // 2, (side - width) // 2
        value = np.full((side, side, 3), {fill}, np.uint8)
        value[top : top + height, left : left + width] = sample
        """,
    )


@kind(WHERE, "letterbox stretch zoom crop pad", "signs")
def stretched(draft: Draft, severity: int, rng: Rng) -> str:
    del rng, severity
    return draft.after("crop", "value = sample")


@kind(WHERE, "shift crop crop_offset pad", "signs")
def crop_offset(draft: Draft, severity: int, rng: Rng) -> str:
    share = (0.55, 0.75, 1.0)[severity] * rng.choice([-1, 1])
    return draft.after(
        "crop",
        f"""
        height, width = sample.shape[:2]
        side = min(height, width)
        top = round((height - side) / 2 * (1 + {share}))
        left = round((width - side) / 2 * (1 + {share}))
        value = np.ascontiguousarray(sample[top : top + side, left : left + side])
        """,
    )


@kind(WHERE, "crop pad shift", "digits glyphs signs")
def frame(draft: Draft, severity: int, rng: Rng) -> str:
    """A border of a constant instead of pixels."""
    share, top = (0.13, 0.19, 0.26)[severity], int(draft.base.top)
    fill = int(rng.choice([0, top // 2, top]))
    return draft.after(
        square(draft),
        f"""
        width = max(1, round({share} * len(value)))
        inner = value[width:-width, width:-width]
        value = np.full_like(value, {fill})
        value[width:-width, width:-width] = inner
        """,
    )


@kind(WHERE, "shift", "digits glyphs")
def shifted(draft: Draft, severity: int, rng: Rng) -> str:
    most = {"digits": 1, "glyphs": 3}[draft.base.name] * (1 + severity)
    down, across = most * rng.choice([-1, 1]), (most // 2) * rng.choice([-1, 1])
    return draft.after("decode", f"value = np.roll(value, ({down}, {across}), axis=(0, 1))")


@kind(WHERE, "subpixel_shift shift", "digits glyphs")
def half_pixel(draft: Draft, severity: int, rng: Rng) -> str:
    step = {"digits": 0.5, "glyphs": 1.5}[draft.base.name] * (1 + severity) * rng.choice([-1, 1])
    return draft.after(
        "decode",
        f"""
        from scipy import ndimage
        value = ndimage.shift(value.astype(np.float32), ({step}, {step}), order=1, mode="nearest")
        """,
    )


@kind(WHERE, "jpeg", "glyphs signs")
def jpeg(draft: Draft, severity: int, rng: Rng) -> str:
    del rng
    quality = (5, 2, 1)[severity]
    return draft.after(
        square(draft),
        f"""
        import io
        from PIL import Image
        file = io.BytesIO()
        Image.fromarray(value).save(file, "JPEG", quality={quality})
        value = np.asarray(Image.open(file))
        """,
    )


@kind(WHERE, CURVES, "digits glyphs signs")
def gamma(draft: Draft, severity: int, rng: Rng) -> str:
    power = (1.8, 2.4, 3.2)[severity]
    power = round(1 / power, 4) if rng.random() < 0.5 else power
    top = draft.base.top
    return draft.after(
        square(draft),
        f"""
        kind = value.dtype
        value = {top} * (value.astype(np.float32) / {top}) ** {power}
        value = np.rint(value).astype(kind)
        """,
    )


@kind(WHERE, CURVES, "glyphs signs")
def tone_curve(draft: Draft, severity: int, rng: Rng) -> str:
    """A film-like S curve, which no power is."""
    del rng
    steep = (10, 20, 40)[severity]
    return draft.after(
        square(draft),
        f"""
        at = 1 / (1 + np.exp(-{steep} * (value.astype(np.float32) / 255 - 0.75)))
        value = np.rint(255 * at).astype(np.uint8)
        """,
    )


@kind(WHERE, "colour_matrix colour_space", "signs")
def colour_matrix(draft: Draft, severity: int, rng: Rng) -> str:
    """Another colour space, or one of grey."""
    del rng
    names = ("COLOR_RGB2YCrCb", "COLOR_RGB2YUV", "COLOR_RGB2GRAY")
    return draft.after(
        "crop",
        f"""
        import cv2
        value = cv2.cvtColor(np.ascontiguousarray(value), cv2.{names[severity]})
        value = np.repeat(value[..., None], 3, axis=2) if value.ndim == 2 else value
        """,
    )


@kind(WHERE, "blur", "glyphs signs")
def smoothed(draft: Draft, severity: int, rng: Rng) -> str:
    del rng
    sigma = {"glyphs": 1.6, "signs": 4.0}[draft.base.name] * (1 + 0.6 * severity)
    return draft.after(
        square(draft), f"import cv2\nvalue = cv2.GaussianBlur(value, (0, 0), {sigma:.2f})"
    )


@kind(WHERE, "unknown", "glyphs signs")
def lens(draft: Draft, severity: int, rng: Rng) -> str:
    """A barrel: straight lines bend."""
    bend = (0.5, 0.8, 1.2)[severity] * rng.choice([-0.7, 1])
    return draft.after(
        square(draft),
        f"""
        import cv2
        half = (len(value) - 1) / 2
        y, x = np.mgrid[: len(value), : len(value)].astype(np.float32) / half - 1
        away = 1 + {bend} * (x**2 + y**2)
        maps = [((part * away + 1) * half).astype(np.float32) for part in (x, y)]
        value = cv2.remap(value, *maps, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        """,
    )


def _is_a_shift(order: np.ndarray[Any, Any], num: int) -> bool:
    """Tell whether all tiles move alike, round the edges: that is a shift, which has a name."""
    grid, own = order.reshape(num, num), np.arange(num * num).reshape(num, num)
    return any(
        np.array_equal(grid, np.roll(own, (down, right), axis=(0, 1)))
        for down in range(num)
        for right in range(num)
    )


@kind(WHERE, "unknown", "glyphs signs")
def shuffled_tiles(draft: Draft, severity: int, rng: Rng) -> str:
    """Tiles of a picture in the wrong places, as a decoder of strips may put them."""
    num = (2, 3, 4)[severity]
    order = rng.permutation(num * num)
    while _is_a_shift(order, num):  # which has a name of its own
        order = rng.permutation(num * num)
    order = order.tolist()
    return draft.after(
        square(draft),
        f"""
        side = len(value) // {num}
        tiles = [
            value[r * side : (r + 1) * side, c * side : (c + 1) * side].copy()
            for r in range({num})
            for c in range({num})
        ]
        value = value.copy()
        for at, tile in zip({order}, tiles):
            r, c = divmod(at, {num})
            value[r * side : (r + 1) * side, c * side : (c + 1) * side] = tile
        """,
    )


@kind(WHERE, "unknown", "digits glyphs signs")
def local_contrast(draft: Draft, severity: int, rng: Rng) -> str:
    """Each pixel against its surroundings."""
    del rng
    share = (0.12, 0.2, 0.3)[severity]
    top, number = draft.base.top, "np.float32" if draft.base.name == "digits" else "np.uint8"
    return draft.after(
        square(draft),
        f"""
        from scipy import ndimage
        wide = max(1.0, {share} * len(value))
        size = (wide, wide, 0)[: value.ndim]
        light = value.astype(np.float32)
        around = ndimage.gaussian_filter(light, size)
        spread = np.sqrt(ndimage.gaussian_filter((light - around) ** 2, size)) + 0.05 * {top}
        value = np.clip({top} * (0.5 + (light - around) / (4 * spread)), 0, {top}).astype({number})
        """,
    )

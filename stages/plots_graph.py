"""A graph of boxes and arrows as SVG, in the page's colours: what was made of what."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

from assay.layered import Spot, lay_out

MARGIN = 12
LINE = 14  # from one line of a title to the next


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """How large boxes are, how far apart, and how many letters a line of theirs holds."""

    width: int
    height: int
    beside: int  # from one box to the next
    below: int
    letters: int  # of a title
    small: int  # of the line below it


PAGE = _Shape(width=106, height=40, beside=115, below=66, letters=12, small=14)
"""Eight boxes beside each other in a page 1100 px wide, with letters as large as they are here."""

ALONE = _Shape(width=178, height=42, beside=190, below=78, letters=22, small=26)

COLOURS = {"data": "--real", "code": "--sim", "stage": "--line", "end": "--loss"}

OWN_STYLE = """<style>
svg { --card: #ffffff; --ink: #1b2026; --muted: #56606c; --line: #aeb7c1;
  --sim: #0b66a8; --real: #b4490a; --loss: #a12a6b; background: #ffffff;
  font-family: system-ui, "DejaVu Sans", sans-serif; }
@media (prefers-color-scheme: dark) { svg { --card: #181d23; --ink: #e6eaee; --muted: #a2adb9;
  --line: #4a545f; --sim: #5fb0ec; --real: #f2995a; --loss: #ee8fc0; background: #101418; } }
</style>"""
"""The page's colours, for a picture that stands alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """One thing of the picture."""

    title: str
    small: str = ""
    hover: str = ""  # what else is shown of it under the pointer
    kind: Literal["data", "code", "stage", "end"] = "stage"
    marked: bool = False  # what was asked for


def draw(
    boxes: Mapping[str, Box], before: Mapping[str, Sequence[str]], says: str, *, alone: bool
) -> str:
    """Return the picture.

    Args:
        boxes: what stands in it, by a name.
        before: the names that arrows lead from, of each box.
        says: what it shows, for who cannot see it.
        alone: it is a file of its own, not a part of the page.
    """
    arrows = {name: [one for one in before.get(name, ()) if one in boxes] for name in boxes}
    layout, shape = lay_out(arrows), ALONE if alone else PAGE
    passed = [spot.beside for way in layout.ways.values() for spot in way[1:-1]]
    edges = [spot.beside - 0.5 for spot in layout.spots.values()]  # of the boxes, on the left
    left = min([*edges, *passed], default=0.0) + 0.5
    right = max([edge + 1 for edge in edges] + passed, default=0.0) - 0.5
    places = {name: _place(spot, left, shape) for name, spot in layout.spots.items()}
    width = (right - left) * shape.beside + shape.width + 2 * MARGIN
    height = max((y for _, y in places.values()), default=0) + shape.height + MARGIN
    ways = ([_place(spot, left, shape) for spot in way] for way in layout.ways.values())
    lines = [_arrow(way, shape) for way in ways]
    drawn = [_box(box, *places[name], shape) for name, box in boxes.items()]
    namespace = ' xmlns="http://www.w3.org/2000/svg"' if alone else ""
    size = f' width="{width:.0f}" height="{height:.0f}"' if alone else ""
    name = f'role="img" aria-label="{escape(says)}"'
    return "\n".join(
        [
            f'<svg{namespace}{size} viewBox="0 0 {width:.0f} {height:.0f}" {name}>',
            *([OWN_STYLE, f"<title>{escape(says)}</title>"] if alone else []),
            '<g fill="none" stroke="var(--muted)" stroke-width="1.1" stroke-opacity=".6">',
            *lines,
            "</g>",
            *drawn,
            "</svg>\n",
        ]
    )


def _place(spot: Spot, left: float, shape: _Shape) -> tuple[float, float]:
    return MARGIN + (spot.beside - left) * shape.beside, MARGIN + spot.level * shape.below


def _arrow(stops: Sequence[tuple[float, float]], shape: _Shape) -> str:
    """Lead from the lower edge of the first box to the upper edge of the last."""
    middles = [(x + shape.width / 2, y) for x, y in stops]
    here, path = (middles[0][0], middles[0][1] + shape.height), ""
    for at, (x, y) in enumerate(middles[1:], start=2):
        bend = (y - here[1]) / 2
        path += (
            f"C{here[0]:.1f} {here[1] + bend:.1f} {x:.1f} {y - bend:.1f} {x:.1f} {y:.1f}"
            f"{'' if at == len(middles) else f'V{y + shape.height:.1f}'}"
        )
        here = (x, y + shape.height)
    x, y = middles[-1]
    start = f"M{middles[0][0]:.1f} {middles[0][1] + shape.height:.1f}"
    head = f"M{x - 3.5:.1f} {y - 6:.1f}L{x:.1f} {y:.1f}L{x + 3.5:.1f} {y - 6:.1f}"
    return f'<path d="{start}{path}{head}"/>'


def _box(box: Box, x: float, y: float, shape: _Shape) -> str:
    colour = f"var({COLOURS[box.kind]})"
    title = [_cut(box.title, shape.letters)] if box.small else _wrapped(box.title, shape.letters)
    first = y + shape.height / 2 + 4 - LINE / 2 * (len(title) - 1 + bool(box.small))
    words = [_line(text, x, first + LINE * at, _weight(box)) for at, text in enumerate(title)]
    if box.small:
        words.append(
            f'<text x="{x + 12:.0f}" y="{first + LINE + 1:.1f}" font-size="10" '
            f'fill="var(--muted)">{escape(_cut(box.small, shape.small))}</text>'
        )
    return (
        f"<g><title>{escape(' '.join(filter(None, (box.title, box.small, box.hover))))}</title>"
        f'<rect x="{x:.0f}" y="{y:.1f}" width="{shape.width}" height="{shape.height}" rx="6" '
        f'fill="var(--card)" stroke="{colour}" stroke-width="{2.5 if box.marked else 1.2}"/>'
        f'<rect x="{x:.0f}" y="{y:.1f}" width="5" height="{shape.height}" rx="2" fill="{colour}"/>'
        f"{''.join(words)}</g>"
    )


def _line(text: str, x: float, y: float, weight: str) -> str:
    return (
        f'<text x="{x + 12:.0f}" y="{y:.1f}" font-size="12" fill="var(--ink)"{weight}>'
        f"{escape(text)}</text>"
    )


def _weight(box: Box) -> str:
    return ' font-weight="650"' if box.marked or box.kind == "end" else ""


def _wrapped(text: str, letters: int) -> list[str]:
    """Break a name that is too long after one of its own marks; else cut it.

    >>> _wrapped("preprocess-candidate", 14)
    ['preprocess-', 'candidate']
    """
    breaks = [at + 1 for at, sign in enumerate(text) if sign in "-_/ ." and at < letters]
    if len(text) <= letters or not breaks:
        return [_cut(text, letters)]
    return [text[: breaks[-1]].rstrip(), _cut(text[breaks[-1] :], letters)]


def _cut(text: str, letters: int) -> str:
    if len(text) <= letters:
        return text
    tail = letters // 2
    return f"{text[: letters - tail - 1]}…{text[-tail:]}"

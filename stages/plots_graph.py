"""A graph of boxes and arrows as SVG, in the page's colours: what was made of what."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

from assay.layered import Spot, lay_out

WIDTH, HEIGHT = 158, 42  # of a box
BESIDE, BELOW = 172, 78  # from one box to the next
MARGIN = 12
LETTERS = 20  # of a box's title; longer ones are cut in their middle
SMALL = 25

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
    layout = lay_out(arrows)
    passed = [spot.beside for way in layout.ways.values() for spot in way[1:-1]]
    edges = [spot.beside - 0.5 for spot in layout.spots.values()]  # of the boxes, on the left
    left = min([*edges, *passed], default=0.0) + 0.5
    right = max([edge + 1 for edge in edges] + passed, default=0.0) - 0.5
    places = {name: _place(spot, left) for name, spot in layout.spots.items()}
    width = (right - left) * BESIDE + WIDTH + 2 * MARGIN
    height = max((y for _, y in places.values()), default=0) + HEIGHT + MARGIN
    lines = [_arrow([_place(spot, left) for spot in way]) for way in layout.ways.values()]
    drawn = [_box(box, *places[name]) for name, box in boxes.items()]
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


def _place(spot: Spot, left: float) -> tuple[float, float]:
    return MARGIN + (spot.beside - left) * BESIDE, MARGIN + spot.level * BELOW


def _arrow(stops: Sequence[tuple[float, float]]) -> str:
    """Lead from the lower edge of the first box to the upper edge of the last."""
    middles = [(x + WIDTH / 2, y) for x, y in stops]
    here, path = (middles[0][0], middles[0][1] + HEIGHT), ""
    for at, (x, y) in enumerate(middles[1:], start=2):
        bend = (y - here[1]) / 2
        path += (
            f"C{here[0]:.1f} {here[1] + bend:.1f} {x:.1f} {y - bend:.1f} {x:.1f} {y:.1f}"
            f"{'' if at == len(middles) else f'V{y + HEIGHT:.1f}'}"
        )
        here = (x, y + HEIGHT)
    x, y = middles[-1]
    start = f"M{middles[0][0]:.1f} {middles[0][1] + HEIGHT:.1f}"
    head = f"M{x - 3.5:.1f} {y - 6:.1f}L{x:.1f} {y:.1f}L{x + 3.5:.1f} {y - 6:.1f}"
    return f'<path d="{start}{path}{head}"/>'


def _box(box: Box, x: float, y: float) -> str:
    colour = f"var({COLOURS[box.kind]})"
    middle = y + HEIGHT / 2
    title_y = middle - 3 if box.small else middle + 4
    small = (
        f'<text x="{x + 12:.0f}" y="{middle + 13:.1f}" font-size="10" fill="var(--muted)">'
        f"{escape(_cut(box.small, SMALL))}</text>"
        if box.small
        else ""
    )
    return (
        f"<g><title>{escape(f'{box.title} {box.small}')}</title>"
        f'<rect x="{x:.0f}" y="{y:.1f}" width="{WIDTH}" height="{HEIGHT}" rx="6" '
        f'fill="var(--card)" stroke="{colour}" stroke-width="{2.5 if box.marked else 1.2}"/>'
        f'<rect x="{x:.0f}" y="{y:.1f}" width="5" height="{HEIGHT}" rx="2" fill="{colour}"/>'
        f'<text x="{x + 12:.0f}" y="{title_y:.1f}" font-size="12" fill="var(--ink)"'
        f"{_weight(box)}>{escape(_cut(box.title, LETTERS))}</text>{small}</g>"
    )


def _weight(box: Box) -> str:
    return ' font-weight="650"' if box.marked or box.kind == "end" else ""


def _cut(text: str, letters: int) -> str:
    if len(text) <= letters:
        return text
    tail = letters // 2
    return f"{text[: letters - tail - 1]}…{text[-tail:]}"

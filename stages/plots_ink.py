"""How a chart becomes part of a page: one width, the page's fonts and its colours, day and night.

Charts are drawn at the width of a phone's column, so that a pixel of a chart is one of the page
there. Colours are drawn as stand-ins and turned into the page's CSS variables.
"""

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 360  # px
TEXT = 11.5  # px
SMALL = 10.5  # px

INK, MUTED, LINE, PAPER = "#101010", "#202020", "#303030", "#404040"
SIM, REAL, LOSS, THIRD = "#501010", "#105010", "#601060", "#101060"
VARIABLES = {
    INK: "--ink",
    MUTED: "--muted",
    LINE: "--line",
    PAPER: "--card",
    SIM: "--sim",
    REAL: "--real",
    LOSS: "--loss",
    THIRD: "--third",
}

_STYLE: Any = {  # matplotlib types each key by name
    "svg.fonttype": "none",
    "svg.hashsalt": "assay",
    "text.parse_math": False,  # a dollar in a label is a dollar
    "axes.formatter.use_mathtext": False,
    "axes.unicode_minus": True,
    "font.family": "DejaVu Sans",
    "font.size": TEXT,
    "axes.labelsize": TEXT,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": TEXT,
    "text.color": INK,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": LINE,
    "axes.linewidth": 1.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": INK,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "grid.color": LINE,
    "grid.linewidth": 0.8,
}


class Chart:
    """One figure, measured in pixels; `svg` ends it."""

    def __init__(self, height: float) -> None:
        """Take `height` px."""
        self.height = height
        self.figure = Figure(figsize=(WIDTH / 72, height / 72), dpi=72)

    def axes(self, left: float, top: float, right: float, bottom: float) -> "Axes":
        """Add axes inside these margins."""
        box = (
            left / WIDTH,
            bottom / self.height,
            (WIDTH - left - right) / WIDTH,
            (self.height - top - bottom) / self.height,
        )
        return self.figure.add_axes(box)

    def text(self, x: float, y: float, words: str, **look: object) -> None:
        """Write at x, y px from the top left."""
        self.figure.text(x / WIDTH, 1 - y / self.height, words, **look)  # type: ignore[arg-type]

    def svg(self, name: str, says: str) -> str:
        """Return markup for a page. `name` keeps its ids apart, `says` is read aloud."""
        buffer = io.StringIO()
        canvas: Any = FigureCanvasSVG(self.figure)
        canvas.print_svg(buffer, metadata={"Date": None})
        return _into_page(buffer.getvalue(), name, says)


@contextmanager
def inked() -> Iterator[None]:
    """Draw in the page's style; a script that the measuring font lacks is no reason to complain."""
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        yield


def _into_page(svg: str, name: str, says: str) -> str:
    from markupsafe import escape

    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>\s*", "", body, flags=re.DOTALL)
    body = re.sub(r"<style[^>]*>.*?</style>\s*", "", body, flags=re.DOTALL)
    body = re.sub(r"<!--.*?-->\s*", "", body, flags=re.DOTALL)
    used = set(re.findall(r"(?:url\(|href=\")#([\w-]+)", body))
    # Tags only: matplotlib escapes < and > in texts and attributes, and a label may hold anything.
    body = re.sub(r"<[^>]*>", lambda tag: _tag(tag[0], name, used), body)
    body = re.sub(r"\n\s*", "\n", body)
    head, rest = body.split(">", 1)
    box = re.search(r'viewBox="[^"]*"', head)
    assert box is not None  # noqa: S101  matplotlib always writes one
    label = str(escape(says))
    opening = f'<svg xmlns:xlink="http://www.w3.org/1999/xlink" {box[0]} role="img"'
    return f'{opening} aria-label="{label}">{rest}'.strip()


def _tag(tag: str, name: str, used: set[str]) -> str:
    tag = re.sub(r"\bfont(-family)?: [^;\"]*;?\s?", _font, tag)
    for stand_in, variable in VARIABLES.items():
        tag = tag.replace(stand_in, f"var({variable})")
    tag = re.sub(r' id="([^"]*)"', lambda m: f' id="{name}-{m[1]}"' if m[1] in used else "", tag)
    tag = re.sub(r"((?:url\(|href=\")#)", rf"\g<1>{name}-", tag)
    return re.sub(r"(\d+\.\d{2})\d+", r"\1", tag)  # a hundredth of a pixel is enough


def _font(found: "re.Match[str]") -> str:
    """Keep the size and weight of a font, not its family: the page has its own."""
    size = re.search(r"([\d.]+)px", found[0])
    bold = " font-weight: 600;" if re.search(r"\b(bold|600|700)\b", found[0]) else ""
    return f"font-size: {size[1]}px;{bold} " if size else ""

"""Sections that found nothing fold into a line each, so that what was found stands out."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

HEADING = re.compile(r'<h2 id="([^"]+)"[^>]*>(.*?)</h2>', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Told:
    """A section as it was laid out."""

    id: str  # of its heading: where the table of contents leads to
    title: Markup
    html: Markup
    silent: str  # why it folds; "": it does not

    @property
    def is_line(self) -> bool:
        """Whether that line is all that there is."""
        return self.silent.startswith(("Not applicable", "Not examined"))


def told(html: str, silent: str) -> Told:
    """Take a section's heading out of its markup, all of which was escaped as it was made.

    >>> told('<section><h2 id="a">B</h2><p>c</p></section>', "").title
    Markup('B')

    Raises:
        ValueError: it has no heading with an id.
    """
    found = HEADING.search(html)
    if found is None:
        raise ValueError('a section\'s template begins with <h2 id="...">')
    if silent:  # the summary bears the heading
        html = html[: found.start()] + html[found.end() :]
        html = html.replace(f'<section aria-labelledby="{found[1]}">', "<div>", 1)
        html = "</div>".join(html.rsplit("</section>", 1))
    return Told(found[1], Markup(found[2]), Markup(html), silent)  # noqa: S704  see above


def parted(sections: Iterable[Told]) -> tuple[list[Told], list[Told]]:
    """Part those that found something from those that fold."""
    listed = list(sections)
    return [one for one in listed if not one.silent], [one for one in listed if one.silent]

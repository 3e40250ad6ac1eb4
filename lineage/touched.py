"""Which files were written to, whatever their size and their time say.

DVC knows a file by inode, size and time, and whoever edits it can set these back. When the inode
last changed is the kernel's own to say, and moves with each edit and each link.
"""

import os
from collections.abc import Iterable, Iterator


class Touched:
    """Remembers the files of one worktree as they stood when they were last hashed."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def see(self, places: Iterable[str]) -> list[str]:
        """Look at files, and at all in folders, and return those touched since they were seen."""
        touched = []
        for path, changed_ns in _changes(places):
            if self._seen.get(path, changed_ns) != changed_ns:
                touched.append(path)
            self._seen[path] = changed_ns
        return touched


def _changes(places: Iterable[str]) -> Iterator[tuple[str, int]]:
    for place in places:
        try:
            if os.path.isdir(place):  # noqa: PTH112 - DVC's paths are text, and these are many
                with os.scandir(place) as entries:
                    inner = [entry.path for entry in entries]
                yield from _changes(inner)
            else:
                yield place, os.stat(place).st_ctime_ns  # noqa: PTH116
        except FileNotFoundError:
            continue

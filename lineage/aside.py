"""What a stage finds damaged in the cache: taken out, told and written down, never passed on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lineage.cache_objects import Damage, set_aside
from lineage.execute import workspace_of


@dataclass(slots=True)
class Aside:
    """The objects that one stage's looking up has taken out of the cache."""

    stage: str
    root: Path  # the worktree
    say: Callable[[str], None]
    names: list[str] = field(default_factory=list)

    def take_out(self, cache: Path, damaged: Mapping[str, Damage]) -> None:
        """Set aside what is altered; what is missing needs no more than to be made again."""
        for name in sorted(name for name, what in damaged.items() if what == "altered"):
            kept = set_aside(workspace_of(self.root), cache, name)
            self.names.append(name)
            self.say(
                f"the cache held an object of {self.stage} damaged: it is made anew, and the "
                f"damaged one is kept in {kept}"
            )

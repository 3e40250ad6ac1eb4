"""How deep a YAML file nests: its parsers take time by the square of it, or run out of stack."""

from typing import Final

MAX_DEPTH: Final = 50
"""Ten times what a large file of a person nests."""


def is_too_deep(text: str) -> bool:
    """Tell whether a text nests deeper than a person writes; one that is no YAML does not."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    depth = 0
    try:
        for event in yaml.parse(text, Loader=loader):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > MAX_DEPTH:
                return True
    except (yaml.YAMLError, ValueError, RecursionError):
        # Its parser tells what is wrong with it, unless brackets alone would keep that busy.
        return _most_open(text) > MAX_DEPTH
    return False


def _most_open(text: str) -> int:
    """Return how many brackets are open at once, whatever they stand in."""
    most = now = 0
    for sign in text:
        now = now + 1 if sign in "[{" else max(0, now - 1) if sign in "]}" else now
        most = max(most, now)
    return most

"""How often does an examination name what was planted? It has a command line of its own."""

from bench.rig.figures import Figure, Skipped


def run() -> list[Figure]:
    """Say where it is measured: it takes an hour or more, and goes on where it was stopped."""
    raise Skipped("Measure it: python -m bench planted --write, and read bench/planted/README.md.")

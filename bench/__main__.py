"""Measure and print beside the targets: `python -m bench [NAME ...]`."""

import argparse
import importlib
import os
import pkgutil
import sys
import time
from pathlib import Path

from bench.rig import figures, machine

HERE = Path(__file__).resolve().parent
# A benchmark is a module with `run`, or a folder whose `measure.py` has it.
PLACES = {
    found.name: f"bench.{found.name}.measure" if found.ispkg else f"bench.{found.name}"
    for found in pkgutil.iter_modules([str(HERE)])
    if not found.name.startswith("_")
    and (not found.ispkg or (HERE / found.name / "measure.py").exists())
}
NAMES = tuple(PLACES)


def main() -> int:
    """Run the named benchmarks, or all of them; 3 when one broke."""
    if sys.argv[1:2] == ["planted"]:  # it has options of its own
        from bench.planted import command

        return command.main(sys.argv[2:])
    if sys.argv[1:2] == ["soak"] and "--stored" not in sys.argv:
        from bench import soak

        return soak.main(sys.argv[2:])
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(NAMES)}")
    parser.add_argument("--stored", action="store_true", help="print results/, measure nothing")
    words = parser.parse_args()
    unknown = sorted(set(words.names) - set(NAMES))
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}. One of: {', '.join(NAMES)}.")
    status = 0
    for name in words.names or NAMES:
        path = HERE / "results" / f"{name}.json"
        try:
            if not words.stored:
                _measure(name, path)
            print(f"\n{name}\n{figures.table(figures.read(path))}")
        except figures.Skipped as why:
            print(f"\n{name}: not measured. {why}")
        except FileNotFoundError:
            print(f"\n{name}: not measured yet. Measure it: python -m bench {name}")
        except Exception as error:  # noqa: BLE001  the others are measured all the same
            print(f"\n{name}: broke. {type(error).__name__}: {error}", file=sys.stderr)
            status = 3
    return status


def _measure(name: str, path: Path) -> None:
    began, load_before = time.monotonic(), os.getloadavg()[0]
    print(f"measuring {name} ...", file=sys.stderr, flush=True)
    found = importlib.import_module(PLACES[name]).run()
    described = machine.describe() | {
        "load_average_before": round(load_before, 2),
        "measured_in_s": round(time.monotonic() - began),
    }
    figures.write(path, described, found)


if __name__ == "__main__":
    sys.exit(main())

"""What does a sample more cost each stage, in CPU and in memory, from 1000 samples to 100 000?"""

import os
import resource
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

from bench.rig import grown
from bench.rig.figures import Figure, median

SIZES = (1_000, 10_000, 100_000)  # raw samples, half of them simulated and half real
MB = 10**6
BOOKKEEPING_BYTES = 2048
"""What a row may cost beyond bounded batches: its line (id, group, label, role) as a table of text
holds it, and a few numbers."""

STATED_SIZES = os.environ.get("ASSAY_BENCH_SIZES")  # fewer, to try it


@dataclass(frozen=True, slots=True)
class Spent:
    """What one stage took of one size."""

    cpu_s: float
    peak_bytes: int


def run() -> list[Figure]:
    """Run the generated case stage by stage, in processes, at each size."""
    sizes = tuple(int(word) for word in STATED_SIZES.split()) if STATED_SIZES else SIZES
    figures: list[Figure] = []
    for name, kind in grown.KINDS.items():
        spent: dict[str, dict[int, Spent]] = {}
        for size in sizes:
            with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
                grown.make(Path(folder), kind, size)
                for stage, cost in _run_case(Path(folder)).items():
                    spent.setdefault(stage, {})[size] = cost
        for stage, costs in spent.items():
            figures += _figures(f"{name}, {stage}", costs)
    return figures


def _figures(name: str, costs: dict[int, Spent]) -> list[Figure]:
    """Return both costs over the sizes (least, middle, most), and what one sample more adds.

    It is taken between the two largest: up to there blocks of a bounded size are still filling.
    """
    *_, before, most = sorted(costs)
    added = most - before
    cpu_s = (costs[most].cpu_s - costs[before].cpu_s) / added
    growth = (costs[most].peak_bytes - costs[before].peak_bytes) / added
    span = f"{min(costs)} to {most} samples"
    bound = f"<= {BOOKKEEPING_BYTES}"
    return [
        median(f"{name}, {span}, CPU", "s", [cost.cpu_s for cost in costs.values()]),
        median(f"{name}, {span}, peak", "MB", [cost.peak_bytes / MB for cost in costs.values()]),
        median(f"{name}, CPU for 1000 samples more", "s", [max(0.0, 1000 * cpu_s)]),
        median(f"{name}, memory for a sample more", "bytes", [max(0.0, growth)], bound),
    ]


def _run_case(root: Path) -> dict[str, Spent]:
    """Run every stage of the case once, as `assay stage` does, and say what each took."""
    from containers.process_runner import ProcessRunner
    from flows.case import load_case
    from flows.plan import plan
    from lineage.execute import execute

    runner, found = ProcessRunner(), {}
    for row in plan(load_case(root, grown.CASE)):
        before = _cpu_s()
        done = execute(
            row,
            root,
            runner,
            run_id="bench",
            on_line=lambda _line: None,
            cancel=threading.Event(),
            logs=root / ".assay/logs",
        )
        peak = (done.inside or {})["peak_rss_bytes"]
        found[row.name] = Spent(_cpu_s() - before, int(peak))
    return found


def _cpu_s() -> float:
    """Return the CPU seconds of all children that have ended; stages run one after another."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime

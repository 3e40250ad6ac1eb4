"""What does a feature comparison cost from ten thousand to a million rows a side?"""

import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.rig import clock
from bench.rig.figures import Figure, median, read
from sides.layers import save_list
from sides.tensors import RowWriter

ROOT = Path(__file__).resolve().parents[1]
SIZES = (10_000, 100_000, 1_000_000)  # rows a side
WIDTH = 512
BLOCK = 10_000  # rows that are made at once
GROUP_ROWS = 20
SHIFT = 0.02  # of every feature, in standard deviations: real is a little off
MB = 10**6
STORED = ROOT / "bench" / "results" / "large.json"
STATED_SIZES = os.environ.get("ASSAY_BENCH_SIZES")  # only these; what is known of others stays


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run of the stage took, and how far its numbers may be off."""

    cpu_s: float
    peak_bytes: int
    mmd2_error: float
    effect_error: float


def run() -> list[Figure]:
    """Compare two files of each size as the stage does; they are removed before the next."""
    stated = [int(word) for word in STATED_SIZES.split()] if STATED_SIZES else SIZES
    known = read(STORED) if STATED_SIZES and STORED.exists() else []
    found: dict[int, list[Figure]] = {}
    for size in sorted({*SIZES, *stated}):
        kept = [figure for figure in known if figure.figure.startswith(_what(size))]
        found[size] = figures(size, _measured(size)) if size in stated else kept
    return [*(figure for size in found for figure in found[size]), *_slope(found)]


def figures(size: int, cost: Cost) -> list[Figure]:
    """Return one size's costs and errors."""
    what = _what(size)
    return [
        median(f"{what}, CPU", "s", [cost.cpu_s]),
        median(f"{what}, peak memory", "MB", [cost.peak_bytes / MB], "<= 2000"),
        median(f"{what}, standard error of MMD^2", "of MMD^2", [cost.mmd2_error]),
        median(f"{what}, standard error of the effect", "AUC", [cost.effect_error]),
    ]


def _what(size: int) -> str:
    return f"features, {size}+{size} rows x {WIDTH}"


def _slope(found: dict[int, list[Figure]]) -> list[Figure]:
    """Return what a thousand rows more take, between the two largest sizes."""
    cpu_s = {size: own[0].value for size, own in sorted(found.items()) if own}
    if len(cpu_s) < 2:
        return []
    *_, before, most = cpu_s
    more = (cpu_s[most] - cpu_s[before]) / (2 * (most - before) / 1000)
    return [median("features, CPU for 1000 rows more", "s", [max(0.0, more)])]


def _measured(size: int) -> Cost:
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as name:
        folder = Path(name)
        _write(folder, size)
        job = {
            "name": "features",
            "case": "made",
            "module": "stages.features",
            "params": {"num_permutations": 999},
            "inputs": {"layers": str(folder / "layers"), "roles": str(folder / "roles.csv")},
            "into": str(folder / "out"),
            "code": [],
        }
        (folder / "out").mkdir()
        (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
        environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "stages.enter", str(folder / "job.json")]
        spent = clock.spend(command, folder, environment)
        if spent.status:
            raise RuntimeError(f"the stage left with {spent.status}: {spent.stdout[-500:]}")
        report = json.loads((folder / "out" / "report.json").read_text(encoding="utf-8"))
    layer = report["layers"][0]

    errors = (float(layer[key] or 0) for key in ("mmd2_error", "effect_error"))
    return Cost(spent.cpu_s, spent.peak_rss_bytes, *errors)


def _write(folder: Path, size: int) -> None:
    """Write one layer's answers of both sides, and roles.csv, a block at a time."""
    (folder / "layers").mkdir()
    generator = np.random.default_rng(0)
    with (folder / "roles.csv").open("w", encoding="utf-8") as file:
        file.write("dataset,id,row,path,label,group,role\n")
        for name, role, shift in (("sim", "validation", 0.0), ("real", "diagnose", SHIFT)):
            with RowWriter(folder / "layers" / f"input.{name}.npy", size) as rows:
                for start in range(0, size, BLOCK):
                    num = min(BLOCK, size - start)
                    block = generator.standard_normal((num, WIDTH), dtype=np.float32)
                    rows.write(block + np.float32(shift))
            file.writelines(
                f"{name},{name}-{at},{at},,{at % 10},g{at // GROUP_ROWS},{role}\n"
                for at in range(size)
            )
    rows_of = {"sim": list(range(size)), "real": list(range(size))}
    save_list(folder / "layers", ["input"], rows_of, None)

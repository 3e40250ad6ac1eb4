"""What does the two-sample test gain over a loop over its arrangements?"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from assay.mmd import BANDWIDTH_FACTORS, TIE, mmd_test
from bench.rig.figures import Figure, median

ROWS, WIDTH = 1000, 512
ROUNDS = {100: 3, 1000: 1}  # arrangements -> repetitions; the loop takes a minute at 1000


def run() -> list[Figure]:
    generator = np.random.default_rng(0)
    sim = generator.normal(size=(ROWS, WIDTH))
    real = generator.normal(size=(ROWS, WIDTH)) * 1.01
    found: list[Figure] = []
    for num, rounds in ROUNDS.items():
        ours_s, loop_s = [], []
        for _ in range(rounds):
            ours, spent_s = _timed(lambda num=num: mmd_test(sim, real, None, None, **_how(num)))
            ours_s.append(spent_s)
            (p_value, mmd2), spent_s = _timed(lambda num=num: _loop(sim, real, num))
            loop_s.append(spent_s)
            assert p_value == ours.p_value, (p_value, ours.p_value)
            assert abs(mmd2 - ours.mmd2) < 1e-6, (mmd2, ours.mmd2)
        what = f"{ROWS}+{ROWS} rows x {WIDTH}, {num} arrangements"
        gains = [loop / our for our, loop in zip(ours_s, loop_s, strict=True)]
        found += [
            median(f"mmd_test, {what}, CPU", "s", ours_s),
            median(f"a loop, {what}, CPU", "s", loop_s),
            median(f"the loop over mmd_test, same p-value, {num} arrangements", "x", gains),
        ]
    return found


def _how(num: int) -> dict[str, int]:
    return {"num_permutations": num, "seed": 0, "max_rows": ROWS}


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    began = time.process_time()  # of all threads
    answer = call()
    return answer, time.process_time() - began


def _loop(sim: np.ndarray, real: np.ndarray, num: int) -> tuple[float, float]:
    """Compute what `mmd_test` does of rows that are groups of one, the way the formula reads."""
    generator = np.random.default_rng(0)
    both = np.concatenate([sim, real])
    orders = [np.arange(len(both)), *(generator.permutation(len(both)) for _ in range(num))]
    distances = cdist(both, both)
    centre = np.median(distances[np.triu_indices(len(both), 1)])
    stack = np.array(
        [_statistics(distances, factor * centre, orders) for factor in BANDWIDTH_FACTORS]
    )
    spread = stack.std(axis=1, keepdims=True)
    largest = ((stack - stack.mean(axis=1, keepdims=True)) / spread).max(axis=0)
    num_as_large = int((largest[1:] >= largest[0] - TIE).sum())
    return (1 + num_as_large) / (num + 1), float(stack[BANDWIDTH_FACTORS.index(1.0), 0])


def _statistics(distances: np.ndarray, bandwidth: float, orders: list[np.ndarray]) -> list[float]:
    kernel = np.exp(-(distances**2) / (2 * bandwidth**2))
    np.fill_diagonal(kernel, 0.0)
    pairs = ROWS * (ROWS - 1)
    found = []
    for order in orders:
        left, right = order[:ROWS], order[ROWS:]
        within = kernel[np.ix_(left, left)].sum() + kernel[np.ix_(right, right)].sum()
        found.append(within / pairs - 2 * kernel[np.ix_(left, right)].mean())
    return found

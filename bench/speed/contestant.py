"""One contestant's turn, in a process of its own: `contestant.py MODULE FUNCTION DATA WORDS`.

Runs in a peer's environment too, so it imports numpy and what the contestant imports, and nothing
of ours. DATA is an .npz with `left` and `right`. WORDS is JSON: `given`, what the function is told,
and `repeats`, of which the one that took least counts. Prints one line of JSON.
"""

import importlib
import json
import sys
import time
from pathlib import Path

import numpy as np

WARM_ROWS = 64  # a turn before the one that counts: imports, threads, first allocations


def main() -> None:
    """Take a small turn, then the one that counts."""
    module, function, data, words = sys.argv[1:]
    call = getattr(importlib.import_module(module), function)
    told = json.loads(words)
    given = told["given"]
    with np.load(data) as arrays:
        left, right = arrays["left"], arrays["right"]
    call(left[:WARM_ROWS], right[:WARM_ROWS], warm=True, **given)
    before = _status("VmRSS")
    _forget_peak()
    spent = []
    for _ in range(told["repeats"]):
        began = time.process_time()  # user and system, of all threads
        value = call(left, right, warm=False, **given)
        spent.append(time.process_time() - began)
    added = _status("VmHWM") - before
    print(json.dumps({"cpu_s": min(spent), "added_bytes": added, "value": value}))


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


if __name__ == "__main__":
    main()

"""What cleanlab says of the field's labels, in an environment of its own.

Its script reads the reference's likelihoods and the labels of all cases at once, and counts the
issues that cleanlab finds at its defaults. It claims noise of labels where more than a twentieth
of the rows are issues.
"""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

PINS = ("cleanlab==2.9.0", "numpy>=2", "scikit-learn>=1.6", "pandas>=2.2")
BAR = 0.05
SCRIPT = """
import json, sys
from pathlib import Path
import numpy as np
from cleanlab.filter import find_label_issues

found = {}
for path in sorted(Path(sys.argv[1]).glob("*.npz")):
    with np.load(path) as kept:
        labels, likely, name = kept["labels"], kept["likely"], str(kept["name"])
    try:
        found[name] = float(find_label_issues(labels, likely, n_jobs=1).mean())
    except Exception as error:
        found[name] = None
Path(sys.argv[2]).write_text(json.dumps(found))
"""


def keep(case: str, folder: Path, labels: Any, work: Path) -> None:
    """Keep what cleanlab is asked about one case."""
    outputs = np.load(folder / "artifacts/predict-reference/outputs/real-reference.npy")
    likely = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    likely /= likely.sum(axis=1, keepdims=True)
    place = work / "labels"
    place.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(case.encode()).hexdigest()[:16]
    np.savez(place / f"{name}.npz", labels=np.asarray(labels), likely=likely, name=np.array(case))


def ask(work: Path) -> dict[str, dict[str, Any]]:
    """Return {case: what cleanlab says}; {} where nothing was kept, or it cannot be installed."""
    if not any((work / "labels").glob("*.npz")):
        return {}
    python = work / "cleanlab" / "bin" / "python"
    try:
        if not python.exists():
            _do([sys.executable, "-m", "venv", "--clear", str(work / "cleanlab")])
            _do([str(python), "-m", "pip", "install", "--quiet", *PINS])
        _do([str(python), "-c", SCRIPT, str(work / "labels"), str(work / "cleanlab.json")])
    except subprocess.CalledProcessError as error:
        print(f"cleanlab was not asked: {error.stderr[-300:]}", file=sys.stderr)
        return {}
    shares = json.loads((work / "cleanlab.json").read_text(encoding="utf-8"))
    return {
        case: {
            "fires": share > BAR,
            "component": "data" if share > BAR else None,
            "kind": "label_noise" if share > BAR else None,
        }
        for case, share in shares.items()
        if share is not None
    }


def _do(command: list[str]) -> None:
    subprocess.run(command, capture_output=True, text=True, check=True)

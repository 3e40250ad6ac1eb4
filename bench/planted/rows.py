"""Raw samples with their labels and groups, and the dataset folder that a case reads."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Rows:
    """One dataset in memory; files where samples are bytes."""

    samples: Any  # an array (rows, ...), or a list of bytes
    labels: NDArray[Any]
    groups: list[str]
    ids: list[str]

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def are_files(self) -> bool:
        """Whether each sample is the bytes of a file."""
        return isinstance(self.samples, list)

    def take(self, index: Sequence[int] | NDArray[np.int64]) -> "Rows":
        """Return some rows, in this order."""
        at = [int(i) for i in index]
        samples = [self.samples[i] for i in at] if self.are_files else self.samples[at]
        groups, ids = [self.groups[i] for i in at], [self.ids[i] for i in at]
        return Rows(samples, self.labels[at], groups, ids)

    def seen_as(self, samples: Any) -> "Rows":
        """Return the same rows with other raw samples."""
        return replace(self, samples=samples)

    def labelled(self, labels: NDArray[Any]) -> "Rows":
        """Return the same rows with other labels."""
        return replace(self, labels=labels)


def named(samples: Any, labels: NDArray[Any], groups: list[str], prefix: str) -> Rows:
    """Return rows with ids of their own."""
    ids = [f"{prefix}-{row:04d}" for row in range(len(labels))]
    return Rows(samples, labels, groups, ids)


def joined(first: Rows, second: Rows) -> Rows:
    """Return the rows of both, the second's ids as they are."""
    if first.are_files:
        samples: Any = first.samples + second.samples
    else:
        samples = np.concatenate([first.samples, second.samples])
    labels = np.concatenate([first.labels, second.labels])
    return Rows(samples, labels, first.groups + second.groups, first.ids + second.ids)


def write(rows: Rows, folder: Path) -> None:
    """Write `manifest.csv` and the samples."""
    folder.mkdir(parents=True, exist_ok=True)
    if rows.are_files:
        (folder / "files").mkdir(exist_ok=True)
        places = [f"files/{name}.jpg" for name in rows.ids]
        for place, content in zip(places, rows.samples, strict=True):
            (folder / place).write_bytes(content)
    else:
        places = [str(row) for row in range(len(rows))]
        np.save(folder / "samples.npy", np.ascontiguousarray(rows.samples))
    with (folder / "manifest.csv").open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(("id", "path" if rows.are_files else "row", "label", "group"))
        lines.writerows(zip(rows.ids, places, rows.labels.tolist(), rows.groups, strict=True))


def save(rows: Rows, path: Path) -> None:
    """Keep rows for the next case that is made of them."""
    samples = rows.samples
    if rows.are_files:
        samples = np.empty(len(rows), dtype=object)
        samples[:] = rows.samples
    arrays = {"samples": samples, "labels": rows.labels}
    texts = {"groups": np.array(rows.groups), "ids": np.array(rows.ids)}
    np.savez(path, files=np.array(rows.are_files), **arrays, **texts)


def load(path: Path) -> Rows:
    """Read what `save` kept."""
    with np.load(path, allow_pickle=True) as kept:  # the bench's own folder
        samples = kept["samples"]
        files = bool(kept["files"])
        return Rows(
            list(samples) if files else samples,
            kept["labels"],
            kept["groups"].tolist(),
            kept["ids"].tolist(),
        )

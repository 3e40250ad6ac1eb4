"""Are two runs' outputs the same? To the byte, or their numbers within the tolerance stated.

One rule for all files. Text (JSON, CSV, HTML, SVG, ...): all but the numbers is the same, whole
numbers are the same, and numbers with a fraction or an exponent are within the tolerance. Arrays
(.npy): the same shape and type, floating-point elements within it, all others the same, NaN where
there was NaN. Everything else: the same bytes.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lineage.cache_objects import place
from lineage.objects import members
from lineage.provenance import DONE, Provenance, RunRecord

Sameness = Literal["identical", "equal", "different"]
SHOWN = 5
Caches = tuple[Path, Path]

# Not inside a word: a hash is no number.
_NUMBER = re.compile(r"(?<![\w.])([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d{1,3})?)(?![\w.])")


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Equal: |old - new| <= atol, or <= rtol times the larger of the two."""

    atol: float = 0.0
    rtol: float = 0.0

    def holds(self, old: float, new: float) -> bool:
        """Tell whether two numbers are equal within it."""
        if math.isnan(old) or math.isnan(new):
            return math.isnan(old) and math.isnan(new)
        return math.isclose(old, new, rel_tol=self.rtol, abs_tol=self.atol)

    def __str__(self) -> str:
        return f"atol {self.atol:g}, rtol {self.rtol:g}"


@dataclass(frozen=True, slots=True)
class Output:
    """One stage's folder, or one file of it that is not identical."""

    path: str
    same: Sameness
    why: str = ""  # the largest difference, or what differs


@dataclass(frozen=True, slots=True)
class StageOutput:
    """What one stage made, in both runs."""

    stage: str
    path: str
    same: Sameness
    files: tuple[Output, ...] = ()  # those that are not identical


def tolerance_of(record: RunRecord) -> Tolerance:
    """Return the tolerance that a run states: that of its stage `parity`; else none at all."""
    for stage in record.stages:
        if stage.name == "parity":
            return Tolerance(
                atol=float(stage.params.get("atol", 0.0)), rtol=float(stage.params.get("rtol", 0.0))
            )
    return Tolerance()


def compare_outputs(
    old: RunRecord, new: RunRecord, caches: Caches, tolerance: Tolerance
) -> tuple[StageOutput, ...]:
    """Compare what the stages of two runs made, in the old run's order.

    Args:
        old: the run that was repeated; only what it finished is compared.
        new: the repetition.
        caches: the one that holds the outputs of `old`, and that of `new`.
        tolerance: of floating-point numbers.
    """
    made = {stage.name: stage for stage in new.stages if stage.how in DONE}
    return tuple(
        _compare(stage, made.get(stage.name), caches, tolerance)
        for stage in old.stages
        if stage.how in DONE and stage.outputs
    )


def _compare(
    old: Provenance, new: Provenance | None, caches: Caches, tolerance: Tolerance
) -> StageOutput:
    folder = min(old.outputs, key=len)
    if new is None or folder not in new.outputs:
        return StageOutput(
            old.name, folder, "different", (Output(folder, "different", "not made"),)
        )
    if old.outputs[folder] == new.outputs[folder]:
        return StageOutput(old.name, folder, "identical")
    before, after = (
        _files(cache, made.outputs, folder) for cache, made in zip(caches, (old, new), strict=True)
    )
    names = sorted({*before, *after})
    compared = [_file(name, before.get(name), after.get(name), caches, tolerance) for name in names]
    files = tuple(one for one in compared if one.same != "identical")
    told: Sameness = "equal" if files and all(one.same == "equal" for one in files) else "different"
    return StageOutput(old.name, folder, told, files)


def _files(cache: Path, outputs: dict[str, str], folder: str) -> dict[str, str]:
    """Return {path: hash} of a folder's files; the declared ones where its list is lost."""
    listed = members(cache, outputs[folder])
    if listed is not None:
        return {f"{folder}/{name}": md5 for name, md5 in listed.items()}
    return {path: md5 for path, md5 in outputs.items() if not md5.endswith(".dir")}


def _file(
    name: str, old: str | None, new: str | None, caches: Caches, tolerance: Tolerance
) -> Output:
    if old == new:
        return Output(name, "identical")
    if old is None or new is None:
        return Output(name, "different", "only in the new" if old is None else "only in the old")
    paths = place(caches[0], old), place(caches[1], new)
    for path in paths:
        if not path.is_file():
            return Output(name, "different", f"the cache has lost one: {path}")
    if name.endswith(".npy"):
        return Output(name, *_arrays(*paths, tolerance))
    try:
        texts = [path.read_bytes().decode() for path in paths]
    except UnicodeDecodeError:
        return Output(name, "different", "other bytes")
    return Output(name, *_texts(texts[0], texts[1], tolerance))


def _texts(old: str, new: str, tolerance: Tolerance) -> tuple[Sameness, str]:
    before, after = _NUMBER.split(old), _NUMBER.split(new)
    if before[::2] != after[::2]:
        return "different", _first(before[::2], after[::2])
    worst, numbers = 0.0, ("", "")
    for one, other in zip(before[1::2], after[1::2], strict=True):
        if one == other:
            continue
        if not _is_fraction(one) and not _is_fraction(other):
            return "different", f"{one} -> {other}"
        if not tolerance.holds(float(one), float(other)):
            return "different", f"{one} -> {other}, beyond {tolerance}"
        if abs(float(one) - float(other)) >= worst:
            worst, numbers = abs(float(one) - float(other)), (one, other)
    return "equal", f"at most {worst:.3g} ({numbers[0]} -> {numbers[1]})"


def _is_fraction(number: str) -> bool:
    return any(sign in number for sign in ".eE")


def _first(old: list[str], new: list[str]) -> str:
    for one, other in zip(old, new, strict=False):
        if one != other:
            return f"text: {_around(one, other)!r} -> {_around(other, one)!r}"
    return f"{len(old)} -> {len(new)} pieces of text"


def _around(one: str, other: str, width: int = 24) -> str:
    at = next((i for i, pair in enumerate(zip(one, other, strict=False)) if len({*pair}) > 1), None)
    start = max((len(min(one, other, key=len)) if at is None else at) - SHOWN, 0)
    return one[start : start + width]


def _arrays(old: Path, new: Path, tolerance: Tolerance) -> tuple[Sameness, str]:
    try:
        import numpy as np
    except ImportError:  # a host that runs all stages in containers may have none
        return "different", "other bytes; numpy is not installed here, so they are not compared"
    one: Any
    other: Any
    one, other = (np.load(path, mmap_mode="r", allow_pickle=False) for path in (old, new))
    if one.shape != other.shape or one.dtype != other.dtype:
        return "different", f"{one.dtype}{one.shape} -> {other.dtype}{other.shape}"
    worst = 0.0
    for left, right in _blocks(one, other):
        if left.dtype.kind not in "fc":
            if not np.array_equal(left, right):
                return "different", "other elements"
            continue
        close = (left == right) | (np.isnan(left) & np.isnan(right))
        with np.errstate(invalid="ignore"):
            gap = np.abs(left - right)
            close |= gap <= np.maximum(
                tolerance.atol, tolerance.rtol * np.maximum(np.abs(left), np.abs(right))
            )
            largest = float(np.max(np.where(np.isfinite(gap), gap, 0.0), initial=0.0))
        if not close.all():
            return "different", f"{int((~close).sum())} elements beyond {tolerance}"
        worst = max(worst, largest)
    return "equal", f"at most {worst:.3g}"


def _blocks(one: Any, other: Any, elements: int = 2**22) -> Iterator[tuple[Any, Any]]:
    """Yield two arrays piece by piece: they may be larger than memory."""
    left, right = one.reshape(-1), other.reshape(-1)
    for at in range(0, left.size, elements):
        yield left[at : at + elements], right[at : at + elements]

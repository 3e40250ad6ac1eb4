"""Drafts a data contract from the data: each bound with what it was drawn from."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from flows.scaffold.class_names import shown
from flows.scaffold.samples import is_number
from flows.scaffold.set_facts import SetFacts

MARGIN = 0.05
"""Of the span of what was seen, on each side; and how much a share may grow."""
KEPT = 0.8
"""Of the rows and groups that there are: fewer is worth a word."""
TOLERABLE = 0.1
"""Of the real rows: where a bound of sim would leave out more, real gets its own."""
COLUMN_MARGIN = 0.25
"""Of a column's span: among many columns some of any two draws leave a narrower one."""
BYTE_MAX = 255
NUM_SHOWN = 8


@dataclass(frozen=True, slots=True)
class _Bound:
    """One line of a contract: a value, and why."""

    value: str
    why: str = ""


def draft(
    facts: Mapping[str, SetFacts],
    name: str,
    num_classes: int | None,
    features: Sequence[str] = (),
) -> str:
    """Write a contract that holds on sim.

    Samples of real are held to the bounds of sim and train, so that what differs becomes a finding;
    where a bound would leave out more than a few real rows, real gets its own, and a comment.

    Args:
        facts: sim, real and, where there is one, train.
        name: the contract's name.
        num_classes: of a classification; None for a regression.
        features: the names of a table's columns, where they are known.
    """
    known = [facts[key] for key in ("sim", "train") if key in facts]
    drawn = ", ".join(f"{key} ({one.num_rows} rows)" for key, one in facts.items())
    sim, real = facts["sim"], facts["real"]
    lines = [
        f"# {name}: drafted from {drawn}.",
        "# Each bound says what the data was, not yet what it must be. All keys: README.md.",
        "schema: 1",
        *_section(sim, _samples_of_sim(known), num_classes),
        *[f"# {line}" for line in differences(sim, real, num_classes, features)],
        *_section(real, _samples_of_real(known, real), num_classes),
    ]
    return "\n".join(lines) + "\n"


def differences(
    sim: SetFacts, real: SetFacts, num_classes: int | None, features: Sequence[str] = ()
) -> list[str]:
    """Say what differs between sim and real; a difference may be the fault that is looked for."""
    found = []
    if set(sim.dtypes) != set(real.dtypes):
        found.append(f"type: sim {', '.join(sim.dtypes)}; real {', '.join(real.dtypes)}")
    if set(sim.shapes) != set(real.shapes):
        found.append(f"shape: sim {sim.shape_text()}; real {real.shape_text()}")
    if sim.span and real.span:
        low, high = _range(sim.span, _is_whole(sim))
        num_outside = real.breaches_of_range(low, high)
        if num_outside:
            told = f"{num_outside} of {real.num_rows} real samples leave the contract's bounds"
            found.append(f"range: sim {_told(sim.span)}; real {_told(real.span)}; {told}")
    if _least_finite(real) < _least_finite([sim]):
        found.append(f"finite numbers: a real sample has a share of only {_least_finite(real):.3g}")
    if real.duplicate_share > _grown(sim.duplicate_share):
        told = f"{real.duplicate_share:.3g} in real, {sim.duplicate_share:.3g} in sim"
        found.append(f"duplicates: a share of {told}")
    found += [*_columns(sim, real, features), *_label_differences(sim, real, num_classes)]
    return [f"Differs from sim, {line}." for line in found]


def _columns(sim: SetFacts, real: SetFacts, features: Sequence[str]) -> list[str]:
    """Say which columns of real leave the span of sim with its margin."""
    if len(sim.columns) != len(real.columns):
        return []
    told = []
    for at, (own, other) in enumerate(zip(sim.columns, real.columns, strict=True)):
        if not (math.isfinite(own[1] - own[0]) and math.isfinite(other[1] - other[0])):
            continue
        room = COLUMN_MARGIN * (own[1] - own[0])
        if other[0] < own[0] - room or other[1] > own[1] + room:
            name = features[at] if at < len(features) else f"number {at}"
            told.append(f"{name}: sim {_told(own)}; real {_told(other)}")
    more = [f"{len(told) - NUM_SHOWN} more columns beyond their span in sim"]
    return told[:NUM_SHOWN] + (more if len(told) > NUM_SHOWN else [])


def _label_differences(sim: SetFacts, real: SetFacts, num_classes: int | None) -> list[str]:
    if not real.labels or not sim.labels:
        return []
    if num_classes is not None:
        missing = sorted(set(sim.labels) - set(real.labels))
        return [f"labels of sim that no real row has: {shown(missing)}"] if missing else []
    numbers = [[float(text) for text in one.labels if is_number(text)] for one in (sim, real)]
    if not all(numbers):
        return []
    spans = [(min(own), max(own)) for own in numbers]
    (low, high), own = spans
    is_wider = own[0] < low or own[1] > high
    return [f"labels: sim {_told(spans[0])}; real {_told(own)}"] if is_wider else []


def _told(span: tuple[float, float]) -> str:
    return f"{span[0]:g} to {span[1]:g}"


def _section(own: SetFacts, samples: Mapping[str, _Bound], num_classes: int | None) -> list[str]:
    every = num_classes is not None and len(own.labels) == num_classes
    labels = {
        "null_share": _share_of(own.no_label, own.num_rows, "label"),
        "every_class": _Bound(str(every).lower(), _classes_told(own, num_classes)),
    }
    groups = {
        "null_share": _share_of(own.no_group, own.num_rows, "group"),
        "min": _Bound(str(_fewer(own.groups)), f"{own.groups} now"),
    }
    lines = [
        f"{own.name}:",
        "  columns: [id, label, group] # that the manifest must have",
        f"  rows: {{min: {max(1, _fewer(own.num_rows))}}} # {own.num_rows} now",
    ]
    for key, bounds in (("samples", samples), ("labels", labels), ("groups", groups)):
        lines.append(f"  {key}:")
        for term, bound in bounds.items():
            lines.append(f"    {term}: {bound.value}{f' # {bound.why}' if bound.why else ''}")
    return lines


def _classes_told(own: SetFacts, num_classes: int | None) -> str:
    if num_classes is None:
        return "the labels are quantities"
    return f"{len(own.labels)} of the {num_classes} classes occur"


def _share_of(num_missing: int, num_rows: int, word: str) -> _Bound:
    share = num_missing / num_rows
    told = f"{num_missing} of {num_rows} rows have no {word}" if num_missing else ""
    return _Bound(f"{_grown(share):g}", told or f"every row has a {word}")


def _grown(share: float) -> float:
    """Return a share with room to grow, two digits; none where there was none."""
    return min(1.0, math.ceil(100 * (share + MARGIN * share)) / 100) if share else 0.0


def _fewer(count: int) -> int:
    """Return a little less than a count, two digits of it; small counts as they are."""
    if count <= 2:  # noqa: PLR2004  two groups are the fewest that can be split
        return count
    least = max(2, math.floor(KEPT * count))
    digit = 10 ** max(0, len(str(least)) - 2)
    return int(least // digit * digit)


def _samples_of_sim(known: Sequence[SetFacts]) -> dict[str, _Bound]:
    sim, names = known[0], " and ".join(one.name for one in known)
    dtype = next(iter(sim.dtypes), "bytes")
    others = sorted({name for one in known for name in one.dtypes} - {dtype})
    bounds = {
        "dtype": _Bound(dtype, f"also seen: {', '.join(others)}" if others else f"all of {names}"),
        "shape": _shape([shape for one in known for shape in one.shapes], f"all of {names}"),
    }
    spans = [one.span for one in known if one.span]
    if spans:
        span = min(low for low, _ in spans), max(high for _, high in spans)
        low, high = _range(span, _is_whole(sim))
        # One range for all numbers of a sample: of a table it is that of the widest column.
        wide = " (all columns at once)" if all(len(shape) == 1 for shape in sim.shapes) else ""
        told = f"{names}: {_told(span)}, and {MARGIN:.0%} of that span{wide}"
        bounds["range"] = _Bound(f"[{_number(low)}, {_number(high)}]", told)
        bounds["finite_share"] = _finite(_least_finite(known), names)
    share = _grown(max(one.duplicate_share for one in known))
    told = f"{sim.duplicate_share:.3g} of the rows of sim"
    bounds["duplicate_share"] = _Bound(f"{share:g}", f"same content as another row: {told}")
    return bounds


def _samples_of_real(known: Sequence[SetFacts], real: SetFacts) -> dict[str, _Bound]:
    bounds = dict(_samples_of_sim(known))
    bounds["dtype"] = _Bound(bounds["dtype"].value, "as sim")
    shapes = [shape for one in known for shape in one.shapes]
    if set(real.shapes) - set(shapes):
        # A sample of another shape is left out: with sim's bound nothing might remain.
        bounds["shape"] = _shape([*shapes, *real.shapes], "sim and real differ: not demanded here")
    if "range" in bounds:
        bounds["range"] = _Bound(bounds["range"].value, "as sim: what lies outside is a finding")
        least = _least_finite(known)
        fewer = sum(1 for share in real.finite_shares if share < least)
        told = f"as sim: {fewer} real rows have fewer and are left out" if fewer else "as sim"
        bounds["finite_share"] = _Bound(bounds["finite_share"].value, told)
        if fewer > TOLERABLE * real.num_rows:
            bounds["finite_share"] = _finite(
                _least_finite([real]), f"real ({fewer} rows below sim)"
            )
    bounds["duplicate_share"] = _Bound(bounds["duplicate_share"].value, "as sim")
    return bounds


def _finite(least: float, names: str) -> _Bound:
    if least == 1:
        return _Bound("1.0", "every number is finite")
    return _Bound(f"{math.floor(100 * least) / 100:g}", f"the least of {names}: {least:.4g}")


def _least_finite(known: Sequence[SetFacts] | SetFacts) -> float:
    sets = [known] if isinstance(known, SetFacts) else known
    return min((share for one in sets for share in one.finite_shares), default=1.0)


def _shape(shapes: Sequence[tuple[int, ...]], why: str) -> _Bound:
    if len({len(shape) for shape in shapes}) != 1:
        return _Bound("null", "samples differ in their number of axes")
    axes = [{shape[at] for shape in shapes} for at in range(len(shapes[0]))]
    texts = [str(next(iter(axis))) if len(axis) == 1 else "null" for axis in axes]
    told = "samples differ in the axes that are null" if "null" in texts else why
    return _Bound(f"[{', '.join(texts)}]", told)


def _is_whole(facts: SetFacts) -> bool:
    dtype = next(iter(facts.dtypes), "")
    return dtype.startswith(("int", "uint", "bool"))


def _range(span: tuple[float, float], is_whole: bool) -> tuple[float, float]:
    """Widen a span by a margin on each side; what is never negative stays so."""
    low, high = span
    room = MARGIN * (high - low) or MARGIN * max(abs(high), 1.0)
    wide_low, wide_high = low - room, high + room
    if low >= 0:
        wide_low = max(0.0, wide_low)
    if is_whole:
        natural = high <= BYTE_MAX < wide_high or BYTE_MAX / 2 < high <= BYTE_MAX
        return math.floor(wide_low), BYTE_MAX if natural else math.ceil(wide_high)
    return _outward(wide_low, math.floor), _outward(wide_high, math.ceil)


def _outward(value: float, away: Callable[[float], int]) -> float:
    """Round to three digits, away from what was seen."""
    if value == 0:
        return 0.0
    digits = min(300, 2 - math.floor(math.log10(abs(value))))
    return away(value * 10.0**digits) / 10.0**digits


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)

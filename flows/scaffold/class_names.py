"""Labels as a model counts them: one mapping of names to numbers for all sets."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from flows.faults import Faults
from flows.scaffold.samples import is_number

WHOLE = re.compile(r"-?(0|[1-9]\d*)(\.0*)?")
UNLABELLED = "-1"  # what libraries write where there is no label
NUM_SHOWN = 8
MAX_CLASSES = 100_000  # more is no class number but an id or a quantity


@dataclass(frozen=True, slots=True)
class Classes:
    """The classes in the order of the model's outputs."""

    names: tuple[str, ...]  # names[i] is class i
    renamed: bool  # the manifests' labels differ from their sources'
    origin: str  # why this order, for a person

    def number(self, label: str) -> str:
        """Return a label's number as text; '' where there is none.

        Raises:
            Faults: no class has this name.
        """
        name = _plain(label)
        if not name or name == UNLABELLED:
            return ""
        if name in self.names:
            return str(self.names.index(name))
        if _is_number_of(name, self.names):
            return name
        raise Faults(f"the label {label!r} is none of the classes {shown(self.names)}.")


def _is_number_of(name: str, names: tuple[str, ...]) -> bool:
    """Tell whether a label is the number of a class, where the classes have names."""
    are_words = not any(WHOLE.fullmatch(one) for one in names)
    return are_words and WHOLE.fullmatch(name) is not None and 0 <= int(name) < len(names)


def shown(names: Iterable[str]) -> str:
    """Return the first few names."""
    listed = list(names)
    more = f" and {len(listed) - NUM_SHOWN} more" if len(listed) > NUM_SHOWN else ""
    return f"{', '.join(listed[:NUM_SHOWN])}{more}"


def settle(
    labels: Mapping[str, Iterable[str]],
    stated: str | None = None,
    declared: Mapping[str, tuple[str, ...]] | None = None,
) -> Classes:
    """Choose the classes of all sets at once.

    Whole numbers from 0 stay what they are. Names get numbers in the order that a person stated,
    else that a source declares, else sorted.

    Args:
        labels: by set, as the sources have them; '' for none.
        stated: `10`, or the names in the order of the model's outputs: `cat,dog`.
        declared: by set, names in the order of its own class numbers.

    Raises:
        Faults: there is no label, or the orders contradict each other.
    """
    found = {_plain(label) for listed in labels.values() for label in listed} - {"", UNLABELLED}
    named = _stated_names(stated) or _declared_names(declared or {})
    if named is None and not found:
        raise Faults("No set has a label: name the column with --label-column.")
    if named is not None:
        unknown = sorted(n for n in found - set(named[0]) if not _is_number_of(n, named[0]))
        if unknown:
            raise Faults(
                f"labels that are no class of {named[1]} ({shown(named[0])}): {shown(unknown)}."
            )
        return Classes(named[0], renamed=True, origin=named[1])
    return _counted(found, int(stated) if stated else None)


def _plain(label: str) -> str:
    """Return '3' for 3.0, so that a label's text is the same in every source."""
    return label.partition(".")[0] if WHOLE.fullmatch(label) else label


def _stated_names(stated: str | None) -> tuple[tuple[str, ...], str] | None:
    if stated is None or stated.isdecimal():
        return None
    names = tuple(_plain(name.strip()) for name in stated.split(","))
    if len(set(names)) != len(names) or "" in names or len(names) < 2:  # noqa: PLR2004  a choice
        raise Faults(f"--classes {stated}: expected their number, or different names: cat,dog.")
    return names, "the order of --classes"


def _declared_names(declared: Mapping[str, tuple[str, ...]]) -> tuple[tuple[str, ...], str] | None:
    orders = sorted(set(declared.values()))
    if not orders:
        return None
    if len(orders) > 1:
        told = "; ".join(f"{name}: {shown(names)}" for name, names in declared.items())
        raise Faults(
            f"The sets declare their classes in different orders ({told}). "
            "State the order of the model's outputs: --classes NAME,NAME,..."
        )
    return orders[0], "the order that the data declares"


def _counted(found: set[str], stated: int | None) -> Classes:
    whole = {label for label in found if WHOLE.fullmatch(label)}
    if whole != found and all(map(is_number, found)):
        told = f"labels are numbers with a fraction ({shown(sorted(found - whole))})"
        raise Faults(f"{told}. Quantities: --task regression. Names: --classes NAME,NAME,...")
    if whole and whole != found:
        raise Faults(
            f"labels are partly numbers ({shown(sorted(whole))}), partly names "
            f"({shown(sorted(found - whole))}). "
            "State all names in the order of the model's outputs: --classes NAME,NAME,..."
        )
    if whole:
        numbers = sorted(map(int, found))
        count = stated or numbers[-1] + 1
        if numbers[0] == 0 or stated:
            if not 0 <= numbers[0] <= numbers[-1] < count:
                told = f"labels are {numbers[0]} to {numbers[-1]}"
                raise Faults(f"{told}, and --classes {stated} means 0 to {count - 1}.")
            if count > MAX_CLASSES:
                told = f"labels are {numbers[0]} to {numbers[-1]}, which would mean {count} classes"
                raise Faults(f"{told}. Quantities: --task regression. Ids: another --label-column.")
            names = tuple(map(str, range(count)))
            return Classes(names, renamed=False, origin="labels are class numbers already")
        names = tuple(map(str, numbers))
        return Classes(names, renamed=True, origin="sorted; they do not begin at 0")
    names = tuple(sorted(found))
    if stated is not None and stated != len(names):
        told = f"{len(names)} different labels ({shown(names)})"
        raise Faults(
            f"{told}, and --classes {stated}. State all names in the order of the model's outputs."
        )
    return Classes(names, renamed=True, origin="sorted by name")


def regression_label(text: str) -> str:
    """Return a quantity as text; '' for none.

    Raises:
        Faults: it is no number.
    """
    if not text:
        return ""
    if not is_number(text) or not math.isfinite(float(text)):
        raise Faults(f"the label {text!r} is no finite number.")
    return text

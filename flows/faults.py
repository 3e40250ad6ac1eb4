"""A person's file that cannot be used: every fault at once, each with its place."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from flows.shown_text import for_terminal
from stages.yaml_nesting import is_too_deep

Model = TypeVar("Model", bound=BaseModel)

MISTYPED = (ValueError, TypeError, AttributeError, KeyError, IndexError, AssertionError)
"""What its parser raises of `!!int x` or a 13th month."""
MAX_BYTES = 1 << 20
"""Of one file: parsing one that is larger takes longer than anybody waits."""
MAX_VALUES = 10_000
"""In one file; a hundred times what a large case states."""


class Faults(Exception):  # noqa: N818  it is the list of them, not one error
    """What is wrong with what a person wrote; the message has one line a fault."""

    exit_status = 2

    def __init__(self, *faults: str) -> None:
        self.faults = faults
        super().__init__("\n".join(faults))


def read_yaml(path: Path, name: str) -> Any:
    """Read a YAML mapping, keeping the line of each key.

    Raises:
        Faults: the file is missing, is no YAML, holds a key twice, or is no mapping.
    """
    content = _parsed(path, name)
    if content is None:
        return {}
    if not isinstance(content, Mapping):
        raise Faults(f"{name}: expected keys and values, got {_kind(content)}.")
    return content


def _parsed(path: Path, name: str) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        _refuse_large(path, name)
        text = path.read_text(encoding="utf-8")
        if is_too_deep(text):
            raise Faults(f"{name}: nested too deeply; write it flatter.")
        reader = YAML(typ="rt")
        reader.composer.warn_double_anchors = False  # the later one counts, as YAML 1.2 says
        return reader.load(text)
    except FileNotFoundError:
        raise Faults(f"{name} is not there.") from None
    except OSError as error:
        raise Faults(f"{name} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise Faults(f"{name} is not UTF-8 text: {error}.") from None
    except MarkedYAMLError as error:
        mark = error.problem_mark
        line = f", line {mark.line + 1}" if mark else ""
        raise Faults(f"{name}{line}: not YAML: {' '.join(str(error.problem).split())}.") from None
    except YAMLError as error:
        raise Faults(f"{name}: not YAML: {' '.join(str(error).split())}.") from None
    except MISTYPED as error:
        raise Faults(f"{name}: a value is not what it says it is: {_short(str(error))}.") from None
    except RecursionError:
        raise Faults(f"{name}: nested too deeply; write it flatter.") from None


def _refuse_large(path: Path, name: str) -> None:
    if path.stat().st_size > MAX_BYTES:
        raise Faults(f"{name}: larger than {MAX_BYTES >> 20} MiB; nobody writes that by hand.")


def _kind(content: Any) -> str:
    return "a list" if isinstance(content, list) else f"`{_key(content)}`"


def line_of(content: Any, path: Sequence[str | int]) -> int | None:
    """Return the line (from 1) of the deepest part of a key path that the file holds."""
    line: int | None = None
    here: Any = content
    for part in path:
        try:
            mark = here.lc.item(part) if isinstance(part, int) else here.lc.key(part)
            line = mark[0] + 1
            here = here[part]
        except (AttributeError, KeyError, IndexError, TypeError):
            break
    return line


def plain(content: Any, name: str = "the file") -> Any:
    """Drop the line marks: builtin dicts, lists and scalars only.

    Raises:
        Faults: a value of another kind (a YAML date), or more values than a person writes, as
            aliases of aliases make them.
    """
    left = MAX_VALUES
    faults: list[str] = []

    def walk(value: Any, path: tuple[str | int, ...]) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise Faults(f"{name}: more than {MAX_VALUES} values; write it without aliases.")
        if isinstance(value, Mapping):
            return {str(key): walk(part, (*path, key)) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [walk(part, (*path, i)) for i, part in enumerate(value)]
        if isinstance(value, float) and not math.isfinite(value):
            faults.append(f"{_where(content, path, name)}: {value} is no finite number.")
            return None
        for kind in (bool, int, float, str):
            if isinstance(value, kind):
                return kind(value)
        if value is not None:
            kind_name = type(value).__name__.lower()
            faults.append(
                f"{_where(content, path, name)}: a {kind_name} is not known here; quote it as text."
            )
        return None

    walked = walk(content, ())
    if faults:
        raise Faults(*faults)
    return walked


def _where(marks: Any, path: Sequence[str | int], name: str) -> str:
    line = line_of(marks, path)
    return f"{name}{f', line {line}' if line else ''}: {'.'.join(map(_key, path)) or 'the file'}"


def _key(part: object) -> str:
    """Return a key as it is told: on one line, whatever is in it."""
    return for_terminal(str(part)).replace("\n", "\\n")


def validate(kind: type[Model], content: Any, marks: Any, name: str) -> Model:
    """Check a mapping against a model; `marks` is what `read_yaml` gave, for the lines.

    Raises:
        Faults: one line a fault, in the order of the file: key path, line, what is allowed.
    """
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        faults = [_say(kind, fault, marks, name) for fault in error.errors()]
        raise Faults(*(text for _, text in sorted(faults, key=lambda pair: pair[0]))) from None


def _say(kind: type[BaseModel], fault: Any, marks: Any, name: str) -> tuple[int, str]:
    path = tuple(part for part in fault["loc"] if not str(part).startswith("("))  # no union's tag
    line, where = line_of(marks, path), _where(marks, path, name)
    if fault["type"] == "extra_forbidden":
        text = f"unknown key. {_keys(kind, path)}"
    elif fault["type"] == "missing":
        text = "missing; it must be given."
    else:
        text = fault["msg"].removeprefix("Value error, ")
        # What a whole part lacks is said; that it has other keys is no news.
        if fault["type"] != "value_error" or not isinstance(fault["input"], Mapping):
            text += f", got {_short(fault['input'])}"
        text += "."
    return line or 0, f"{where}: {text}"


def _keys(kind: type[BaseModel], path: Sequence[str | int]) -> str:
    import difflib

    here: Any = kind
    for part in path[:-1]:
        if isinstance(part, int) or not (isinstance(here, type) and issubclass(here, BaseModel)):
            continue
        here = _model_in(here.model_fields[part].annotation) if part in here.model_fields else here
    if not (isinstance(here, type) and issubclass(here, BaseModel)):
        return ""
    names = sorted(field.alias or key for key, field in here.model_fields.items())
    near = difflib.get_close_matches(str(path[-1]), names, 1)
    hint = f"Did you mean `{near[0]}`? " if near else ""
    return f"{hint}Known here: {', '.join(names)}."


def _model_in(annotation: Any) -> Any:

    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = [_model_in(part) for part in get_args(annotation)]
    return next((part for part in found if part is not None), None)


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"keys {', '.join(map(_key, value))}"
    text = repr(value)
    return textwrap.shorten(text, 60, placeholder="...")

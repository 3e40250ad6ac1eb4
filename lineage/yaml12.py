"""Reads YAML 1.2 as DVC does, through libyaml: a lock of 4,000 lines in tenths of DVC's seconds."""

import re
from typing import Any

import yaml

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


_FLOAT = (
    r"^(?:[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[0-9][0-9_]*[eE][-+]?[0-9]+"
    r"|\.[0-9_]+(?:[eE][-+][0-9]+)?|\.(?:inf|Inf|INF))|\.(?:nan|NaN|NAN))$"
)


class _Loader(_Base):  # type: ignore[misc]
    """PyYAML resolves plain words by YAML 1.1 (`yes`, `12:30`), DVC's parser by 1.2."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - PyYAML's own protocol


for _tag, _pattern, _first in (
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("int", r"^[-+]?(?:0b[01_]+|0o[0-7_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*)$", "-+0123456789"),
    (
        "float",
        _FLOAT,
        "-+0123456789.",
    ),
    ("merge", r"^<<$", "<"),
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("timestamp", r"^\d{4}-\d\d-\d\d$", "0123456789"),
):
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}",
        re.compile(_pattern),
        list(_first),
    )


def _int(loader: Any, node: Any) -> int:
    # 010 is ten in YAML 1.2, and eight in PyYAML's own constructor.
    text = loader.construct_scalar(node).replace("_", "")
    return int(text, 0) if re.match(r"[-+]?0[box]", text) else int(text)


_Loader.add_constructor("tag:yaml.org,2002:int", _int)


def load(text: str) -> Any:
    """Parse one document.

    Raises:
        yaml.YAMLError: it is not YAML.
    """
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader, see above
    except (ValueError, TypeError, LookupError, RecursionError) as error:  # `!!int x`, a 13th month
        raise yaml.YAMLError(f"a value is not what it says it is: {error}") from error

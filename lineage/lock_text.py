"""dvc.lock as text: one stage's entry replaced, the rest untouched, byte for byte as DVC writes it.

DVC parses and prints the whole file for each stage (seconds at 25 stages with 40 sources each) and
truncates it in place. This writes what DVC would write, in one rename, with a copy beside it.
"""

import io
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import yaml

from lineage import atomic, yaml12

HEAD = "schema: '2.0'\nstages:\n"
_STAGE = re.compile(r"^  ([A-Za-z][A-Za-z0-9_-]*):\n", re.MULTILINE)
_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}


class LockBroken(Exception):  # noqa: N818 - reads as the fact that it is
    """dvc.lock cannot be read, and no journal copy of it can."""

    exit_status = 3


def read(path: Path, journal: Path) -> dict[str, Any]:
    """Return the parsed lock; one that is empty or broken is brought back from its journal copy.

    Raises:
        LockBroken: it is, and there is no copy.
    """
    if not path.exists():
        return {}
    atomic.sweep(path)  # whoever reads it holds the repository
    atomic.sweep(journal)
    text = path.read_text(encoding="utf-8")
    content = _parse(text)
    if content is None:
        copy = journal.read_text(encoding="utf-8") if journal.exists() else ""
        content = _parse(copy)
        if content is None:
            raise LockBroken(
                f"{path} is empty or broken. Bring it back with `git checkout -- {path.name}`, "
                "or remove it: finished stages are restored from the cache."
            )
        atomic.write(path, copy)
    elif not journal.exists() or journal.read_text(encoding="utf-8") != text:
        atomic.write(journal, text)  # a lock that plain `dvc repro` wrote
    return content


def write(path: Path, journal: Path, name: str, entry: Mapping[str, Any]) -> None:
    """Set one stage's entry in the lock and in its journal copy."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    new = splice(text, name, entry)
    if new != text:
        atomic.write(path, new)
        atomic.write(journal, new)


def drop(path: Path, journal: Path, names: Collection[str]) -> None:
    """Take stages out of the lock and out of its journal copy."""
    content = read(path, journal)
    kept = {name: it for name, it in content.get("stages", {}).items() if name not in names}
    if len(kept) == len(content.get("stages", {})):
        return
    text = HEAD + "".join(_block(name, entry) for name, entry in kept.items())
    text = text if kept else "schema: '2.0'\nstages: {}\n"
    atomic.write(path, text)
    atomic.write(journal, text)


def _parse(text: str) -> dict[str, Any] | None:
    try:
        content = yaml12.load(text)
    except yaml.YAMLError:
        return None
    good = isinstance(content, dict) and isinstance(content.get("stages"), dict)
    return content if good and content.get("schema") == "2.0" else None


def splice(text: str, name: str, entry: Mapping[str, Any]) -> str:
    """Return the lock's text with this stage's entry in its place, or at the end if it is new."""
    block = _block(name, entry)
    if not text:
        return HEAD + block
    starts = list(_STAGE.finditer(text))
    plain = text.startswith(HEAD) and starts and starts[0].start() == len(HEAD)
    if not plain or re.search(r"^\S", text[len(HEAD) :], re.MULTILINE) or not _is_word(name):
        return _as_dvc(text, name, entry)
    for start, end in zip(starts, [*starts[1:], None], strict=True):
        if start[1] == name:
            return text[: start.start()] + block + (text[end.start() :] if end else "")
    return text + block


def _block(name: str, entry: Mapping[str, Any]) -> str:
    return f"  {name}:\n{to_yaml(entry, depth=2)}"


def _as_dvc(text: str, name: str, entry: Mapping[str, Any]) -> str:
    ruamel = _ruamel()
    content = ruamel.load(text) or {}
    content.setdefault("stages", {})[name] = plain(entry)
    return _printed(content)


def to_yaml(entry: Mapping[str, Any], *, depth: int = 0) -> str:
    """Print one entry as DVC does; the hashes, nearly all of it, without its slow printer."""
    parts = []
    for key, value in entry.items():
        lines = _hashes(value)
        if lines is not None:
            pad = "  " * depth
            parts.append(f"{pad}{key}:\n" + "".join(f"{pad}{line}\n" for line in lines))
            continue
        nested: Any = {key: plain(value)}
        for _ in range(depth):  # where a long line is folded depends on how deep it stands
            nested = {"x": nested}
        parts.append("".join(_printed(nested).splitlines(keepends=True)[depth:]))
    return "".join(parts)


def _hashes(items: Any) -> list[str] | None:
    """Return a list of {path, md5, size, ...} as lines; None where a value needs the printer."""
    if not isinstance(items, list) or not items:
        return None
    lines = []
    for item in items:
        if not isinstance(item, Mapping):
            return None
        lead = "- "
        for key, value in item.items():
            if isinstance(value, bool) or not isinstance(value, str | int):
                return None
            if isinstance(value, str) and not _is_word(value):
                return None
            lines.append(f"{lead}{key}: {value}")
            lead = "  "
    return lines


def plain(value: Any) -> Any:
    """Return a copy made of dicts and lists."""
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


def _printed(content: Any) -> str:
    out = io.StringIO()
    _ruamel().dump(content, out)
    return out.getvalue()


def _is_word(text: str) -> bool:
    """Tell text that YAML prints bare and that can be no number, date or truth value."""
    return (
        re.fullmatch(r"(?:\.\./)*[A-Za-z0-9_][A-Za-z0-9_./-]*", text) is not None
        and re.search(r"[a-df-zA-DF-Z]", text) is not None
        and not text.startswith(("0o", "0x", "0b"))
        and text.lower() not in _WORDS
    )


def _ruamel() -> Any:
    from ruamel.yaml import YAML

    ruamel = YAML()
    ruamel.default_flow_style = False
    return ruamel

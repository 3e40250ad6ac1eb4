"""Data under DVC: another repository's, with its lineage, or what is too large for git."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from flows.faults import Faults

PREFIX = "dvc:"
IN_GIT_BYTES = 1_000_000
IN_GIT_FILES = 100
"""What a case may bring into git, set by set; above either, DVC holds the data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DvcSource:
    """Data of a DVC or git repository: dvc:URL#PATH[@REV]."""

    url: str
    path: str
    rev: str | None


def parse(text: str, where: str) -> DvcSource | None:
    """Read a source; None when it is a plain path.

    Raises:
        Faults: it begins as one and is none.
    """
    if not text.startswith(PREFIX):
        return None
    url, hash_, rest = text.removeprefix(PREFIX).rpartition("#")
    path, _, rev = rest.partition("@")
    if not hash_ or not url or not path:
        raise Faults(f"{where} {text}: expected dvc:URL#PATH or dvc:URL#PATH@REV.")
    if url.startswith("-") or path.startswith("-") or rev.startswith("-"):
        raise Faults(f"{where} {text}: no part of it may begin with a dash.")
    return DvcSource(url=url, path=path, rev=rev or None)


def import_data(source: DvcSource, out: Path, workspace: Path, where: str) -> None:
    """Bring the data; `out.dvc` beside it says where from, and at which revision.

    Raises:
        Faults: DVC refused; its last words.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    words = ["import", source.url, source.path, "--out", str(out)]
    _dvc([*words, "--rev", source.rev] if source.rev else words, workspace, where)


def keep_out_of_git(path: Path, workspace: Path, *, private: bool = False) -> bool:
    """Put a folder under DVC where it is too large for git, or private; tell whether.

    Raises:
        Faults: DVC refused; its last words.
    """
    sizes = [file.stat().st_size for file in path.rglob("*") if file.is_file()]
    if not private and sum(sizes) <= IN_GIT_BYTES and len(sizes) <= IN_GIT_FILES:
        return False
    _dvc(["add", str(path)], workspace, path.name)
    return True


def move(source: Path, target: Path, workspace: Path) -> None:
    """Rename what DVC holds, with the file that says where it is from.

    Raises:
        Faults: DVC refused; its last words.
    """
    _dvc(["move", str(source), str(target)], workspace, target.name)


def keep_private(folder: Path) -> None:
    """Let `dvc push` leave what the `.dvc` files in and below a case's folder name."""
    import yaml

    for file in sorted(folder.rglob("*.dvc")):
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
        for out in content["outs"]:
            out["push"] = False
        file.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


def _dvc(words: list[str], workspace: Path, where: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dvc", *words],
        cwd=workspace,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        # With --quiet it would not say why.
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
        told = "; ".join(said).replace("ERROR: ", "") or f"it ended with {done.returncode}"
        raise Faults(f"{where}: `dvc {words[0]}` refused: {told}")

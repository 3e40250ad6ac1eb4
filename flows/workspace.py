"""The workspace: the clone that holds stages, cases and the lineage."""

from pathlib import Path

from flows.faults import Faults
from lineage import git


def find(start: Path) -> Path:
    """Return the workspace around a folder.

    Raises:
        Faults: there is none, it is no git repository, or it is another one than this `assay`'s.
    """
    for folder in (start, *start.parents):
        if (folder / "stages/stage.py").is_file() and (folder / "cases").is_dir():
            _refuse_foreign(folder)
            return folder
    raise Faults(f"{start} is in no assay workspace. Clone one and call assay from inside it.")


def _refuse_foreign(folder: Path) -> None:
    own = Path(__file__).resolve().parents[1]
    if folder.resolve() != own:
        raise Faults(f"This assay belongs to {own}. Use {folder}/.venv/bin/assay (`make setup`).")
    if not (folder / ".git").exists():
        raise Faults(
            f"{folder} is not a git repository. Make it one: git init && git add -A && git commit."
        )
    if not (folder / ".dvc").is_dir():
        raise Faults(f"{folder} has no .dvc folder. Make it: dvc init, and commit it.")
    if git.text(folder, "ls-files", "--", ".assay"):
        raise Faults(
            f"{folder}: git tracks files in .assay, which is this machine's own: secrets, answers "
            "of gates, allowed commands. See who committed them, then: git rm -r .assay"
        )

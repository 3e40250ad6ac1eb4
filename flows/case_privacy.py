"""Would git or DVC carry the samples of a private case away from this machine?"""

import os
from pathlib import Path

from flows.case import LoadedCase, relative
from flows.faults import Faults, plain, read_yaml
from lineage import git


def refuse_exposed_samples(loaded: LoadedCase) -> None:
    """Stop before anything is snapshotted.

    Raises:
        Faults: those of `exposed_samples`.
    """
    faults = exposed_samples(loaded)
    if faults:
        raise Faults(*faults)


def exposed_samples(loaded: LoadedCase) -> list[str]:
    """Return a fault for each folder of samples that a push would take, of `pictures: none`.

    A run's snapshot holds what git tracks or would track, so such a folder would go with its tag.
    No file is named: names may be those of persons.
    """
    if loaded.case.pictures != "none":
        return []
    named = {f"data.{key}": getattr(loaded.case.data, key) for key in ("train", "sim", "real")}
    named |= {f"{name}.recorded": side.recorded for name, side in loaded.sides.items()}
    faults = []
    for key, path in named.items():
        if path:
            folder = relative(loaded.folder, path)
            where = f"{loaded.folder}/case.yaml: {key}"
            faults += [
                f"{where}: {fault}"
                for fault in (
                    _by_git(loaded.workspace, folder),
                    _by_dvc(loaded.workspace, folder),
                )
                if fault
            ]
    return faults


def _by_git(workspace: Path, folder: str) -> str | None:
    words = ("ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", folder)
    try:
        listed = git.run(workspace, *words)
    except git.GitError:  # no repository: the run itself says so
        return None
    count = listed.count(b"\0")
    if not count:
        return None
    return (
        f"`pictures: none`, but a run would put {count} files of {folder} into its git tag. "
        f"Take them out of git (`git rm -r --cached {folder}`) and name the folder in .gitignore."
    )


def _by_dvc(workspace: Path, folder: str) -> str | None:
    """Find a `.dvc` file beside or above a folder that tracks it, or one around it."""
    for place in Path(folder).parents:
        for file in sorted((workspace / place).glob("*.dvc")):
            if file.is_file() and _pushes(workspace, file, folder):
                return (
                    f"`pictures: none`, but `dvc push` would take {folder}. Write `push: false` "
                    f"below its path in {file.relative_to(workspace).as_posix()}."
                )
    return None


def _pushes(workspace: Path, file: Path, folder: str) -> bool:
    name = file.relative_to(workspace).as_posix()
    content = plain(read_yaml(file, name), name)
    base = f"{Path(name).parent}/{content.get('wdir', '.')}"
    pushed = [out.get("path") for out in content.get("outs", ()) if out.get("push") is not False]
    tracked = (os.path.normpath(f"{base}/{path}") for path in pushed)
    return any(f"{folder}/".startswith(f"{path}/") for path in tracked)

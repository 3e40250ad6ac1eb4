"""Where a job's mounts go, made so that no place stands inside another."""

from collections.abc import Iterable
from pathlib import PurePosixPath

from containers.job import Mount, RunnerError


def lay_out(mounts: Iterable[Mount]) -> tuple[Mount, ...]:
    """Return the same view of files with no mount inside another mount.

    An engine cannot make a mount point inside a folder that is mounted read-only, and a link cannot
    stand inside a link to the repository without writing there. So a read-only folder that holds
    another mount is replaced by its entries, one level at a time, on the way to that mount.

    Raises:
        RunnerError: a source that is not there, a target outside the root, the same target twice,
            or a mount inside a writable one.
    """
    by_target: dict[PurePosixPath, Mount] = {}
    for mount in mounts:
        target = _checked(mount)
        if target in by_target:
            raise RunnerError(f"Two mounts have the target {target}. Declare it once.")
        by_target[target] = mount
    laid: dict[PurePosixPath, Mount] = {}
    # The deepest first: what is declared inside a folder wins over that folder's own entry.
    for target in sorted(by_target, key=lambda path: (-len(path.parts), path)):
        _place(by_target[target], target, laid)
    return tuple(laid[target] for target in sorted(laid))


def _checked(mount: Mount) -> PurePosixPath:
    target = PurePosixPath(mount.target)
    if target.is_absolute() or ".." in target.parts or not target.parts:
        raise RunnerError(
            f"A mount's target is relative and stays inside the job's root. Got: {mount.target!r}."
        )
    if not mount.source.is_absolute():
        raise RunnerError(f"A mount's source is absolute. Got: {mount.source}, for {mount.target}.")
    if not mount.source.exists():
        raise RunnerError(
            f"{mount.target} comes from {mount.source}, which is not there. Bring it back."
        )
    return target


def _place(mount: Mount, target: PurePosixPath, laid: dict[PurePosixPath, Mount]) -> None:
    if target in laid:
        return
    if not any(other.is_relative_to(target) for other in laid):
        laid[target] = Mount(source=mount.source, target=str(target), writable=mount.writable)
        return
    if mount.writable or not mount.source.is_dir():
        inner = next(other for other in laid if other.is_relative_to(target))
        what = "writable" if mount.writable else "a file"
        raise RunnerError(f"{inner} is mounted inside {target}, which is {what}. Move one of them.")
    for entry in sorted(mount.source.iterdir()):
        if entry.exists():  # a dangling link has nothing to mount
            _place(Mount(source=entry, target=""), target / entry.name, laid)

"""What a container may do: as little as a stage needs."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from containers.engine import Client, is_rootless
from containers.environment import scrubbed
from containers.job import ROOT, Job, Mount, RunnerError
from containers.keys import is_family

FIXED_UID: Final = 10001
"""Used where the caller is root: a stage never is."""
SCRATCH: Final = "/tmp"  # noqa: S108 - a tmpfs of the container's own
SCRATCH_LIMIT_BYTES: Final = 1024**3
PIDS_LIMIT: Final = 512
ENGINE_LOG: Final = "1g"
"""What the engine itself keeps of a job's output; what is kept here is far less."""


def user_for(info: Mapping[str, Any]) -> tuple[int, int]:
    """Return the uid and gid inside the container, for outputs that belong to the caller."""
    if is_rootless(dict(info)):
        return 0, 0  # there, root inside is the caller outside, with no capability either way
    uid = os.getuid()
    return (FIXED_UID, FIXED_UID) if uid == 0 else (uid, os.getgid())


def arguments(
    client: Client,
    job: Job,
    mounts: Iterable[Mount],
    *,
    image_id: str,
    info: Mapping[str, Any],
    gpu: bool,
    labels: Mapping[str, str],
) -> dict[str, Any]:
    """Return the arguments of `create_container`, all but the name."""
    uid, gid = user_for(info)
    extra = dict(job.environment)
    # An engine whose default runtime is nvidia's hands out every GPU unless told otherwise.
    extra.setdefault("NVIDIA_VISIBLE_DEVICES", "all" if gpu else "void")
    return {
        "image": image_id,
        # As entrypoint: a foreign image's own entrypoint must not wrap the stage.
        "entrypoint": _command(job),
        "command": None,
        "user": f"{uid}:{gid}",
        "working_dir": ROOT,
        "environment": scrubbed(threads=job.threads, scratch=SCRATCH, extra=extra),
        "labels": {**job.labels, **labels},
        "host_config": _host_config(client, job, mounts, info, gpu),
    }


def _command(job: Job) -> list[str]:
    """Return the command; a foreign image need only know its interpreter as `python3`."""
    first, *rest = job.command
    return ["python3" if first == "python" and not is_family(job.image) else first, *rest]


def _host_config(
    client: Client, job: Job, mounts: Iterable[Mount], info: Mapping[str, Any], gpu: bool
) -> Any:
    import docker

    scratch_bytes = min(SCRATCH_LIMIT_BYTES, job.memory_bytes // 2)
    request = docker.types.DeviceRequest(count=-1, capabilities=[["gpu"]])
    return client.create_host_config(
        mounts=[_bind(mount) for mount in mounts],
        network_mode="none",
        read_only=True,
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],  # nothing about seccomp: the engine's default stands
        init=True,  # a stop then takes 0.2 s, not the engine's ten
        mem_limit=job.memory_bytes,
        memswap_limit=job.memory_bytes,  # memory and swap together: no swap
        pids_limit=PIDS_LIMIT,
        nano_cpus=min(job.threads, info.get("NCPU") or job.threads) * 10**9,
        tmpfs={SCRATCH: f"rw,nosuid,nodev,noexec,mode=1777,size={scratch_bytes}"},
        shm_size=scratch_bytes,
        ulimits=[docker.types.Ulimit(name="core", soft=0, hard=0)],
        ipc_mode="private",
        # Said here, because the follower counts this driver's frames and some defaults keep none.
        log_config=docker.types.LogConfig(type="json-file", config={"max-size": ENGINE_LOG}),
        restart_policy={"Name": "no"},
        device_requests=[request] if gpu else None,
    )


def _bind(mount: Mount) -> Any:
    import docker

    # A mount, not a bind string: the latter makes a missing source, as root.
    return docker.types.Mount(
        target=f"{ROOT}/{mount.target}",
        source=str(mount.source),
        type="bind",
        read_only=not mount.writable,
    )


def check_readable(mounts: Iterable[Mount], uid: int) -> None:
    """Refuse what a fixed user could not read, before a stage fails on it halfway.

    Raises:
        RunnerError: a file or folder is closed to others.
    """
    if uid != FIXED_UID:
        return
    for mount in mounts:
        status = mount.source.stat()
        needed = 0o005 if mount.source.is_dir() else 0o004
        if not mount.writable and status.st_uid != uid and status.st_mode & needed != needed:
            raise RunnerError(
                f"{mount.source} is closed to others, and as you are root the stage runs as uid "
                f"{uid}. Open it with `chmod -R o+rX {mount.source}`."
            )


@contextmanager
def handed_over(mounts: Iterable[Mount], user: tuple[int, int]) -> Iterator[None]:
    """Give the writable mounts to the fixed user, and back with all that is in them after."""
    if os.getuid() != 0 or user[0] != FIXED_UID:
        yield
        return
    owners: dict[Path, tuple[int, int]] = {}
    try:
        for mount in mounts:
            if mount.writable:
                status = mount.source.stat()
                owners[mount.source] = (status.st_uid, status.st_gid)
                _give(mount.source, *user)
        yield
    finally:
        for path, owner in owners.items():
            _give(path, *owner)


def _give(path: Path, uid: int, gid: int) -> None:
    """Change the owner of a tree, following no link: a stage may have left one to anywhere."""
    if not path.exists():
        return
    if path.is_dir():
        for folder, folders, files in os.walk(path):
            for name in (*folders, *files):
                os.lchown(os.path.join(folder, name), uid, gid)  # noqa: PTH118 - many names
    os.chown(path, uid, gid)

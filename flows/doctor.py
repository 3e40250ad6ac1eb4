"""What this machine has of what assay needs, and the command that brings what is missing."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from flows import server

MIN_PYTHON = (3, 11)
MIN_DISK_BYTES = 10 * 2**30
"""The images take about 6 GiB where torch brings CUDA; runs and cache come on top."""

MIN_MEMORY_BYTES = 4 * 2**30
"""The hungriest bundled stage asks for 2 GiB, beside the engine and the server."""

ASK_LIMIT_S = 1.0
"""A tool that hangs (a driver that is gone, a dead mount) is as good as absent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing: what was found, what is needed, and the command that mends it."""

    name: str
    ok: bool | None  # None: absent, and not needed: only something optional goes without
    found: str
    needed: str
    mend: str = ""  # empty where nothing is to be mended


def examine(workspace: Path) -> list[Check]:
    """Look at everything; nothing is started, built or changed.

    The slow ones wait for other programs, so they are asked at the same time.
    """
    from concurrent.futures import ThreadPoolExecutor

    looks: list[Callable[[], list[Check]]] = [
        lambda: [_python()],
        lambda: [_git(), _identity(workspace)],
        lambda: [_package("dvc"), _package("prefect")],
        lambda: [_server(workspace)],
        _docker,
        lambda: [_gpu()],
        lambda: [_disk(workspace), *_quotas(workspace), _links(workspace)],
        lambda: [_memory()],
        lambda: [_browser()],
    ]
    with ThreadPoolExecutor(len(looks)) as pool:
        return [check for found in pool.map(lambda look: look(), looks) for check in found]


def _python() -> Check:
    found = ".".join(map(str, sys.version_info[:3]))
    needed = "3.11 or newer"
    mend = "" if sys.version_info >= MIN_PYTHON else _install("python3 python3-venv", "python@3.11")
    return Check(name="python", ok=not mend, found=found, needed=needed, mend=mend)


def _git() -> Check:
    said = _ask("git", "--version")
    found = said.removeprefix("git version ") if said else "not found"
    mend = "" if said else _install("git")
    return Check(name="git", ok=bool(said), found=found, needed="any", mend=mend)


def _identity(workspace: Path) -> Check:
    # As git itself would sign the tag of a run: environment variables count too.
    said = _ask("git", "-C", str(workspace), "var", "GIT_COMMITTER_IDENT")
    who = said.rpartition(">")[0] + ">" if said else "none; runs are signed assay@localhost"
    mend = "" if said else "git config --global user.name NAME; git config --global user.email MAIL"
    needed = "a name and a mail address, to sign runs"
    return Check(
        name="git identity", ok=True if said else None, found=who, needed=needed, mend=mend
    )


def _package(name: str) -> Check:
    needed = next((need for need in _requirements() if need.startswith(name)), name)
    needed = needed.removeprefix(name)
    try:
        found = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Check(name=name, ok=False, found="not found", needed=needed, mend="make setup")
    from packaging.specifiers import SpecifierSet

    ok = SpecifierSet(needed).contains(found)
    return Check(name=name, ok=ok, found=found, needed=needed, mend="" if ok else "make setup")


def _requirements() -> list[str]:
    try:
        return metadata.requires("assay") or []
    except metadata.PackageNotFoundError:
        return []


def _server(workspace: Path) -> Check:
    name, needed = "prefect server", "none: a run starts one"
    now = server.status(workspace)
    if now is None:
        return Check(name=name, ok=True, found="not running", needed=needed)
    if now.answers:
        return Check(name=name, ok=True, found=f"answers at {now.api_url}", needed=needed)
    mend = "unset PREFECT_API_URL" if now.pid is None else "assay server stop"
    found = f"does not answer at {now.api_url}"
    return Check(name=name, ok=False, found=found, needed=needed, mend=mend)


def _docker() -> list[Check]:
    needed = "optional: without it, isolation is `process`"
    try:
        from containers import engine, images
        from containers.job import RunnerError
    except ImportError as error:
        return [Check(name="docker", ok=None, found=str(error), needed=needed, mend="make setup")]
    try:
        client = engine.connect()
        version = str(client.version()["Version"])
        lacking = [image.family for image in images.listing(client) if image.state != "current"]
    except (RunnerError, OSError) as error:
        mend = _mend_docker(str(error))
        found = str(error).partition(". ")[0]
        return [Check(name="docker", ok=None, found=found, needed=needed, mend=mend)]
    found = f"not built: {', '.join(lacking)}" if lacking else "all built"
    return [
        Check(name="docker", ok=True, found=version, needed=needed),
        Check(
            name="images",
            ok=None if lacking else True,
            found=found,
            needed="built before the first run in containers",
            mend=f"assay images build {' '.join(lacking)}" if lacking else "",
        ),
    ]


def _mend_docker(fault: str) -> str:
    if not shutil.which("docker"):
        return _install("docker.io", "--cask docker")
    if "Permission denied" in fault:
        return "sudo usermod -aG docker $USER, then log in again"
    if sys.platform == "darwin":
        return "open -a Docker"
    return _as_root("systemctl start docker")


def _gpu() -> Check:
    query = ("--query-gpu=name,memory.total,driver_version", "--format=csv,noheader")
    said = _ask("nvidia-smi", *query)
    needed = "optional: the CPU does where there is none"
    found = "; ".join(said.splitlines()) if said else "none"
    return Check(name="gpu", ok=True if said else None, found=found, needed=needed)


def _disk(workspace: Path) -> Check:
    free = shutil.disk_usage(_existing(workspace)).free
    return Check(
        name="disk",
        ok=free >= MIN_DISK_BYTES,
        found=f"{_gib(free)} free",
        needed=f"{_gib(MIN_DISK_BYTES)} for images, cache and runs",
        mend="" if free >= MIN_DISK_BYTES else "docker image prune",
    )


def _quotas(workspace: Path) -> list[Check]:
    from lineage.room import QUOTAS, rooms

    if not (workspace / ".dvc").is_dir():
        return []
    return [
        Check(
            name=f"{room.name} quota",
            ok=(room.used_bytes or 0) <= room.quota_bytes,
            found=f"{_size(room.used_bytes or 0)} of {_size(room.quota_bytes)}",
            needed=f"at most what `git config {QUOTAS[room.name]}` says",
            mend="assay prune",
        )
        for room in rooms(workspace)
        if room.quota_bytes is not None
    ]


def _size(size_bytes: int) -> str:
    return _gib(size_bytes, 1) if size_bytes >= 2**30 else f"{size_bytes / 2**20:.1f} MiB"


def _links(workspace: Path) -> Check:
    kinds = _link_kinds(_existing(workspace))
    return Check(
        name="file links",
        ok=True if kinds else None,
        found=" and ".join(kinds) or "none: every run copies what it restores",
        needed="reflinks or hard links, so that a run costs no second copy",
        mend="" if kinds else "put the workspace on a local file system (ext4, xfs, btrfs, APFS)",
    )


def _link_kinds(folder: Path) -> list[str]:
    import tempfile

    if not os.access(folder, os.W_OK):
        return []
    with tempfile.TemporaryDirectory(prefix=".assay-", dir=folder) as place:
        one = Path(place, "one")
        one.write_bytes(b"assay")
        ways: dict[str, Callable[[Path, Path], None]] = {
            "reflinks": _reflink,
            "hard links": os.link,
        }
        return [kind for kind, way in ways.items() if _works(way, one, Path(place, kind))]


def _works(way: Callable[[Path, Path], None], source: Path, target: Path) -> bool:
    try:
        way(source, target)
    except OSError:
        return False
    return True


def _reflink(source: Path, target: Path) -> None:
    if sys.platform == "darwin":
        subprocess.run(["cp", "-c", source, target], check=True, capture_output=True)
        return
    import fcntl

    ficlone = 0x40049409  # linux/fs.h
    with source.open("rb") as have, target.open("wb") as made:
        fcntl.ioctl(made, ficlone, have.fileno())


def _memory() -> Check:
    have = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    ok = have >= MIN_MEMORY_BYTES
    needed = f"{_gib(MIN_MEMORY_BYTES)} for the bundled cases"
    mend = "" if ok else "lower `memory` in the stages' needs, or use a larger machine"
    found = f"{_gib(have)}, {os.cpu_count()} CPUs"
    return Check(name="memory", ok=ok, found=found, needed=needed, mend=mend)


def _browser() -> Check:
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    ok = True if browser and driver else None
    return Check(
        name="chromium",
        ok=ok,
        found=browser if ok and browser else "none",
        needed="optional: only the tests of the report look through it",
        mend="" if ok else _install("chromium chromium-driver", "--cask chromium chromedriver"),
    )


def _existing(folder: Path) -> Path:
    return next(place for place in (folder.resolve(), *folder.resolve().parents) if place.exists())


def _gib(size_bytes: int, digits: int = 0) -> str:
    return f"{size_bytes / 2**30:.{digits}f} GiB"


def _install(debian: str, mac: str | None = None) -> str:
    if sys.platform == "darwin":
        return f"brew install {mac or debian}"
    return _as_root(f"apt install {debian}")


def _as_root(command: str) -> str:
    return command if os.geteuid() == 0 else f"sudo {command}"


def _ask(*command: str) -> str | None:
    """Return what a program says, or None when it is absent, fails or hangs."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            check=True,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=ASK_LIMIT_S,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()

"""What a stage can do in its container, seen from the inside."""

import json
import os
from pathlib import Path

import pytest

from containers.docker_posture import FIXED_UID, SCRATCH, check_readable
from containers.job import Mount, Reason, RunnerError

pytestmark = pytest.mark.docker

LOOK = """
import json, os, resource, socket
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
def denied(path):
    try:
        open(path, "w").close()
    except OSError as error:
        return error.errno
def first(*paths):
    for path in paths:
        if os.path.exists(path):
            return open(path).read().strip()
print(json.dumps({
    "uid": os.getuid(), "gid": os.getgid(), "cwd": os.getcwd(),
    "caps": [status[k].strip() for k in ("CapEff", "CapPrm", "CapBnd")],
    "no_new_privileges": status["NoNewPrivs"].strip(), "seccomp": status["Seccomp"].strip(),
    "interfaces": [name for _, name in socket.if_nameindex()],
    "errors": [denied(p) for p in ("/x", "/work/x", "/opt/venv/x", "/work/in/x")],
    "socket": os.path.exists("/var/run/docker.sock"),
    "pid_1": open("/proc/1/cmdline").read().split("\\0")[0],
    "memory": first("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"),
    "swap": first("/sys/fs/cgroup/memory.swap.max",
                  "/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes"),
    "pids": first("/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max"),
    "tmp_bytes": (lambda s: s.f_frsize * s.f_blocks)(os.statvfs("/tmp")),
    "core": resource.getrlimit(resource.RLIMIT_CORE)[0],
    "environment": dict(os.environ),
}))
"""


@pytest.fixture
def seen(docker, bench, monkeypatch):
    monkeypatch.setenv("SECRET", "x")
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    (bench.folder / "in").mkdir()
    mounts = (*bench.job.mounts, Mount(source=bench.folder / "in", target="in"))
    ended = bench.run(docker, LOOK, mounts=mounts, threads=1)
    assert ended.reason is Reason.DONE, bench.lines
    return json.loads(bench.lines[0])


def test_the_posture_from_the_inside(seen, bench):
    mine = os.getuid() or FIXED_UID
    assert seen["uid"] == mine
    assert seen["cwd"] == "/work"
    assert {int(mask, 16) for mask in seen["caps"]} == {0}
    assert (seen["no_new_privileges"], seen["seccomp"]) == ("1", "2")
    assert seen["interfaces"] == ["lo"]
    assert None not in seen["errors"]  # nothing outside the writable places is written
    assert not seen["socket"]
    assert "init" in seen["pid_1"]
    assert int(seen["memory"]) == bench.job.memory_bytes
    assert seen["swap"] in {"0", str(bench.job.memory_bytes), None}  # None: not accounted here
    assert seen["pids"] == "512"
    assert seen["tmp_bytes"] == bench.job.memory_bytes // 2
    assert seen["core"] == 0


def test_the_environment_is_scrubbed_and_the_threads_are_fixed(seen):
    environment = seen["environment"]
    assert "SECRET" not in environment
    assert environment["OPENBLAS_CORETYPE"] == "Haswell"
    assert environment["OMP_NUM_THREADS"] == environment["MKL_NUM_THREADS"] == "1"
    assert environment["HOME"] == SCRATCH
    assert environment["MPLCONFIGDIR"].startswith(f"{SCRATCH}/")
    assert (environment["LC_ALL"], environment["PYTHONHASHSEED"]) == ("C.UTF-8", "0")


def test_outputs_come_back_to_their_owner_with_all_that_is_in_them(docker, bench):
    (bench.out / "before").touch()
    code = (
        "import os; os.makedirs('out/deep'); open('out/deep/x', 'w'); os.symlink('/etc', 'out/l')"
    )
    assert bench.run(docker, code).reason is Reason.DONE
    owners = {path.lstat().st_uid for path in [bench.out, *bench.out.rglob("*")]}
    assert owners == {os.getuid()}
    assert Path("/etc").stat().st_uid == 0


def test_a_writable_mount_inside_a_read_only_folder(docker, bench):
    sources = bench.mount("case/code.py", "x = 1").source.parent
    mounts = (
        Mount(source=sources, target="cases/one"),
        Mount(source=bench.out, target="cases/one/artifacts/deep", writable=True),
    )
    code = "open('cases/one/artifacts/deep/y', 'w').write(open('cases/one/code.py').read())"
    assert bench.run(docker, code, mounts=mounts).reason is Reason.DONE
    assert (bench.out / "y").read_text() == "x = 1"
    assert [path.name for path in sources.iterdir()] == ["code.py"]


def test_what_the_fixed_user_could_not_read_is_refused_before_the_start(tmp_path):
    source = tmp_path / "closed"
    source.touch(0o600)
    mount = Mount(source=source, target="x")
    check_readable([mount], os.getuid() + 1)  # another than the fixed one: it is the caller
    with pytest.raises(RunnerError, match=r"chmod -R o\+rX"):
        check_readable([mount], FIXED_UID)

"""A stage that tries to get out: each way is closed, as it finds itself."""

import json
import os
from pathlib import Path

import pytest

from containers.docker_posture import FIXED_UID, handed_over, user_for
from containers.job import Mount, Reason

pytestmark = pytest.mark.docker

TRY = """
import ctypes, glob, json, os, socket, stat, subprocess, threading
libc = ctypes.CDLL(None, use_errno=True)
found = {}
def attempt(name, act):
    try:
        found[name] = f"DONE {act()}"
    except Exception as error:
        found[name] = f"{type(error).__name__} {getattr(error, 'errno', '')}"
def call(*words):  # a call of libc that ends below zero, or refuses
    name, *rest = words
    if getattr(libc, name)(*rest) < 0:
        raise OSError(ctypes.get_errno(), name)
def system(number, *rest):
    if libc.syscall(number, *rest) < 0:
        raise OSError(ctypes.get_errno(), str(number))
def write(path, text="1"):
    with open(path, "w") as file:
        file.write(text)
def read(path):
    with open(path, "rb") as file:
        return file.read(1)
def run(*words):
    return subprocess.run(words, capture_output=True, check=True, timeout=9).stdout
def connect(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as one:
        one.settimeout(2)
        one.connect(address)
attempt("the network", lambda: connect(socket.AF_INET, ("1.1.1.1", 53)))
attempt("a name", lambda: socket.getaddrinfo("example.org", 80))
attempt("the host's loopback", lambda: connect(socket.AF_INET, ("127.0.0.1", PORT)))
attempt("raw packets", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attempt("raw ip", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
for path in ("/x", "/etc/passwd", "/opt/venv/x", "/work/x", "/work/in/x", "/usr/bin/env",
             "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger",
             "/sys/kernel/uevent_helper", "/sys/fs/cgroup/memory.max",
             "/sys/fs/cgroup/cgroup.procs",
             "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/pids/pids.max"):
    attempt(f"write {path}", lambda: write(path))
for path in ("/etc/shadow", "/proc/kcore", "/proc/1/root/etc/shadow", "/dev/mem", "/dev/kmsg",
             "/proc/sched_debug", "/sys/firmware/dmi/tables/DMI", HOST, "/work/../cases/other/x"):
    attempt(f"read {path}", lambda: read(path))
for path in ("/var/run/docker.sock", "/run/docker.sock", SOCKET):
    attempt(f"the engine at {path}", lambda: connect(socket.AF_UNIX, path))
attempt("live longest", lambda: write("/proc/self/oom_score_adj", "-1000"))
attempt("be root", lambda: os.setuid(0))
attempt("root's group", lambda: os.setgid(0))
attempt("other groups", lambda: os.setgroups([0]))
attempt("another root folder", lambda: os.chroot("/tmp"))
attempt("a device", lambda: os.mknod("/tmp/disk", stat.S_IFBLK | 0o600, os.makedev(8, 0)))
attempt("a mount", lambda: call("mount", b"none", b"/tmp", b"tmpfs", 0, None))
attempt("a bind mount", lambda: call("mount", b"/", b"/tmp", None, 4096, None))
attempt("an unmount", lambda: call("umount2", b"/work", 2))
attempt("a user namespace", lambda: call("unshare", 0x10000000))
attempt("a mount namespace", lambda: call("unshare", 0x00020000))
attempt("another's namespace", lambda: call("setns", os.open("/proc/1/ns/net", os.O_RDONLY), 0))
attempt("trace a process of the host", lambda: system(101, 16, PID, 0, 0))
for name, number in {"bpf": 321, "perf": 298, "keys": 250, "module": 175, "kexec": 246,
                     "reboot": 169, "the clock": 227, "handles": 304, "userfaults": 323}.items():
    attempt(name, lambda: system(number, 0, 0, 0, 0, 0))
def as_owner():
    with open("/tmp/as_owner", "w") as file:
        file.write("#!/bin/sh\\nid -u")
    os.chmod("/tmp/as_owner", 0o6755)
    return run("/tmp/as_owner")
attempt("a program of its own in /tmp", as_owner)
for place in sorted(glob.glob("/bin/*") + glob.glob("/usr/bin/*")):
    if os.stat(place).st_mode & stat.S_ISUID and os.path.basename(place) in ("su", "mount"):
        words = {"su": ("-c", "id"), "mount": ("-t", "tmpfs", "x", "/tmp")}
        attempt(f"setuid {place}", lambda: run(place, *words[os.path.basename(place)]))
attempt("another process", lambda: [p for p in os.listdir("/proc") if p.isdigit()
                                    and int(p) not in (1, os.getpid())][0])
def fork_bomb():
    children = []
    try:
        for _ in range(2000):
            child = os.fork()
            if child == 0:
                import signal
                signal.pause()
            children.append(child)
    finally:
        for child in children:
            os.kill(child, 9)
            os.waitpid(child, 0)
        found["children"] = len(children)
attempt("2000 processes", fork_bomb)
found["seen"] = sorted(os.listdir("/work"))
found["secrets"] = [k for k in os.environ if "SECRET" in k or "TOKEN" in k]
print(json.dumps(found))
"""


def test_every_way_out_is_closed(docker, bench, monkeypatch, tmp_path):
    import socket

    monkeypatch.setenv("A_SECRET", "canary")
    (bench.folder / "in").mkdir()
    host = tmp_path / "another-case"
    host.write_text("canary")
    engine = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    with socket.socket() as own:  # of the host
        own.bind(("127.0.0.1", 0))
        own.listen()
        stated = {"PORT": own.getsockname()[1], "HOST": str(host), "PID": os.getpid()}
        stated["SOCKET"] = engine.removeprefix("unix://")
        code = "\n".join(f"{name} = {value!r}" for name, value in stated.items()) + TRY
        mounts = (*bench.job.mounts, Mount(source=bench.folder / "in", target="in"))
        ended = bench.run(docker, code, mounts=mounts)
    assert ended.reason is Reason.DONE, bench.lines
    found = json.loads(bench.lines[-1])
    assert found.pop("seen") == ["in", "out"]
    assert found.pop("secrets") == []
    assert found.pop("children") < 512
    assert len(found) > 45
    assert [f"{name}: {what}" for name, what in found.items() if what.startswith("DONE")] == []


def test_memory_beyond_its_limit_ends_it_alone(docker, bench):
    code = "block = []\nwhile True: block.append(bytearray(1 << 24))"
    assert bench.run(docker, code).reason is Reason.OUT_OF_MEMORY


ROOTLESS = {"SecurityOptions": ["name=seccomp,profile=default", "name=rootless"]}


@pytest.mark.parametrize(("uid", "inside"), [(0, (FIXED_UID, FIXED_UID)), (1000, (1000, 1000))])
def test_who_a_stage_is(monkeypatch, uid, inside):
    """A rootless engine maps its root to the caller, so that outputs are the caller's."""
    monkeypatch.setattr(os, "getuid", lambda: uid)
    monkeypatch.setattr(os, "getgid", lambda: uid)
    assert user_for({"SecurityOptions": []}) == inside
    assert user_for(ROOTLESS) == (0, 0)


def test_under_a_rootless_engine_nothing_changes_hands(monkeypatch, tmp_path):
    given = []
    monkeypatch.setattr(os, "chown", lambda *words: given.append(words))
    monkeypatch.setattr(os, "lchown", lambda *words: given.append(words))
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    mount = Mount(source=tmp_path, target="out", writable=True)
    with handed_over([mount], user_for(ROOTLESS)):
        Path(tmp_path / "made").touch()
    assert given == []

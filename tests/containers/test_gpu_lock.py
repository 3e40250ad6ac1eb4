"""The lock of a host's GPU lies where others may write: it leads nobody to write elsewhere."""

import fcntl
import os
import stat
import threading

import pytest

from containers import gpu_turn
from containers.job import RunnerError


def test_a_link_that_came_while_one_waited_is_not_written_through(tmp_path, monkeypatch):
    lock, victim, said = tmp_path / "lock", tmp_path / "victim", []
    victim.write_text("what only its owner may touch")
    monkeypatch.setenv(gpu_turn.VARIABLE, str(lock))
    waits, took = threading.Event(), threading.Event()

    def tell(line: str) -> None:
        said.append(line)
        waits.set()

    def take() -> None:
        with gpu_turn.gpu_turn(wanted=True, on_line=tell, cancel=threading.Event()) as held:
            assert held
            took.set()

    with lock.open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        taking = threading.Thread(target=take)
        taking.start()
        assert waits.wait(30)
        lock.unlink()
        lock.symlink_to(victim)
    taking.join(30)
    assert took.is_set()
    assert victim.read_text() == "what only its owner may touch"
    assert "waiting for the GPU" in said[0]


def take_turn() -> None:
    with gpu_turn.gpu_turn(wanted=True, on_line=print, cancel=threading.Event()) as held:
        assert held


def a_link(lock):
    lock.symlink_to(lock.parent / "victim")


def nothing_above_it(lock):
    lock.parent.rmdir()


@pytest.mark.parametrize(
    ("there", "why"),
    [
        (a_link, "symbolic links"),
        (os.mkfifo, "it is no plain file"),
        (os.mkdir, "it is no plain file"),
        (nothing_above_it, "No such file or directory"),
    ],
)
def test_what_cannot_be_a_lock_is_told_with_what_to_do(tmp_path, monkeypatch, there, why):
    lock = tmp_path / "locks/lock"
    lock.parent.mkdir()
    there(lock)
    monkeypatch.setenv(gpu_turn.VARIABLE, str(lock))
    with pytest.raises(RunnerError, match=f"{lock}, cannot be used: .*{why}.*ASSAY_GPU_LOCK=FILE"):
        take_turn()
    assert not (lock.parent / "victim").exists()


def test_a_lock_is_all_users_whatever_the_umask_of_whoever_came_first(tmp_path, monkeypatch):
    lock = tmp_path / "lock"
    monkeypatch.setenv(gpu_turn.VARIABLE, str(lock))
    before = os.umask(0o077)
    try:
        take_turn()
    finally:
        os.umask(before)
    assert stat.S_IMODE(lock.stat().st_mode) == 0o644

"""The lock of a host's GPU lies where others may write: it leads nobody to write elsewhere."""

import fcntl
import threading

import pytest

from containers import gpu_turn


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


def test_a_link_is_no_lock(tmp_path, monkeypatch):
    (tmp_path / "lock").symlink_to(tmp_path / "victim")
    monkeypatch.setenv(gpu_turn.VARIABLE, str(tmp_path / "lock"))
    with (
        pytest.raises(OSError, match="symbolic links"),
        gpu_turn.gpu_turn(wanted=True, on_line=print, cancel=threading.Event()),
    ):
        pass
    assert not (tmp_path / "victim").exists()

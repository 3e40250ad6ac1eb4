"""Lines come whole, once, and to the log before the watcher."""

import itertools
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from containers.job import Reason
from containers.lines import Log, Pump, Splitter, Watch


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=8))
def test_however_it_is_cut_the_lines_are_the_same(text: bytes, cuts: list[int]):
    places = [0, *sorted(cut for cut in cuts if cut <= len(text)), len(text)]
    splitter = Splitter()
    lines = [line for a, b in itertools.pairwise(places) for line in splitter.feed(text[a:b])]
    lines += splitter.end()
    whole = text.removesuffix(b"\n").split(b"\n") if text else []
    assert lines == [line.decode(errors="replace").removesuffix("\r") for line in whole]


def test_the_log_appends_whole_lines(tmp_path):
    path = tmp_path / "deep" / "job.log"
    seen: list[str] = []
    for _ in range(2):
        with Log(path, seen.append) as log:
            log.write(["one", "two"])
    assert path.read_text() == "one\ntwo\none\ntwo\n"
    assert seen == ["one", "two"] * 2


def test_a_pump_is_silent_but_not_stuck_while_its_source_is():
    release = threading.Event()

    def source():
        release.wait(10)
        yield ["late"]

    batches = Pump(source()).batches()
    assert next(batches) == []
    release.set()
    assert ["late"] in list(batches)


def test_a_pump_raises_what_its_source_raised():
    def source():
        yield ["one"]
        raise ValueError("torn")

    with pytest.raises(ValueError, match="torn"):
        list(Pump(source()).batches())


def test_an_abandoned_pump_lets_its_thread_end():
    pump = Pump(["x"] for _ in iter(int, 1))
    time.sleep(0.05)
    pump.abandon()
    pump._thread.join(5)
    assert not pump._thread.is_alive()


def test_cancel_is_told_from_the_deadline():
    cancel = threading.Event()
    assert Watch(60, cancel).verdict() is None
    assert Watch(0, cancel).verdict() is Reason.TIMED_OUT
    cancel.set()
    assert Watch(0, cancel).verdict() is Reason.CANCELLED

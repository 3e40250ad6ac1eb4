"""A job that prints without end fills neither the host's disk nor its memory, and is told so."""

import resource
import threading
from dataclasses import replace

import pytest

from containers import lines
from containers.job import Job, Reason
from containers.process_runner import ProcessRunner

FLOOD = "import os\nfor _ in range({times}): os.write(1, b'{text}' * 65536)"


@pytest.fixture
def job(tmp_path):
    return Job(
        name="flood",
        image="base",
        command=("python", "-c", ""),
        mounts=(),
        log=tmp_path / "logs/flood.log",
        threads=1,
        memory_bytes=1 << 29,
        timeout_s=120,
    )


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.parametrize("text", ["x", "y\\n"], ids=["one endless line", "short lines"])
def test_a_flood_is_cut_and_told(job, monkeypatch, text):
    monkeypatch.setattr(lines, "MAX_LOG_BYTES", 1 << 20)
    code = FLOOD.format(times=60, text=text)  # 4 MiB and more
    shown: list[str] = []
    before = peak_bytes()
    flood = replace(job, command=("python", "-c", code))
    ended = ProcessRunner().run(flood, on_line=shown.append, cancel=threading.Event())
    assert ended.reason is Reason.DONE
    assert job.log.stat().st_size <= (1 << 20) + 200
    assert shown[-1] == lines.CUT.format(mib=1)
    assert job.log.read_text().splitlines()[-1] == shown[-1]
    assert max(map(len, shown)) <= lines.MAX_LINE_BYTES + 65536
    assert peak_bytes() - before < 48 << 20


def test_the_first_lines_are_those_that_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "MAX_LOG_BYTES", 10)
    shown: list[str] = []
    with lines.Log(tmp_path / "log", shown.append) as log:
        for batch in (["one", "two"], ["three", "four"], ["five"]):
            log.write(batch)
    assert shown == ["one", "two", lines.CUT.format(mib=0)]
    assert (tmp_path / "log").read_text().splitlines() == shown

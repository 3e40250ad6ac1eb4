"""The fallback runs the same job, sees the sandbox alone, and tells its endings apart."""

import fcntl
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import venv
from dataclasses import replace
from pathlib import Path

import pytest

from containers import process_fence, process_runner
from containers.job import Mount, Reason, RunnerError
from containers.process_runner import ProcessRunner

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def process(tmp_path: Path) -> ProcessRunner:
    lock = tmp_path / "constraints.txt"
    lock.write_text("numpy==2\n")
    return ProcessRunner(lock=lock)


def test_a_module_runs_from_its_sandbox_and_writes_to_its_mount(process, bench):
    code = "import pathlib, sys; pathlib.Path('out/x').write_text(sys.argv[1]); print('done')"
    mounts = (*bench.job.mounts, bench.mount("pkg/__init__.py"), bench.mount("pkg/enter.py", code))
    ended = bench.run(process, command=("python", "-m", "pkg.enter", "job.json"), mounts=mounts)
    assert (ended.reason, ended.code, ended.detail) == (Reason.DONE, 0, "")
    assert (bench.out / "x").read_text() == "job.json"
    assert bench.lines == bench.logged == ["done"]


@pytest.mark.parametrize("module", ["containers.keys", "stages.stage", "pkg.undeclared"])
def test_an_undeclared_import_fails(process, bench, module):
    mounts = (bench.mount("pkg/__init__.py"),)
    (bench.folder / "sources/pkg/undeclared.py").touch()
    ended = bench.run(process, f"import {module}", mounts=mounts)
    assert ended.reason is Reason.FAILED
    assert bench.lines[-1].startswith("ModuleNotFoundError")


def test_an_editable_install_is_hidden_from_a_job_and_its_children(process, bench, monkeypatch):
    """It puts the repository on the path by a .pth file, in every interpreter of the job."""
    home = bench.folder / "venv"
    venv.create(home, symlinks=True)
    python = str(home / "bin/python")
    pth = next(home.glob("lib/python*/site-packages")) / "assay.pth"
    pth.write_text(f"{ROOT}\n")
    subprocess.run([python, "-c", "import containers"], check=True, cwd="/")
    monkeypatch.setattr(process_runner.sys, "executable", python)
    child = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import containers'])"
    for code in ("import containers", child):
        bench.lines.clear()
        bench.run(process, code)
        assert bench.lines[-1] == "ModuleNotFoundError: No module named 'containers'"


def test_a_declared_folder_of_the_repository_is_imported_from_the_sandbox(process, bench):
    mounts = (Mount(source=ROOT / "containers", target="containers"),)
    bench.run(process, "import containers.job as job; print(job.__file__)", mounts=mounts)
    assert "/assay-" in bench.lines[0]


def test_the_environment_is_scrubbed(process, bench, monkeypatch):
    monkeypatch.setenv("SECRET", "x")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    code = "import os; print('\\n'.join(f'{k}={v}' for k, v in os.environ.items()))"
    bench.run(process, code, threads=3, environment={"MORE": "1"})
    seen = dict(line.split("=", 1) for line in bench.lines)
    assert "SECRET" not in seen
    assert str(ROOT) not in seen["PYTHONPATH"].split(":")
    assert seen["OMP_NUM_THREADS"] == seen["OPENBLAS_NUM_THREADS"] == "3"
    assert (seen["PYTHONHASHSEED"], seen["OPENBLAS_CORETYPE"], seen["MORE"]) == (
        "0",
        "Haswell",
        "1",
    )
    assert not Path(seen["HOME"]).exists()  # gone with the sandbox


@pytest.mark.parametrize(
    ("code", "reason", "status", "words"),
    [
        pytest.param("import sys; sys.exit(3)", Reason.FAILED, 3, "status 3", id="own status"),
        pytest.param(
            "import os; os.kill(os.getpid(), 9)",
            Reason.FAILED,
            -9,
            "SIGKILL",
            id="killed by another",
        ),
        pytest.param(
            "import time; time.sleep(60)", Reason.TIMED_OUT, -15, "limit of 0.5 s", id="too slow"
        ),
        pytest.param(
            "import signal, time\nsignal.signal(15, signal.SIG_IGN); time.sleep(60)",
            Reason.TIMED_OUT,
            -9,
            "limit",
            id="too slow and deaf",
        ),
        pytest.param(
            "import os, time; os.close(1); os.close(2); time.sleep(60)",
            Reason.TIMED_OUT,
            -15,
            "limit",
            id="too slow with its output closed",
        ),
    ],
)
def test_every_ending_is_told_apart(process, bench, code, reason, status, words):  # noqa: PLR0917
    limit = 0.5 if reason is Reason.TIMED_OUT else 30
    ended = bench.run(process, code, timeout_s=limit)
    assert (ended.reason, ended.code) == (reason, status)
    assert words in ended.detail


def test_a_kill_that_the_kernel_counts_is_out_of_memory(process, bench, monkeypatch):
    counts = iter([4, 5])
    monkeypatch.setattr(process_runner, "_kernel_kills", lambda: next(counts))
    ended = bench.run(process, "import os; os.kill(os.getpid(), 9)")
    assert ended.reason is Reason.OUT_OF_MEMORY


def test_cancel_ends_the_whole_group_soon(process, bench):
    code = "import subprocess as s, time; print(s.Popen(['sleep', '97']).pid); time.sleep(97)"
    began = time.monotonic()

    def cancel_then(line: str) -> None:
        bench.lines.append(line)
        bench.cancel.set()

    ended = bench.run(process, code, on_line=cancel_then)
    assert ended.reason is Reason.CANCELLED
    assert time.monotonic() - began < 30
    assert _gone(int(bench.lines[0]))


def test_cancelled_before_it_began_nothing_runs(process, bench):
    bench.cancel.set()
    assert bench.run(process, "open('out/x', 'w')").reason is Reason.CANCELLED
    assert not list(bench.out.iterdir())


def test_an_interrupt_leaves_nothing_running(process, bench):
    def interrupt(line: str) -> None:
        bench.lines.append(line)
        raise KeyboardInterrupt

    code = "import os, time; print(os.getpid(), flush=True); time.sleep(97)"
    with pytest.raises(KeyboardInterrupt):
        bench.run(process, code, on_line=interrupt)
    assert _gone(int(bench.lines[0]))


def test_what_a_job_leaves_running_is_ended(process, bench):
    code = "import subprocess; print(subprocess.Popen(['sleep', '97']).pid)"
    ended = bench.run(process, code)
    assert ended.reason is Reason.DONE
    assert ended.wall_s < 30
    assert _gone(int(bench.lines[0]))


def test_ten_thousand_lines_come_whole_and_in_order(process, bench):
    bench.run(process, "for i in range(10_000): print(f'line {i} ' + 'x' * (i % 300))")
    assert [line.split()[1] for line in bench.lines] == [str(i) for i in range(10_000)]
    assert bench.logged == bench.lines


def test_two_live_jobs_never_share_a_name(process, bench):
    faults: list[Exception] = []

    def second(_line: str) -> None:
        try:
            bench.run(process, "print(1)")
        except RunnerError as error:
            faults.append(error)

    assert bench.run(process, "print(1)", on_line=second).reason is Reason.DONE
    assert f"of process {os.getpid()}" in str(faults[0])


def test_an_orphan_of_a_killed_runner_is_ended_by_its_successor(process, bench):
    program = textwrap.dedent(f"""
        import sys; sys.path.insert(0, {str(ROOT)!r})
        import threading; from pathlib import Path
        from containers.job import Job; from containers.process_runner import ProcessRunner
        code = "import os, time; print(os.getpid(), flush=True); time.sleep(97)"
        job = Job(name={bench.job.name!r}, image="base", command=("python", "-c", code), mounts=(),
                  log=Path({str(bench.job.log)!r}), threads=1, memory_bytes=1, timeout_s=97)
        ProcessRunner().run(job, on_line=lambda x: print(x, flush=True), cancel=threading.Event())
    """)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as runner:
        orphan = int(runner.stdout.readline())
        runner.send_signal(signal.SIGKILL)
    assert not _gone(orphan, wait_s=0)
    assert bench.run(process).reason is Reason.DONE
    assert _gone(orphan)


def test_a_runner_killed_before_it_noted_its_job_leaves_neither(process, bench):
    """The job waits for that note: nobody could find and end it else."""
    program = textwrap.dedent(f"""
        import os, sys; sys.path.insert(0, {str(ROOT)!r})
        import threading; from pathlib import Path
        from containers import process_fence, process_runner; from containers.job import Job
        def die(fence, group, note=process_fence.Fence.note):
            if group is not None:
                print(group, flush=True); os.kill(os.getpid(), 9)
            note(fence, group)
        process_fence.Fence.note = die
        job = Job(name={bench.job.name!r}, image="base", command=("python", "-c", "print('ran')"),
                  mounts=(), log=Path({str(bench.job.log)!r}), threads=1, memory_bytes=1,
                  timeout_s=97)
        process_runner.ProcessRunner().run(job, on_line=print, cancel=threading.Event())
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert _gone(int(done.stdout))
    assert bench.job.log.read_text() == ""
    assert len(list(bench.job.log.parent.glob(".*.fence"))) == 1
    assert process_fence.reap(bench.job.log.parent) == []
    assert not list(bench.job.log.parent.glob(".*.fence"))


def test_a_fence_that_names_nobody_goes_unless_somebody_holds_it(tmp_path):
    for name in (".free.fence", ".held.fence"):
        (tmp_path / name).touch()
    with (tmp_path / ".held.fence").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert process_fence.reap(tmp_path) == []
        assert [path.name for path in tmp_path.iterdir()] == [".held.fence"]


def test_a_foreign_image_is_refused(process, bench):
    with pytest.raises(RunnerError, match="Use isolation `docker`"):
        bench.run(process, image="theirs:1")
    with pytest.raises(RunnerError, match="cannot run as a process"):
        process.environment_key("theirs:1")


def test_a_command_that_is_not_there_is_named(process, bench):
    with pytest.raises(RunnerError, match="no-such-program could not be started"):
        bench.run(process, command=("no-such-program",))


def test_jobs_of_several_threads_do_not_disturb_each_other(process, bench):
    ended = []

    def one(number: int) -> None:
        job = replace(bench.job, name=f"{bench.job.name}-{number}", log=bench.folder / str(number))
        lines: list[str] = []
        ended.append(process.run(job, on_line=lines.append, cancel=bench.cancel).reason)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert ended == [Reason.DONE] * 4


def _gone(pid: int, wait_s: float = 30) -> bool:
    """Tell whether a process has ended (or is a zombie, which only waits for its parent)."""
    until = time.monotonic() + wait_s
    while True:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state in "ZX" or time.monotonic() > until:
            return state in "ZX"
        time.sleep(0.02)

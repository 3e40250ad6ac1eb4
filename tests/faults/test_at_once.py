"""Runs at once: of one case, of several, and ten that want the one GPU."""

import signal
from pathlib import Path

from killable import SLEEP, Toy, report, said, until

from bench.rig import toy_case

WANTED = '{"parity": {"gpu": true}}'
PRESENT = {"containers.process_runner.GPU_DEVICE": "/dev/null"}
TURN = """
import time
with open({log!r}, "a", buffering=1) as log:
    log.write("in\\n"); time.sleep(0.2); log.write("out\\n")
"""


def test_runs_at_once_of_one_case_and_of_another_all_end_well(toy: Toy) -> None:
    toy_case.make(toy.root, case="other")
    started = [toy.start(case) for case in ("toy", "other", "toy")]
    assert [run.wait() for run in started] == [0, 0, 0], [run.err for run in started]
    for run in started:
        name = run.answer["run"]
        case = "other" if "-other-" in name else "toy"
        assert report(toy, name, case) == said(case)
    assert toy.is_tidy()
    assert set(toy.run("other")["stages"].values()) == {"restored"}


def test_ten_runs_queue_for_the_gpu_and_one_at_a_time_has_it(toy: Toy, tmp_path: Path) -> None:
    log = tmp_path / "turns"
    for case in ("toy", "other", "third"):
        if case != "toy":
            toy_case.make(toy.root, case=case)
        toy.state(case, parity=TURN.format(log=str(log)))
    how = {
        "constants": PRESENT,
        "ASSAY_TOY_ROWS": WANTED,
        "ASSAY_GPU_LOCK": str(tmp_path / "gpu.lock"),
    }
    cases = [("toy", "other", "third")[number % 3] for number in range(10)]
    started = [toy.start(case, **how) for case in cases]
    assert [run.wait() for run in started] == [0] * 10, [run.err for run in started]
    turns = log.read_text().split()
    assert turns == ["in", "out"] * (len(turns) // 2)
    assert len(turns) >= 6  # each case's once; the others may have found it done
    assert toy.is_tidy()
    assert {
        report(toy, run.answer["run"], case) for run, case in zip(started, cases, strict=True)
    } == {said(case) for case in cases}


def test_who_waits_for_the_gpu_is_told_and_gets_it_when_its_holder_is_killed(
    toy: Toy, tmp_path: Path
) -> None:
    lock = {"ASSAY_TOY_ROWS": WANTED, "ASSAY_GPU_LOCK": str(tmp_path / "gpu.lock")}
    toy_case.make(toy.root, case="other")
    holder = toy.asleep("parity", SLEEP, constants=PRESENT, **lock)
    waiting = toy.start("other", constants=PRESENT, **lock)
    told = f"waiting for the GPU: process {holder.pid} on"
    until(lambda: told in waiting.err or waiting.ended.is_set())
    assert told in waiting.err
    holder.signal(signal.SIGKILL)
    assert waiting.wait() == 0, waiting.err
    until(toy.is_tidy)


def test_who_waits_for_the_gpu_can_be_cancelled(toy: Toy, tmp_path: Path) -> None:
    lock = {"ASSAY_TOY_ROWS": WANTED, "ASSAY_GPU_LOCK": str(tmp_path / "gpu.lock")}
    toy_case.make(toy.root, case="other")
    holder = toy.asleep("parity", SLEEP, constants=PRESENT, **lock)
    waiting = toy.start("other", constants=PRESENT, **lock)
    until(lambda: "waiting for the GPU" in waiting.err)
    waiting.signal(signal.SIGTERM)
    assert waiting.wait() == 130
    assert not holder.ended.is_set()
    holder.signal(signal.SIGTERM)
    assert holder.wait() == 130

"""A cancel from anywhere: containers dead in seconds, Cancelled everywhere, and nothing to mend."""

import random
import signal
import time
from collections.abc import Callable

import pytest
from killable import SLEEP, Toy, ask, report, said, until

from bench.rig.toy_mother import Started

DEAF = f"import signal; signal.signal(15, signal.SIG_IGN); {SLEEP}"


def by_signal(toy: Toy, run: Started) -> None:
    run.signal(signal.SIGTERM)


def by_ctrl_c_twice(toy: Toy, run: Started) -> None:
    run.signal(signal.SIGINT)
    until(lambda: "once more: cancel" in run.err)
    run.signal(signal.SIGINT)


def by_ctrl_c_four_times(toy: Toy, run: Started) -> None:
    by_ctrl_c_twice(toy, run)
    until(lambda: "once more: at once" in run.err)
    run.signal(signal.SIGINT)


def in_prefect(toy: Toy, run: Started) -> None:
    """What the UI's button does."""
    [folder] = toy.root.glob(".assay/runs/*")
    flow_run = (folder / "flow_run").read_text()
    state = {"type": "CANCELLING", "name": "Cancelling"}
    answer = ask(toy.mother.environment, f"/flow_runs/{flow_run}/set_state", {"state": state})
    assert answer["status"] == "ACCEPT", answer


@pytest.mark.docker
@pytest.mark.parametrize("cancel", [by_signal, by_ctrl_c_twice, by_ctrl_c_four_times, in_prefect])
def test_a_cancel_ends_the_containers_and_is_no_failure(
    boxed: Toy, cancel: Callable[[Toy, Started], None]
) -> None:
    run = boxed.asleep(isolation="docker", code=DEAF)
    cancel(boxed, run)
    began = time.monotonic()
    until(lambda: not boxed.containers(status="running"))
    assert time.monotonic() - began < 30  # 10 s on a machine with nothing else to do: bench.soak
    assert run.wait() == 130, run.err
    assert run.answer["state"] == "cancelled"
    [record] = boxed.records()
    assert record.state == "cancelled"
    assert boxed.stage_of(record, "parity").exit_reason == "cancelled"
    state = boxed.flow_run(record.flow_run_id)["state"]
    assert (state["type"], state["name"]) == ("CANCELLED", "Cancelled")
    assert boxed.is_tidy()
    assert "  split:" in boxed.lock(record)
    assert "  parity:" not in boxed.lock(record)
    boxed.state(parity="")
    stages = boxed.run(isolation="docker")["stages"]
    assert (stages["split"], stages["parity"]) == ("restored", "ran")
    assert report(boxed) == said()


@pytest.mark.parametrize("number", range(4))
def test_at_any_moment_of_its_beginning_a_run_that_is_told_to_stop_is_cancelled(
    toy: Toy, number: int
) -> None:
    """While its worktree is opened, while Prefect begins the flow, while the first stage runs."""
    toy.state(split=SLEEP)
    run = toy.start()
    until(lambda: list(toy.root.glob(".assay/runs/*")) or run.ended.is_set())
    time.sleep(number * random.Random(number).random())  # noqa: S311
    run.signal(signal.SIGTERM)
    assert run.wait() == 130, run.err
    assert toy.is_tidy()
    records = toy.records()
    assert [record.state for record in records] in ([], ["cancelled"])
    for record in records:
        if record.flow_run_id:
            state = toy.flow_run(record.flow_run_id)["state"]
            assert state["type"] in {"CANCELLED", "CRASHED"}

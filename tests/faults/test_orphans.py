"""What a killed run left running is ended, and can do no harm until it is."""

import os
import signal
import time
from dataclasses import replace

import pytest
from killable import Toy, children, report, said, until

from containers.owner import LABEL, Owner

pytestmark = pytest.mark.docker

LATE = """
import signal
signal.signal(signal.SIGUSR1, lambda *_: None)
print("asleep", flush=True)
signal.pause()
"""
"""And then it writes its outputs, as every stage does."""


def test_an_orphan_is_reaped_within_seconds_of_the_crash(boxed: Toy) -> None:
    run = boxed.asleep(isolation="docker")
    [one] = boxed.containers()
    assert Owner.parse(one["Labels"][LABEL]).pid == run.pid
    run.signal(signal.SIGKILL)
    began = time.monotonic()
    until(lambda: not boxed.containers(status="running"))
    assert time.monotonic() - began < 15  # 2 s on a machine with nothing else to do: bench.soak
    until(boxed.is_tidy)


def test_an_orphan_whose_guard_died_too_is_reaped_at_the_next_start(boxed: Toy) -> None:
    run = boxed.asleep(isolation="docker")
    [guard] = children(run.pid, "assay-guard")
    guard.kill()
    run.signal(signal.SIGKILL)
    run.wait()
    assert boxed.containers(status="running")
    boxed.state(parity="")
    assert boxed.run()["stages"]["parity"] == "ran"
    assert boxed.is_tidy()


def test_an_orphan_that_nobody_can_end_does_not_write_over_its_successor(boxed: Toy) -> None:
    """The engine is out of reach of the next start, and the orphan writes when that is done."""
    run = boxed.asleep(isolation="docker", code=LATE)
    [one] = boxed.containers()
    children(run.pid, "assay-guard")[0].kill()
    run.signal(signal.SIGKILL)
    run.wait()
    boxed.state(parity="")
    boxed.run(DOCKER_HOST=f"unix://{boxed.root}/none.sock")
    boxed.client.kill(one["Id"], "SIGUSR1")
    boxed.client.wait(one["Id"])
    assert report(boxed) == said()
    assert boxed.run()["stages"] == dict.fromkeys(
        ("split", "parity", "diagnose", "report"), "restored"
    )
    assert boxed.is_tidy()


def test_after_a_reboot_a_living_process_of_the_same_number_is_no_owner(boxed: Toy) -> None:
    """The number and even the start time may be given again: the boot is not."""
    run = boxed.asleep(isolation="docker")
    children(run.pid, "assay-guard")[0].kill()
    run.signal(signal.SIGKILL)
    run.wait()
    [folder] = boxed.root.glob(".assay/runs/*")
    flow_run = (folder / "flow_run").read_text()
    before = replace(Owner.me(), pid=os.getpid(), boot="an earlier one")
    (folder / "owner").write_text(str(before))
    assert boxed.flow_run(flow_run)["state"]["type"] == "RUNNING"
    boxed.state(parity="")
    boxed.run()
    state = boxed.flow_run(flow_run)["state"]
    assert (state["type"], state["name"]) == ("CRASHED", "Crashed")
    assert "ended without a word" in state["message"]
    assert not list(boxed.root.glob(".assay/debts/*"))
    assert boxed.is_tidy()

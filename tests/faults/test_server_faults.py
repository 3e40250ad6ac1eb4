"""Prefect's server killed, stopped for a while, or its database locked: no run hangs or is lost."""

import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from killable import SLEEP, Toy, children, report, said, until
from toy_run import begin

from bench.rig.toy_mother import Started
from flows import flow_states, server
from lineage import runs

OWN = {"PREFECT_API_URL": ""}  # the workspace's own server, which a test may kill
SLOW = "import time; print('asleep', flush=True); time.sleep(4)"


@pytest.fixture
def served(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> Iterator[Toy]:
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    yield toy
    server.stop(toy.root)


def own(toy: Toy) -> server.Server:
    found = server.status(toy.root)
    assert found is not None
    return found


def begun(toy: Toy, code: str) -> Started:
    return toy.asleep(code=code, **OWN)


def test_a_run_outlives_its_server_or_is_resumed_and_never_hangs(served: Toy) -> None:
    """In turn, on one server, since its start is what takes time here."""
    run = begun(served, SLOW)

    pid = own(served).pid
    os.kill(pid, signal.SIGSTOP)  # away for a while: a restart, a machine that swaps
    time.sleep(2)
    os.kill(pid, signal.SIGCONT)
    assert run.wait() == 0, run.err

    served.state(parity=f"{SLOW}  # again")
    run = begun(served, f"{SLOW}  # again")
    database = served.root / ".assay/prefect/prefect.db"
    with sqlite3.connect(database, timeout=60, isolation_level=None) as locked:
        locked.execute("BEGIN EXCLUSIVE")
        time.sleep(5)
        locked.execute("ROLLBACK")
    locked.close()
    assert run.wait() == 0, run.err

    run = begun(served, f"{SLOW}  # once more")
    os.killpg(os.getpgid(own(served).pid), signal.SIGKILL)
    assert run.wait() == 0, run.err
    assert "Prefect's server is away; it is told by the next run" in run.err
    [record, *_] = served.records()
    flow_run = record.flow_run_id
    served.run(**OWN)
    assert report(served) == said()
    assert own(served).pid != pid
    now = {"PREFECT_API_URL": own(served).api_url}
    state = served.flow_run(flow_run, **now)["state"]
    assert state["type"] == "COMPLETED", state
    assert not list(served.root.glob(".assay/debts/*"))
    assert served.is_tidy()


def test_a_run_that_dies_while_its_server_is_away_is_told_to_it_later(toy: Toy) -> None:
    """Told by files: whoever comes next with a server that answers pays the debt."""
    run = toy.asleep(code=SLEEP)
    [folder] = toy.root.glob(".assay/runs/*")
    flow_run = (folder / "flow_run").read_text()
    children(run.pid, "assay-guard")[0].kill()
    run.signal(signal.SIGKILL)
    run.wait()
    runs.reconcile(toy.root)  # as a start does whose server is away
    assert [path.name for path in toy.root.glob(".assay/debts/*")] == [flow_run]
    assert toy.flow_run(flow_run)["state"]["type"] == "RUNNING"
    toy.state(parity="")
    toy.run()
    assert toy.flow_run(flow_run)["state"]["type"] == "CRASHED"
    assert not list(toy.root.glob(".assay/debts/*"))


def test_a_run_that_died_before_it_knew_its_flow_run_is_found_by_its_name(toy: Toy) -> None:
    run = toy.asleep(code=SLEEP)
    [folder] = toy.root.glob(".assay/runs/*")
    flow_run = (folder / "flow_run").read_text()
    (folder / "flow_run").unlink()
    run.signal(signal.SIGKILL)  # and its guard does the rest
    until(toy.is_tidy)
    until(lambda: toy.flow_run(flow_run)["state"]["type"] == "CRASHED")
    until(lambda: not list(toy.root.glob(".assay/debts/*")))


def test_a_server_that_forgot_a_run_does_not_keep_others_from_starting(toy: Toy) -> None:
    debt = toy.root / ".assay/debts/00000000-0000-0000-0000-000000000000"
    debt.parent.mkdir(parents=True)
    debt.write_text("CRASHED\nIt ended.")
    assert toy.run()["state"] == "done"


def test_a_flow_run_that_is_tried_again_owes_nothing_of_its_first_try(workspace: Path) -> None:
    """Else the server would be told that it died while it runs."""
    known = "00000000-0000-0000-0000-000000000000"
    flow_states.owe(workspace, known, flow_states.End("CRASHED", "Crashed", "It ended."))
    run = begin(workspace)
    assert list(workspace.glob(".assay/debts/*"))
    runs.note_flow_run(run, known)
    assert not list(workspace.glob(".assay/debts/*"))
    runs.close(run, None)


def test_the_listener_of_a_run_takes_silence_for_no_cancel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    monkeypatch.setattr(flow_states, "POLL_S", 0.01)
    cancelled: list[bool] = []
    with flow_states.heard("00000000-0000-0000-0000-000000000000", lambda: cancelled.append(True)):
        time.sleep(0.3)
    assert cancelled == []

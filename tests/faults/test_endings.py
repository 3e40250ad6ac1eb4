"""Each way for a stage to end is told apart: in the record, in Prefect, in the exit status."""

from pathlib import Path

import pytest
from engine_proxy import Proxy
from killable import SLEEP, Toy, until

from containers.engine import addresses

pytestmark = pytest.mark.docker

EAT = "x = b'x' * 2**30"  # these stages have a quarter of a GiB
CHILD = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {EAT!r}]); sys.exit(5)"
QUICK = {
    "containers.docker_logs.ENGINE_GRACE_S": 0.5,
    "flows.investigate.advance.retry_delay_seconds": 0,
}


@pytest.mark.parametrize(
    ("code", "reason", "name", "words"),
    [
        pytest.param(EAT, "out_of_memory", "OutOfMemory", "ran out of memory", id="out of memory"),
        pytest.param(
            CHILD, "out_of_memory", "OutOfMemory", "in a child process", id="a child out of memory"
        ),
        pytest.param(SLEEP, "timed_out", "TimedOut", "time limit", id="out of time"),
        pytest.param("raise ValueError('no')", "failed", "Failed", "ValueError: no", id="failed"),
    ],
)
def test_an_ending_has_one_name_everywhere(
    boxed: Toy, code: str, reason: str, name: str, words: str
) -> None:
    boxed.state(parity=code)
    limit = '{"parity": {"timeout_s": 3}}' if reason == "timed_out" else "{}"
    answer = boxed.run(isolation="docker", status=3, ASSAY_TOY_ROWS=limit)
    assert (answer["state"], answer["reason"]) == ("failed", reason)
    assert words in answer["error"]
    [record] = boxed.records()
    assert boxed.stage_of(record, "parity").exit_reason == reason
    state = boxed.flow_run(record.flow_run_id)["state"]
    assert (state["type"], state["name"]) == ("FAILED", name)
    assert words in state["message"]


# The SDK leaves a socket to the collector when nobody listens at the other end.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_engine_that_goes_away_is_a_reason_of_its_own(boxed: Toy, tmp_path: Path) -> None:
    proxy = Proxy(tmp_path / "p.sock", addresses()[0].removeprefix("unix://"))
    run = boxed.asleep(isolation="docker", DOCKER_HOST=f"unix://{proxy.path}", constants=QUICK)
    proxy.slam()
    assert run.wait() == 3
    assert run.answer["reason"] == "engine_gone"
    [record] = boxed.records()
    assert boxed.stage_of(record, "parity").exit_reason == "engine_gone"
    state = boxed.flow_run(record.flow_run_id)["state"]
    assert (state["type"], state["name"]) == ("FAILED", "EngineGone")
    boxed.state(parity="")
    assert boxed.run(isolation="docker")["stages"]["split"] == "restored"
    until(boxed.is_tidy)

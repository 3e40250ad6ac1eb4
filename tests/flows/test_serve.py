"""`assay serve`: what the UI offers, and that nothing is lost or left over, whoever dies."""

import json
import os
import signal

import pytest

from containers.owner import Owner
from flows.course import Course
from flows.deploy_claims import begun, ended, read, take
from flows.deploy_event import Deploy

pytestmark = pytest.mark.slow

DEPLOY = Deploy(case="toy", model="1", digest="sha256:" + "0" * 64, commit="a" * 40)


def deployment(site) -> dict:
    return site.api("/deployments/name/investigate/toy")


def run_by_hand(site, **params) -> str:
    path = f"/deployments/{deployment(site)['id']}/create_flow_run"
    return site.api(path, {"parameters": params, "state": {"type": "SCHEDULED"}})["id"]


def state(site, flow_run: str) -> dict:
    return site.api(f"/flow_runs/{flow_run}")["state"]


def slow_data(site, seconds: int) -> None:
    """Make the first stage new, and slow, so that a run can be caught under way."""
    code = site.root / "cases/toy/code/toy_data.py"
    head, tail = code.read_text().split("    rng =", 1)
    head = head.partition("    __import__")[0].rstrip() + "\n"
    wait = f"    __import__('time').sleep({seconds})\n" if seconds else ""
    code.write_text(f"{head}{wait}    rng ={tail}")


def owner_of(site, flow_run: str) -> Owner | None:
    note = site.root / f".assay/served/{flow_run}.json"
    return Owner.parse(json.loads(note.read_text())["owner"]) if note.exists() else None


def test_the_ui_offers_each_case_with_typed_parameters_and_help(site):
    found = deployment(site)
    fields = found["parameter_openapi_schema"]["properties"]
    assert fields["isolation"]["enum"] == ["auto", "docker", "process"]
    assert "90s, 10m or 2h" in fields["budget"]["description"]
    assert all(field["description"] for field in fields.values())
    assert found["parameters"] == {"case": "toy"}
    [schedule] = found["schedules"]
    assert schedule["active"]
    assert schedule["schedule"]["cron"] == "0 6 * * 1"
    assert schedule["schedule"]["timezone"] == "Europe/Berlin"


def test_a_run_is_repeated_on_a_schedule_of_its_own_or_by_hand(site):
    found = site.api("/deployments/name/reproduce/toy")
    assert found["parameters"] == {"run": "toy"}
    assert found["schedules"][0]["schedule"]["cron"] == "0 2 * * sun"
    assert found["parameter_openapi_schema"]["properties"]["run"]["description"]
    asked = {"parameters": {"run": "nothing"}, "state": {"type": "SCHEDULED"}}
    flow_run = site.api(f"/deployments/{found['id']}/create_flow_run", asked)["id"]
    site.until(lambda: state(site, flow_run)["type"] == "FAILED", "it fails")
    assert "nothing" in state(site, flow_run)["message"]


def test_a_run_by_hand_ends_as_assay_run_does_and_a_wrong_one_by_its_fault(site):
    good = run_by_hand(site, isolation="process")
    site.until(lambda: state(site, good)["type"] == "COMPLETED", "it ends")
    named = state(site, good)
    record = site.clone.record(named["message"].removeprefix("run ").partition(":")[0])
    assert named["name"] == f"Gate {record['verdict']}"
    assert record["flow_run_id"] == good
    assert record["trigger"] == {"by": "hand", "where": "Prefect"}
    wrong = run_by_hand(site, case="tyo", isolation="process")
    site.until(lambda: state(site, wrong)["type"] == "FAILED", "it fails")
    assert "Did you mean `toy`?" in state(site, wrong)["message"]
    assert site.clone.git("worktree", "list").count("\n") == 1


def test_a_deployment_that_somebody_altered_does_not_say_what_code_runs(site, tmp_path):
    """Who may ask the server can cancel and start runs here, and no more."""
    found = deployment(site)
    canary = tmp_path / "canary"
    touch = {"prefect.deployments.steps.run_shell_script": {"script": f"touch {canary}"}}
    for asked in ({"pull_steps": [touch]}, {"entrypoint": "prefect.flows.Flow", "path": "/"}):
        site.api(f"/deployments/{found['id']}", asked, method="PATCH")
        assert asked.items() <= deployment(site).items()
        flow_run = run_by_hand(site, case="tyo", isolation="process")
        site.until(lambda name=flow_run: state(site, name)["type"] == "FAILED", "it fails")
        assert not canary.exists()
        assert "Did you mean `toy`?" in state(site, flow_run)["message"]  # our own flow said so
        kept = {key: found[key] for key in asked} | {"pull_steps": []}
        site.api(f"/deployments/{found['id']}", kept, method="PATCH")


def test_a_run_that_is_cancelled_in_the_ui_ends_as_cancelled(site):
    slow_data(site, 300)
    flow_run = run_by_hand(site, isolation="process")
    logs = site.root / ".assay/logs"
    before = set(logs.glob("*/data.log*"))
    site.until(lambda: set(logs.glob("*/data.log*")) - before, "its first stage runs")
    body = {"state": {"type": "CANCELLING", "name": "Cancelling"}, "force": False}
    site.api(f"/flow_runs/{flow_run}/set_state", body)
    site.until(lambda: state(site, flow_run)["type"] == "CANCELLED", "it is cancelled")
    site.until(lambda: owner_of(site, flow_run) is None, "nothing of it is left")
    assert site.json("status", status=0)["runs"][0]["state"] == "cancelled"
    slow_data(site, 0)


def test_what_died_with_serve_does_not_stay_running_for_ever(site):
    slow_data(site, 301)
    flow_run = run_by_hand(site, isolation="process")
    logs = site.root / ".assay/logs"
    before = set(logs.glob("*/data.log*"))
    site.until(lambda: set(logs.glob("*/data.log*")) - before, "its first stage runs")
    owner = owner_of(site, flow_run)
    site.end_serving(signal.SIGKILL)
    os.kill(owner.pid, signal.SIGKILL)
    site.serve()
    site.until(lambda: state(site, flow_run)["type"] == "CRASHED", "it is closed")
    assert "without a word" in state(site, flow_run)["message"]
    died = site.json("status", status=0)["runs"][0]
    assert (died["state"], died["trigger"]["by"]) == ("failed", "hand")
    slow_data(site, 0)


def test_one_workspace_is_served_once(site):
    done = site.clone.assay("serve", status=2)
    assert "end that one first" in done.stderr


def test_an_event_has_one_run_until_that_died_without_an_end(tmp_path):
    (tmp_path / ".assay").mkdir()
    claim = take(tmp_path, DEPLOY, "one")
    assert take(tmp_path, DEPLOY, "two") is None
    assert take(tmp_path, DEPLOY, "one") is None  # it is under way
    begun(tmp_path, claim, "a run")
    file = tmp_path / f".assay/deploys/{DEPLOY.id}.json"
    known = json.loads(file.read_text())
    dead = str(Owner.me()).rpartition("|")[0] + "|0"
    file.write_text(json.dumps({**known, "owner": dead}))
    other = take(tmp_path, DEPLOY, "two")
    assert (other.flow_run_id, other.run) == ("two", None)
    ended(tmp_path, begun(tmp_path, other, "another run"))
    file.write_text(json.dumps({**json.loads(file.read_text()), "owner": dead}))
    assert take(tmp_path, DEPLOY, "three") is None
    assert take(tmp_path, DEPLOY, "two") is not None  # a person retried it in the UI
    file.write_text("{")
    assert read(tmp_path, DEPLOY.id) is None


def test_a_release_asks_first_what_the_gate_asks():
    from pathlib import Path

    from flows.case import load_case
    from flows.plan import plan

    rows = plan(load_case(Path(__file__).parents[2], "digits"))
    order = Course(rows, release=True).order
    first = {"contract", "parity", "evaluate", "features", "predict-candidate"}
    last = {"inputs", "alter", "field", "mitigate", "probe", "since"}
    assert max(map(order.index, first)) < min(map(order.index, last))
    assert order[-3:] == ("diagnose", "gate", "report")
    assert sorted(order) == sorted(Course(rows).order)

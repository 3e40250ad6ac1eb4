"""`assay serve`, live: what starts a run, what its gate does to a deploy, and what dies with whom.

One workspace, one server and one `serve` for all of it; the tests stand in the order in which the
toy's stages come to be known, so that most runs restore them.
"""

import json
import os
import signal
import subprocess
import urllib.error
import urllib.request
import uuid
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from containers.owner import Owner
from flows import server_auth
from flows.deploy_event import Deploy
from flows.prefect_api import ApiFailed, call

pytestmark = pytest.mark.slow

STEP = "(the step)"
LOOK = "params: {gate: {look: 2, alpha: 0.3}}\n"
DIGEST = "sha256:" + "0123456789abcdef" * 4
FINAL = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}


def told(model: str, commit: str) -> list[str]:
    return ["deployed", "toy", "--model", model, "--digest", DIGEST, "--commit", commit]


def waited(site, event: str, status: int) -> dict:
    """What a step of CD sees: the exit status, and a small JSON."""
    return site.json("gate", "--wait", "--timeout", "20m", "--event", event, status=status)


def flow_run_of(site, event: str) -> str:
    claim = site.root / f".assay/deploys/{event}.json"
    return json.loads(claim.read_text())["flow_run_id"]


def runs_of(site, event: str) -> list[dict]:
    listed = site.json("status", "--last", "99", status=0)["runs"]
    return [run for run in listed if (run["trigger"] or {}).get("event") == event]


def stages(record: dict) -> dict[str, str]:
    return {one["name"]: one["how"] for one in record["stages"]}


def head(site) -> str:
    return site.clone.git("rev-parse", "HEAD").strip()


def port(site, step: str) -> None:
    """Let the deployed side decode as it should (`decode`), or not (`from_buffer`)."""
    case = site.root / "cases/toy/case.yaml"
    before, part, rest = case.read_text().partition("candidate:")
    rest = rest.replace("toy_steps:decode", STEP).replace("toy_steps:from_buffer", STEP)
    rest = rest.replace(STEP, f"toy_steps:{step}")
    # Another candidate on the same held-out rows is another look at them, which has to be stated.
    rest = rest.replace(LOOK, "") + (LOOK if step == "decode" else "")
    case.write_text(before + part + rest)
    if site.clone.git("status", "--porcelain", "--untracked-files=no"):
        site.clone.git("commit", "-qam", f"The port decodes by {step}")


def start(site, kind: str = "investigate", **params) -> str:
    found = site.api(f"/deployments/name/{kind}/toy")["id"]
    asked = {"parameters": params, "state": {"type": "SCHEDULED"}}
    return site.api(f"/deployments/{found}/create_flow_run", asked)["id"]


def state(site, flow_run: str) -> dict:
    return site.api(f"/flow_runs/{flow_run}")["state"]


def ended(site, flow_run: str) -> dict:
    """Return how a flow run ended, once nothing of it is left."""
    note = site.root / f".assay/served/{flow_run}.json"
    site.until(lambda: state(site, flow_run)["type"] in FINAL and not note.exists(), "it ends")
    return state(site, flow_run)


def events(site, which: dict, number: int) -> list[dict]:
    """Return the events of a kind, once there are so many."""

    def found() -> list[dict]:
        return site.api("/events/filter", {"filter": which})["events"]

    site.until(lambda: len(found()) >= number, f"events: {number}")
    return found()


def asleep(site) -> str:
    """Start a run by hand whose first stage is new and slow; return its flow run once it sleeps."""
    code = site.root / "cases/toy/code/toy_data.py"
    code.write_text(
        code.read_text().replace("    rng =", "    __import__('time').sleep(999)\n    rng =", 1)
    )
    logs = site.root / ".assay/logs"
    before = set(logs.glob("*/data.log*"))
    flow_run = start(site, isolation="process")
    site.until(lambda: set(logs.glob("*/data.log*")) - before, "its first stage runs")
    site.clone.git("checkout", "--", "cases/toy/code/toy_data.py")
    return flow_run


def process_of(site, flow_run: str) -> int:
    note = json.loads((site.root / f".assay/served/{flow_run}.json").read_text())
    owner = Owner.parse(note["owner"])
    assert owner is not None
    return owner.pid


def test_the_ui_offers_each_case_with_typed_parameters_and_help(site):
    found = site.api("/deployments/name/investigate/toy")
    fields = found["parameter_openapi_schema"]["properties"]
    assert fields["isolation"]["enum"] == ["auto", "docker", "process"]
    assert "90s, 10m or 2h" in fields["budget"]["description"]
    assert all(field["description"] for field in fields.values())
    assert found["parameters"] == {"case": "toy"}
    [schedule] = found["schedules"]
    assert schedule["active"]
    assert schedule["schedule"]["cron"] == "0 6 * * 1"
    assert schedule["schedule"]["timezone"] == "Europe/Berlin"
    again = site.api("/deployments/name/reproduce/toy")
    assert again["parameters"] == {"run": "toy"}
    assert again["schedules"][0]["schedule"]["cron"] == "0 2 * * sun"
    assert again["parameter_openapi_schema"]["properties"]["run"]["description"]


def test_who_does_not_know_the_secret_is_turned_away(site, monkeypatch):
    url = site.server["api_url"]
    for given in (None, "assay:guess"):
        known = server_auth.headers(given)
        asked = urllib.request.Request(f"{url}/flows/name/a", headers=known)  # noqa: S310
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(asked)  # noqa: S310
    monkeypatch.setenv("PREFECT_API_URL", url)
    monkeypatch.delenv("PREFECT_API_AUTH_STRING", raising=False)
    with pytest.raises(ApiFailed, match="does not know who asks"):
        call("/events/filter", {"filter": {}})
    monkeypatch.setenv(server_auth.FILE_VARIABLE, site.server["auth_file"])
    assert "events" in call("/events/filter", {"filter": {}})


def answered(url: str, spoken: list[str] | None, words: list[dict]) -> list[str]:
    """Two answers to what is said to a socket."""
    from websockets.sync.client import connect

    with connect(url, subprotocols=spoken, proxy=None) as socket:
        for word in words:
            socket.send(json.dumps(word))
        return [str(socket.recv(timeout=20)) for _ in range(2)]


@pytest.mark.parametrize(
    ("spoken", "first"),
    [
        (None, []),
        (["prefect"], [{"type": "auth", "token": "assay:guess"}]),
        (["prefect"], [{"type": "auth"}]),
        (["prefect"], []),
    ],
    ids=["no word", "a wrong one", "none", "at once"],
)
def test_a_socket_takes_and_tells_no_event_without_it(site, spoken, first):
    from websockets.exceptions import WebSocketException

    digest = "sha256:" + "9" * 64
    deploy = Deploy(case="toy", model="by-socket", digest=digest, commit="9" * 40)
    url = site.server["api_url"].replace("http:", "ws:")
    for way, word in (
        ("in", deploy.body(datetime.now(UTC))),
        ("out", {"type": "filter", "filter": {}}),
    ):
        with pytest.raises(WebSocketException):
            answered(f"{url}/events/{way}", spoken, [*first, word])
    asked = {"filter": {"id": {"id": [deploy.id]}}}
    assert site.api("/events/filter", asked)["events"] == []


def test_one_workspace_is_served_once_and_its_server_stays_where_it_is(site):
    assert "end that one first" in site.clone.assay("serve", status=2).stderr
    done = site.clone.assay("server", "start", "--host", "127.0.0.1", status=2)
    assert "assay server stop" in done.stderr
    assert site.json("server", "start", status=0)["api_url"] == site.server["api_url"]


def test_what_cannot_begin_fails_by_its_fault(site):
    wrong = start(site, case="tyo", isolation="process")
    unknown = start(site, "reproduce", run="nothing")
    body = Deploy(case="toy", model="5.0", digest=DIGEST, commit=head(site)).body(datetime.now(UTC))
    del body["payload"]["digest"]
    site.api("/events", [body | {"id": str(uuid.uuid4())}])
    assert "Did you mean `toy`?" in ended(site, wrong)["message"]
    assert "There is no run yet" in ended(site, unknown)["message"]

    def failed():
        said = [run["state"]["message"] for run in site.flow_runs()]
        return [text for text in said if "deploy event: digest" in (text or "")]

    assert "64 hex digits" in site.until(failed, "the event that lacks a part fails")[0]
    assert site.clone.git("worktree", "list").count("\n") == 1


def test_a_deployment_that_somebody_altered_does_not_say_what_code_runs(site, tmp_path):
    """Who may ask the server can cancel and start runs here, and no more."""
    path = "/deployments/name/investigate/toy"
    found = site.api(path)
    canary = tmp_path / "canary"
    touch = {"prefect.deployments.steps.run_shell_script": {"script": f"touch {canary}"}}
    for asked in ({"pull_steps": [touch]}, {"entrypoint": "prefect.flows.Flow", "path": "/"}):
        site.api(f"/deployments/{found['id']}", asked, method="PATCH")
        assert asked.items() <= site.api(path).items()
        flow_run = start(site, case="tyo", isolation="process")
        site.until(lambda name=flow_run: state(site, name)["type"] == "FAILED", "it fails")
        assert not canary.exists()
        assert "Did you mean `toy`?" in state(site, flow_run)["message"]  # our own flow said so
        kept = {key: found[key] for key in asked} | {"pull_steps": []}
        site.api(f"/deployments/{found['id']}", kept, method="PATCH")


def test_a_deploy_whose_run_failed_is_retried_in_the_ui_and_blocked_by_its_gate(site):
    port(site, "from_buffer")
    site.flag.touch()
    event = site.json(*told("1.0", head(site)), status=0)["event"]
    answer = waited(site, event, status=1)
    assert (answer["verdict"], answer["serves"]) == (None, False)
    flow_run = flow_run_of(site, event)
    assert (ended(site, flow_run)["type"], state(site, flow_run)["name"]) == ("FAILED", "Failed")
    assert "the port has no memory left" in state(site, flow_run)["message"]
    assert any("the run failed" in text and answer["run"] in text for text in site.told)
    before = stages(site.clone.record(answer["run"]))

    site.flag.unlink()
    retry = {"type": "SCHEDULED", "name": "AwaitingRetry", "message": "Retry from the UI"}
    said = site.api(f"/flow_runs/{flow_run}/set_state", {"state": retry, "force": False})
    assert said["status"] == "ACCEPT"
    assert ended(site, flow_run)["name"] == "Gate closed"
    answer = waited(site, event, status=1)
    assert (answer["verdict"], answer["serves"]) == ("closed", False)
    assert answer["trigger"] == {
        "by": "deploy", "event": event, "model": "1.0", "digest": DIGEST, "commit": head(site),
    }  # fmt: skip
    again = stages(site.clone.record(answer["run"]))
    finished = {name for name, how in before.items() if how == "ran"}
    assert {"data", "train", "preprocess-reference"} <= finished
    assert {again[name] for name in finished} == {"restored"}
    assert again["preprocess-candidate"] == "ran"

    # The event back, found by the deploy's id alone; the chat and the command.
    backs = events(site, {"related": {"id": [f"assay.deploy.{event}"]}}, 2)
    assert {back["event"] for back in backs} == {"assay.run.failed", "assay.gate.closed"}
    assert answer["run"] in [back["payload"]["run"] for back in backs]
    assert len(runs_of(site, event)) == 2
    assert any("Gate closed" in text and answer["run"] in text for text in site.told)
    called = (site.root / ".assay/called").read_text().splitlines()
    assert {"failed ", "done closed"} <= set(called)


def test_the_same_event_has_one_run_by_whatever_words_it_is_told(site):
    known = Deploy(case="toy", model="1.0", digest=DIGEST, commit=head(site))
    before = runs_of(site, known.id)
    assert site.json(*told("1.0", head(site)), status=0)["run"] == before[0]["id"]
    site.api("/events", [known.body(datetime.now(UTC)) | {"id": str(uuid.uuid4())}])
    site.until(lambda: "Told before" in [run["state"]["name"] for run in site.flow_runs()], "so")
    assert runs_of(site, known.id) == before


def test_curl_releases_a_step_of_cd_on_an_open_gate(site):
    port(site, "decode")
    page = (Path(__file__).parents[2] / "docs/how-to/deploy.md").read_text()
    script = next(block for block in page.split("```sh\n")[1:] if "/events" in block)
    environment = {
        **site.clone.environment, "ASSAY_API": site.server["api_url"],
        "ASSAY_SERVER_AUTH_FILE": str(site.root / ".assay/prefect/auth"),
        "CASE": "toy", "MODEL": "1.1", "DIGEST": DIGEST, "COMMIT": head(site),
    }  # fmt: skip
    words = ["sh", "-eu", "-c", script.partition("```")[0]]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    deploy = Deploy(case="toy", model="1.1", digest=DIGEST, commit=head(site))
    assert deploy.id in done.stdout
    answer = waited(site, deploy.id, status=0)
    assert (answer["verdict"], answer["serves"]) == ("open", True)


def test_a_pushed_tag_raises_it(site, tmp_path):
    port(site, "decode")
    bare = tmp_path / "central.git"
    subprocess.run(["git", "init", "-q", "--bare", bare], check=True)
    site.clone.assay("deployed", "--install-hook", str(bare), status=0)
    words = ["-m", "To production", "-m", f"digest: {DIGEST}"]
    site.clone.git("tag", "-a", "deploy/toy/2.0", *words)
    said = site.clone.call("git", "push", "-q", str(bare), "deploy/toy/2.0", status=0).stderr
    deploy = Deploy(case="toy", model="2.0", digest=DIGEST, commit=head(site))
    assert f"toy 2.0: event {deploy.id}" in said
    answer = waited(site, deploy.id, status=0)
    assert answer["trigger"]["event"] == deploy.id
    assert set(stages(site.clone.record(answer["run"])).values()) == {"restored"}


def test_a_run_that_is_cancelled_in_the_ui_ends_as_cancelled(site):
    flow_run = asleep(site)
    body = {"state": {"type": "CANCELLING", "name": "Cancelling"}, "force": False}
    site.api(f"/flow_runs/{flow_run}/set_state", body)
    assert ended(site, flow_run)["type"] == "CANCELLED"
    newest = site.json("status", status=0)["runs"][0]
    assert (newest["state"], newest["trigger"]) == ("cancelled", {"by": "hand", "where": "Prefect"})


def test_what_died_with_serve_is_closed_and_what_came_meanwhile_runs(site):
    port(site, "decode")
    flow_run = asleep(site)
    pid = process_of(site, flow_run)
    guards = [one for one in psutil.Process(pid).children() if "assay-guard" in one.cmdline()]
    site.end_serving(signal.SIGKILL)
    guards[0].kill()
    os.kill(pid, signal.SIGKILL)
    assert state(site, flow_run)["type"] == "RUNNING"
    event = site.json(*told("3.0", head(site)), status=0)["event"]
    early = site.json("gate", "--wait", "--timeout", "1s", "--event", event, status=3)
    assert "Does `assay serve` run" in early["error"]
    site.serve()
    assert ended(site, flow_run)["type"] == "CRASHED"
    assert "without a word" in state(site, flow_run)["message"]
    assert waited(site, event, status=0)["trigger"]["model"] == "3.0"
    by_hand = [run for run in site.json("status", status=0)["runs"] if run["state"] == "failed"]
    assert by_hand[0]["trigger"]["by"] == "hand"


def test_a_server_that_dies_under_a_run_hears_of_its_end_when_it_is_back(site):
    port(site, "decode")
    deploy = Deploy(case="toy", model="3.0", digest=DIGEST, commit=head(site))
    before = runs_of(site, deploy.id)
    assert site.json(*told("3.0", head(site)), "--again", status=0)["event"] == deploy.id
    [folder] = site.until(lambda: [*site.root.glob(".assay/runs/*/flow_run")], "it runs")
    flow_run = folder.read_text()
    os.killpg(os.getpgid(site.server["pid"]), signal.SIGKILL)
    away = site.clone.assay(*told("4.0", head(site)), "--json", status=3)
    assert "assay deployed toy --model 4.0" in json.loads(away.stdout)["error"]
    answer = waited(site, deploy.id, status=0)
    assert answer["run"] not in [run["id"] for run in before]
    assert ended(site, flow_run)["name"] == "Gate open"
    [back] = events(site, {"resource": {"id": [f"assay.run.{answer['run']}"]}}, 1)
    assert back["event"] == "assay.gate.open"
    assert not [*site.root.glob(".assay/debts/*"), *site.root.glob(".assay/untold/*")]


def test_no_secret_is_in_a_log_a_tag_a_report_a_record_or_an_argument(site):
    """After runs that failed, ended and were told to the chat, by hand and by events."""
    answer = site.json("run", "toy", "--isolation", "process", status=0)
    secrets = [site.auth, site.auth.partition(":")[2], *site.secrets]
    kept = {site.root / ".assay/prefect/auth", site.root / ".assay/secrets/webhook"}
    found = []
    for path in site.root.parent.rglob("*"):
        if path.is_file() and not path.is_symlink() and path not in kept:
            found += [path for secret in secrets if secret.encode() in path.read_bytes()]
    assert found == []
    assert site.root / ".assay/prefect/prefect.db" in set(site.root.rglob("prefect.db"))
    assert "ASSAY_RUN" in (site.root / ".assay/env").read_text()
    words = ["git", "cat-file", "--batch-all-objects", "--batch", "--buffer"]
    objects = subprocess.run(words, cwd=site.root, capture_output=True, check=True).stdout
    listed = subprocess.run(["ps", "-ewwo", "args"], capture_output=True, text=True, check=True)
    said = [objects.decode(errors="replace"), "\n".join(site.told), str(answer), listed.stdout]
    said += [str(site.flow_runs()), str(site.api("/deployments/filter", {}))]
    said.append(str(site.api("/logs/filter", {"limit": 200})))
    assert [text[:200] for text in said if any(secret in text for secret in secrets)] == []
    assert (site.root / ".assay/prefect/auth").stat().st_mode & 0o077 == 0

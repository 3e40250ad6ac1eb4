"""A deploy event, raised in each of three ways, starts one run; a step of CD waits for its gate."""

import json
import signal
import subprocess
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path

import pytest

from flows.deploy_event import Deploy, NotADeploy

pytestmark = pytest.mark.slow

STEP = "(the step)"
LOOK = "params: {gate: {look: 2, alpha: 0.3}}\n"
DIGEST = "sha256:" + "0123456789abcdef" * 4


def told(model: str, commit: str) -> list[str]:
    return ["deployed", "toy", "--model", model, "--digest", DIGEST, "--commit", commit]


def waited(site, event: str, status: int) -> dict:
    """What a step of CD sees: the exit status, and a small JSON."""
    return site.json("gate", "--wait", "--timeout", "4m", "--event", event, status=status)


def runs_of(site, event: str) -> list[dict]:
    listed = site.json("status", "--last", "99", status=0)["runs"]
    return [run for run in listed if (run["trigger"] or {}).get("event") == event]


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


def test_assay_deployed_blocks_a_step_of_cd_on_a_closed_gate(site):
    port(site, "from_buffer")
    raised = site.json(*told("1.0", head(site)), status=0)
    answer = waited(site, raised["event"], status=1)
    assert (answer["verdict"], answer["serves"]) == ("closed", False)
    assert answer["trigger"] == {
        "by": "deploy", "event": raised["event"], "model": "1.0", "digest": DIGEST,
        "commit": head(site),
    }  # fmt: skip
    assert "[deploy of 1.0]" in site.clone.assay("status", status=0).stdout

    # The event back, found by the deploy's id alone.
    asked = {"filter": {"related": {"id": [f"assay.deploy.{raised['event']}"]}}}
    [back] = site.until(lambda: site.api("/events/filter", asked)["events"], "the event back")
    assert back["event"] == "assay.gate.closed"
    assert back["payload"]["run"] == answer["run"]
    assert any("Gate closed" in text and answer["run"] in text for text in site.told)

    # Once more, by the same words and by another id of the event: one run.
    assert site.json(*told("1.0", head(site)), status=0)["run"] == answer["run"]
    again = Deploy(case="toy", model="1.0", digest=DIGEST, commit=head(site))
    site.api("/events", [again.body(datetime.now(UTC)) | {"id": str(uuid.uuid4())}])
    names = ["Gate closed", "Told before"]
    site.until(lambda: {run["state"]["name"] for run in site.flow_runs()} >= set(names), names)
    assert len(runs_of(site, raised["event"])) == 1


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
    assert any("Gate open" in text for text in site.told)


def test_a_pushed_tag_raises_it_and_what_it_cannot_raise_is_told_to_who_pushed(site, tmp_path):
    port(site, "decode")
    bare = tmp_path / "central.git"
    subprocess.run(["git", "init", "-q", "--bare", bare], check=True)
    site.clone.assay("deployed", "--install-hook", str(bare), status=0)

    def push(tag: str, message: str) -> str:
        site.clone.git("tag", "-a", tag, "-m", message)
        return site.clone.call("git", "push", "-q", str(bare), tag, status=0).stderr

    said = push("deploy/toy/2.0", f"To production\n\ndigest: {DIGEST}")
    deploy = Deploy(case="toy", model="2.0", digest=DIGEST, commit=head(site))
    assert f"toy 2.0: event {deploy.id}" in said
    gto = Deploy(case="toy", model="v2.1", digest=DIGEST, commit=head(site))
    assert gto.id in push("toy#prod#1", f"Assigning\n\nmodel: v2.1\ndigest: {DIGEST}")
    assert push("toy#staging#2", f"model: v2.1\ndigest: {DIGEST}") == ""
    assert "no line 'digest: sha256" in push("deploy/toy/2.2", "no digest")
    assert "names no case" in push("deploy/$(id)/2.2", f"digest: {DIGEST}")
    assert "NOT raised" in push('deploy/toy/2"x', f"digest: {DIGEST}")
    for event in (deploy.id, gto.id):
        assert waited(site, event, status=0)["trigger"]["event"] == event
    subprocess.run(["git", "config", "assay.api", "http://127.0.0.1:1/api"], cwd=bare, check=True)
    said = push("deploy/toy/2.3", f"digest: {DIGEST}")
    assert "NOT raised" in said
    assert f"assay deployed toy --model 2.3 --digest {DIGEST} --commit {head(site)}" in said
    assert site.auth not in said
    assert site.auth.partition(":")[2] not in said


def test_an_event_during_serves_downtime_runs_when_it_is_back(site):
    port(site, "decode")
    site.end_serving(signal.SIGKILL)
    raised = site.json(*told("3.0", head(site)), status=0)
    early = site.json("gate", "--wait", "--timeout", "1s", "--event", raised["event"], status=3)
    assert "Does `assay serve` run" in early["error"]
    site.serve()
    assert waited(site, raised["event"], status=0)["trigger"]["model"] == "3.0"


def test_an_event_without_a_server_is_told_as_not_raised(site, tmp_path):
    words = [sys.executable, "-m", "flows", *told("4.0", head(site)), "--json"]
    away = {**site.clone.environment, "PREFECT_API_URL": "http://127.0.0.1:1/api"}
    done = subprocess.run(
        words, cwd=site.root, env=away, capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    answer = json.loads(done.stdout)
    assert answer["raised"] is False
    assert "assay deployed toy --model 4.0" in answer["error"]
    assert runs_of(site, answer["event"]) == []


def test_an_event_that_lacks_a_part_fails_by_its_name_and_starts_nothing(site):
    body = Deploy(case="toy", model="5.0", digest=DIGEST, commit=head(site)).body(datetime.now(UTC))
    del body["payload"]["digest"]
    site.api("/events", [body | {"id": str(uuid.uuid4())}])

    def failed():
        told = [run["state"]["message"] for run in site.flow_runs()]
        return [text for text in told if "deploy event: digest" in (text or "")]

    assert "64 hex digits" in site.until(failed, "it fails")[0]


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("case", "../etc"), ("model", "1; rm -rf /"), ("model", "{{ flow }}"), ("model", ""),
        ("digest", "sha256:12"), ("commit", "HEAD"), ("commit", None), ("model", "1\n2"),
    ],
)  # fmt: skip
def test_a_part_of_another_form_is_refused_by_its_name(part, value):
    good = {"case": "toy", "model": "1", "digest": DIGEST, "commit": "abcdef0"}
    with pytest.raises(NotADeploy, match=f"deploy event: {part}: expected"):
        Deploy.of(good | {part: value})


def test_the_id_is_what_sha256sum_makes_of_the_four_parts():
    deploy = Deploy(case="toy", model="1", digest="sha256:" + "0" * 64, commit="a" * 40)
    lines = f"{deploy.case}\n{deploy.model}\n{deploy.digest}\n{deploy.commit}\n"
    done = subprocess.run(["sha256sum"], input=lines, capture_output=True, text=True, check=True)
    assert done.stdout[:32] == deploy.id.replace("-", "")

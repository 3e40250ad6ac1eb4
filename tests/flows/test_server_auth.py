"""A server that others can reach asks for a secret, which stands in one file and nowhere else."""

import json
import stat
import subprocess
import urllib.error
import urllib.request
from datetime import UTC, datetime
from pathlib import Path

import pytest

from flows import server, server_auth
from flows.deploy_event import Deploy
from flows.prefect_api import ApiFailed, call

pytestmark = pytest.mark.slow


def test_a_secret_is_drawn_once_into_a_file_for_its_owner_alone(tmp_path):
    drawn = server_auth.make(tmp_path)
    path = server_auth.file_of(tmp_path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert server_auth.make(tmp_path) == drawn
    assert len(drawn) > 40


@pytest.mark.parametrize(
    ("text", "mode", "says"),
    [
        ("assay:c4nary", 0o644, "chmod 600"),
        ("assay:c4nary", 0o620, "chmod 600"),
        ("c4nary", 0o600, "name:password"),
        ("", 0o600, "0 lines"),
        ("assay:c4nary\nx", 0o600, "2 lines"),
    ],
)
def test_beyond_loopback_nothing_starts_without_a_secret(tmp_path, text, mode, says):
    path = server_auth.file_of(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text(text)
    path.chmod(mode)
    with pytest.raises(server_auth.AuthRefused, match=says) as refused:
        server.start(tmp_path, print, "0.0.0.0")  # noqa: S104
    assert "c4nary" not in str(refused.value)
    assert server.status(tmp_path) is None


def test_who_does_not_know_it_is_turned_away(site, monkeypatch):
    url = site.server["api_url"]
    for given in (None, "assay:guess"):
        asked = urllib.request.Request(f"{url}/flows/name/a", headers=server_auth.headers(given))  # noqa: S310
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


def test_another_address_is_not_taken_while_it_runs(site):
    done = site.clone.assay("server", "start", "--host", "127.0.0.1", status=2)
    assert "assay server stop" in done.stderr
    assert site.json("server", "start", status=0)["api_url"] == site.server["api_url"]


def test_no_secret_is_in_a_log_a_tag_a_report_a_record_or_an_argument(site):
    """After runs that failed, ended and were told to the chat, by hand and by events."""
    answer = site.json("run", "toy", "--isolation", "process")
    assert site.told
    secrets = [site.auth, site.auth.partition(":")[2], site.canary]
    kept = {site.root / ".assay/prefect/auth", site.root / ".assay/secrets/webhook"}
    found = []
    for folder in (site.root, site.root.parent):
        for path in folder.rglob("*"):
            if path.is_file() and not path.is_symlink() and path not in kept:
                found += [path for secret in secrets if secret.encode() in path.read_bytes()]
    assert found == []
    words = ["git", "cat-file", "--batch-all-objects", "--batch", "--buffer"]
    objects = subprocess.run(words, cwd=site.root, capture_output=True, check=True).stdout
    said = [
        objects.decode(errors="replace"),
        site.said.read_text(errors="replace"),
        "\n".join(site.told),
        str(answer),
    ]
    listed = subprocess.run(["ps", "-ewwo", "args"], capture_output=True, text=True, check=True)
    said.append(listed.stdout)
    said += [str(site.flow_runs()), str(site.api("/deployments/filter", {}))]
    said.append(str(site.api("/logs/filter", {"limit": 200})))
    assert [text[:200] for text in said if any(secret in text for secret in secrets)] == []
    assert (site.root / ".assay/prefect/auth").stat().st_mode & 0o077 == 0
    assert Path(site.server["log"]).is_file()

"""How a run ended is told to a webhook or a command; what cannot be told ends nothing."""

import json
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

from flows import notify, run_end
from flows.case_triggers import Notify
from lineage.provenance import RunRecord

CANARY = "T0K3N-canary"
HOOK = ".assay/hook"


@dataclass
class Receiver:
    """A chat's webhook: what it is to answer, and what it was told."""

    answers: list[int] = field(default_factory=list)
    bodies: list[dict] = field(default_factory=list)
    url: str = ""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    known = Receiver()

    class Webhook(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            known.bodies.append(json.loads(body))
            self.send_response(known.answers.pop(0) if known.answers else 200)
            self.end_headers()

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Webhook) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        known.url = f"http://127.0.0.1:{web.server_port}/services/{CANARY}"
        yield known
        web.shutdown()


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(notify, "WAIT_S", 0.01)
    monkeypatch.setattr(notify, "TIMEOUT_S", 2.0)


def case_of(root: Path, **asked):
    (root / ".assay").mkdir(exist_ok=True)
    if "webhook" in asked:
        (root / HOOK).write_text(asked["webhook"] + "\n")
        (root / HOOK).chmod(0o600)
        asked["webhook"] = HOOK
    if "command" in asked:
        (root / notify.ALLOWED).write_text(json.dumps(asked["command"]) + "\n")
    case = SimpleNamespace(notify=Notify(**asked) if asked else None)
    return SimpleNamespace(name="toy", case=case, workspace=root)


def record(**other) -> RunRecord:
    known = {
        "id": "20261130T160100-toy-ab12", "case": "toy", "state": "failed", "sentence": "It broke.",
        "commit": "c", "parent": "p", "isolation": "process", "started": "s", "ended": "e",
        "error": "<script> & `rm -rf $HOME`",
    }  # fmt: skip
    return RunRecord(**(known | other))


def told(root: Path, loaded, ended=None) -> str:
    said: list[str] = []
    notify.tell(root, loaded, ended or record(), said.append)
    return "\n".join(said)


def test_a_webhook_gets_what_slack_takes(tmp_path, receiver):
    assert "was told: failed" in told(tmp_path, case_of(tmp_path, webhook=receiver.url))
    [body] = receiver.bodies
    assert set(body) == {"text"}
    assert body["text"].startswith("*toy*: the run failed (run 20261130T160100-toy-ab12)")
    assert "&lt;script&gt; &amp; `rm" in body["text"]


def test_one_that_is_busy_is_asked_again_and_one_that_refuses_is_not(tmp_path, receiver):
    receiver.answers = [503, 429]
    assert "was told" in told(tmp_path, case_of(tmp_path, webhook=receiver.url))
    assert len(receiver.bodies) == 3
    receiver.answers = [404]
    assert "answered 404 (attempts: 1)" in told(tmp_path, case_of(tmp_path, webhook=receiver.url))


def test_what_cannot_be_told_is_said_without_the_address(tmp_path, receiver):
    receiver.answers = [500] * 3
    said = told(tmp_path, case_of(tmp_path, webhook=receiver.url))
    assert "the webhook was not told of this run (failed): it answered 500 (attempts: 3)" in said
    for address in ("http://127.0.0.1:1/x", "http://[bad", "ftp://example.org/x", "nothing"):
        said += told(tmp_path, case_of(tmp_path, webhook=f"{address}?{CANARY}"))
    (tmp_path / HOOK).chmod(0o644)
    loaded = SimpleNamespace(case=SimpleNamespace(notify=Notify(webhook=HOOK)), name="toy")
    loaded.workspace = tmp_path
    said += told(tmp_path, loaded)
    assert said.count("was not told") == 6
    assert "chmod 600" in said
    assert CANARY not in said


def test_a_receiver_that_never_answers_is_left(tmp_path, monkeypatch):
    import socket

    monkeypatch.setattr(notify, "TIMEOUT_S", 0.2)
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/{CANARY}"
        said = told(tmp_path, case_of(tmp_path, webhook=url))
    assert "was not told" in said
    assert "(attempts: 3)" in said


def test_only_what_the_case_wants_is_told(tmp_path, receiver):
    loaded = case_of(tmp_path, webhook=receiver.url, on=["closed"])
    assert told(tmp_path, loaded) == ""
    assert told(tmp_path, loaded, record(state="cancelled")) == ""
    assert receiver.bodies == []
    assert Notify(webhook="x").on == ["closed", "abstained", "failed"]


def test_a_command_gets_the_text_and_names_that_are_only_data(tmp_path, monkeypatch):
    monkeypatch.setenv("PREFECT_API_AUTH_STRING", CANARY)
    words = ["sh", "-c", 'cat > told; env > env; echo "$ASSAY_RUN" > run']
    odd = "x'; touch hacked; $(touch hacked) `touch hacked`"
    loaded = case_of(tmp_path, command=words)
    assert "the command was told" in told(tmp_path, loaded, record(id=odd))
    assert "rm -rf $HOME" in (tmp_path / "told").read_text()
    assert (tmp_path / "run").read_text().strip() == odd
    assert not (tmp_path / "hacked").exists()
    assert CANARY not in (tmp_path / "env").read_text()


def test_a_command_that_this_machine_does_not_allow_is_not_called(tmp_path):
    """A case.yaml may be somebody else's, and a command runs here, in no container."""
    words = ["sh", "-c", "echo 'a\nb' > told"]
    loaded = case_of(tmp_path, command=words)
    (tmp_path / notify.ALLOWED).write_text(json.dumps(["sh", "-c"]) + "\n")
    said = told(tmp_path, loaded)
    assert "was not told" in said
    assert not (tmp_path / "told").exists()
    allow = said.partition("what it does: ")[2]
    subprocess.run(["sh", "-c", allow], cwd=tmp_path, check=True)
    assert "the command was told" in told(tmp_path, loaded)
    assert (tmp_path / "told").exists()


def test_an_address_that_came_with_the_case_is_not_told_anything(tmp_path, receiver):
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases/hook").write_text(receiver.url)
    (tmp_path / "cases/hook").chmod(0o600)
    (tmp_path / "link").symlink_to("cases/hook")
    for place in ("cases/hook", ".assay/../cases/hook", "link"):
        loaded = case_of(tmp_path)
        loaded.case.notify = Notify(webhook=place)
        assert "move it to .assay/secrets/" in told(tmp_path, loaded)
    assert receiver.bodies == []


def test_a_repetition_in_a_clean_clone_tells_nobody(tmp_path):
    loaded, said = case_of(tmp_path, command=["touch", str(tmp_path / "told")]), []
    run_end.tell(tmp_path / ".assay/reproduce/x/tree", loaded, record(), said.append)
    assert said == []
    assert not (tmp_path / "told").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["sh", "-c", "exit 7"], "it ended with status 7"),
        (["/no/such/program"], "it cannot be started: No such file"),
        (["sleep", "60"], "it did not end in 0 s"),
    ],
)
def test_a_command_that_fails_is_told(tmp_path, monkeypatch, words, says):
    monkeypatch.setattr(notify, "TIMEOUT_S", 0.4)
    assert says in told(tmp_path, case_of(tmp_path, command=words))

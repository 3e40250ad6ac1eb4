"""One served workspace for all tests of triggers, with a server that asks for its secret."""

import base64
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "e2e"))

from clone import Clone, make_clone

from containers.owner import Owner

DEADLINE_S = 900.0  # on a machine with much else to do
CANARY = "c4nary-webhook-address"
SECRETS = {"PREFECT_API_KEY": "c4nary-api-key", "DEPLOY_TOKEN": "c4nary-deploy-token"}
"""What stands in the environment of all that is started here."""

HELD = """
def from_buffer(raw):
    if __import__("os").path.exists({flag!r}):
        raise RuntimeError("the port has no memory left")
"""
"""The deployed side's step fails as long as a file is there: a fault of the world, not of code."""

COMMAND = ["sh", "-c", 'echo "$ASSAY_STATE $ASSAY_VERDICT" >> .assay/called; env >> .assay/env']
TRIGGERS = f"""
schedule: {{cron: "0 6 * * 1", timezone: Europe/Berlin}}
reproduce: {{cron: "0 2 * * sun"}}
release: {{isolation: process}}
notify:
  webhook: .assay/secrets/webhook
  command: {json.dumps(COMMAND)}
  on: [open, closed, failed]
"""


@dataclass
class Site:
    """A workspace with its own server, open to others, and an `assay serve`."""

    clone: Clone
    told: list[str]  # what the chat was told
    server: dict = field(default_factory=dict)
    serving: subprocess.Popen | None = None
    said: Path = Path()
    secrets: tuple[str, ...] = (CANARY, *SECRETS.values())  # the chat's address, and the rest

    @property
    def root(self) -> Path:
        return self.clone.root

    @property
    def flag(self) -> Path:
        """While this file is there, the deployed side of the toy fails."""
        return self.root.parent / "hold"

    @property
    def auth(self) -> str:
        return (self.root / ".assay/prefect/auth").read_text().strip()

    def json(self, *words: str, status: int | None = None) -> dict:
        return json.loads(self.clone.assay(*words, "--json", status=status).stdout)

    def api(self, path: str, body: object = None, method: str | None = None) -> object:
        known = base64.b64encode(self.auth.encode()).decode()
        headers = {"Authorization": f"Basic {known}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        url = self.server["api_url"] + path
        asked = urllib.request.Request(url, data=data, headers=headers, method=method)  # noqa: S310
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(asked, timeout=30) as answer:  # noqa: S310
                    return json.loads(answer.read() or b"null")
            except OSError as error:  # its database is busy, or it is about to come back
                if getattr(error, "code", 503) != 503:
                    raise
                time.sleep(0.5)
        raise AssertionError(path)

    def flow_runs(self) -> list[dict]:
        return self.api("/flow_runs/filter", {"sort": "EXPECTED_START_TIME_DESC"})

    def serve(self) -> None:
        self.said = self.root.parent / "serve.log"
        words = [sys.executable, "-m", "flows", "serve", "--limit", "2"]
        before = self.said.read_text().count("Prefect's UI") if self.said.exists() else 0
        with self.said.open("ab") as log:
            self.serving = subprocess.Popen(
                words, cwd=self.root, env=self.clone.environment, stdout=log, stderr=log
            )
        self.until(lambda: self.said.read_text().count("Prefect's UI") > before, "it serves")

    def end_serving(self, how: int = signal.SIGTERM) -> None:
        if self.serving is not None:
            self.serving.send_signal(how)
            self.serving.wait(timeout=60)
            self.serving = None

    def reap(self) -> None:
        """End what goes on without `serve`, so that nothing outlives the tests."""
        for note in (self.root / ".assay/served").glob("*.json"):
            owner = Owner.parse(json.loads(note.read_text())["owner"])
            if owner is not None and not owner.is_dead():
                os.killpg(owner.pid, signal.SIGKILL)

    def until(self, holds: Callable[[], object], what: str) -> object:
        deadline = time.monotonic() + DEADLINE_S
        while not (found := holds()):
            log = self.said.read_text()[-3000:] if self.said.is_file() else ""
            assert time.monotonic() < deadline, f"not in {DEADLINE_S:.0f} s: {what}\n{log}"
            assert self.serving is None or self.serving.poll() is None, log
            time.sleep(0.2)
        return found


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    root = tmp_path_factory.mktemp("site") / "workspace"
    root.mkdir()
    clone = make_clone(root, "")
    del clone.environment["PREFECT_API_URL"]  # it has a server of its own
    clone.environment.update(SECRETS)
    clone.edit(
        "cases/toy/code/toy_steps.py",
        "\ndef from_buffer(raw):\n",
        HELD.format(flag=str(root.parent / "hold")),
    )
    told: list[str] = []

    class Chat(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            told.append(json.loads(body)["text"])
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Chat) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        secrets = root / ".assay/secrets"
        secrets.mkdir(parents=True)
        (secrets / "webhook").write_text(f"http://127.0.0.1:{web.server_port}/{CANARY}\n")
        (root / ".assay/allowed_commands").write_text(json.dumps(COMMAND) + "\n")
        os.chmod(secrets / "webhook", 0o600)  # noqa: PTH101  as a person would
        case = root / "cases/toy/case.yaml"
        case.write_text(case.read_text() + TRIGGERS)
        clone.git("commit", "-qam", "It is examined by itself")
        made = Site(clone, told)
        try:
            for _ in range(3):  # a busy machine: the same command waits on
                made.server = made.json("server", "start", "--host", "0.0.0.0")  # noqa: S104
                if made.server.get("answers"):
                    break
            made.serve()
            yield made
        finally:
            made.end_serving()
            made.reap()
            clone.assay("server", "stop")
            web.shutdown()

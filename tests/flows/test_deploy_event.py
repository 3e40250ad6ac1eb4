"""A deploy event: what is one, its id, and the hook that raises it for a pushed tag."""

import base64
import json
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from flows.commands import deployed
from flows.deploy_event import Deploy, NotADeploy

DIGEST = "sha256:" + "0123456789abcdef" * 4
AUTH = "assay:c4nary\\word"


@dataclass
class Pushed:
    """A repository that tags are pushed to, and the server that its hook tells."""

    here: Path
    bare: Path
    events: list[dict] = field(default_factory=list)
    known: list[str] = field(default_factory=list)  # who asked

    def push(self, tag: str, message: str) -> str:
        self.git("tag", "-a", tag, "-m", message)
        return self.git("push", "-q", str(self.bare), tag)

    def git(self, *words: str, where: Path | None = None) -> str:
        names = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        done = subprocess.run(
            ["git", *names, *words], cwd=where or self.here, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        return done.stderr + done.stdout

    def deploy(self, case: str, model: str) -> Deploy:
        commit = self.git("rev-parse", "HEAD").strip()
        return Deploy(case=case, model=model, digest=DIGEST, commit=commit)


@pytest.fixture
def pushed(tmp_path: Path) -> Iterator[Pushed]:
    """With the hook that `assay deployed --install-hook` installs."""
    made = Pushed(tmp_path / "here", tmp_path / "central.git")

    class Server(BaseHTTPRequestHandler):
        def do_POST(self):
            made.known.append(self.headers.get("Authorization", ""))
            made.events += json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *args):
            pass

    made.here.mkdir()
    made.git("init", "-q", "-b", "main")
    made.git("commit", "-q", "--allow-empty", "-m", "A model")
    made.git("init", "-q", "--bare", str(made.bare))
    (tmp_path / "auth").write_text(f"{AUTH}\n")
    _, _, status = deployed.install_hook(str(made.bare))
    assert status == 0
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{web.server_port}/api"
        made.git("config", "assay.api", url, where=made.bare)
        made.git("config", "assay.authFile", str(tmp_path / "auth"), where=made.bare)
        yield made
        web.shutdown()


def test_a_pushed_tag_raises_the_event_that_assay_deployed_would(pushed):
    deploy = pushed.deploy("toy", "2.0")
    said = pushed.push("deploy/toy/2.0", f"To production\n\ndigest: {DIGEST}")
    assert f"toy 2.0: event {deploy.id}. Its answer: assay gate --wait --event {deploy.id}" in said
    [event] = pushed.events
    assert {**event, "occurred": ""} == {**deploy.body(datetime.now(UTC)), "occurred": ""}
    kind, _, told = pushed.known[0].partition(" ")
    assert (kind, base64.b64decode(told).decode()) == ("Basic", AUTH)


def test_a_tag_of_gto_raises_it_for_one_stage(pushed):
    message = f"Assigning\n\nmodel: v2.1\ndigest: {DIGEST}"
    assert pushed.deploy("toy", "v2.1").id in pushed.push("toy#prod#1", message)
    assert "assay:" not in pushed.push("toy#staging#2", message)
    pushed.git("config", "assay.stage", "staging", where=pushed.bare)
    assert pushed.deploy("toy", "v2.1").id in pushed.push("toy#staging#3", message)
    assert len(pushed.events) == 2


def test_what_a_tag_cannot_raise_is_told_to_who_pushed(pushed):
    assert "no line 'digest: sha256" in pushed.push("deploy/toy/2.2", "no digest")
    assert "names no case" in pushed.push("deploy/$(id)/2.2", f"digest: {DIGEST}")
    assert "NOT raised" in pushed.push('deploy/toy/2"x', f"digest: {DIGEST}")
    assert pushed.events == []
    pushed.git("push", "-q", str(pushed.bare), ":refs/tags/deploy/toy/2.2")  # one that is removed
    pushed.git("config", "assay.api", "http://127.0.0.1:1/api", where=pushed.bare)
    said = pushed.push("deploy/toy/2.3", f"digest: {DIGEST}")
    commit = pushed.deploy("toy", "2.3").commit
    assert "NOT raised" in said
    assert f"assay deployed toy --model 2.3 --digest {DIGEST} --commit {commit}" in said
    assert "c4nary" not in said


def test_the_hook_of_somebody_else_stays(pushed):
    hook = pushed.bare / "hooks/post-receive"
    hook.write_text("#!/bin/sh\n")
    with pytest.raises(deployed.HookRefused, match=r"Call .*post-receive from it, with its stdin"):
        deployed.install_hook(str(pushed.bare))
    with pytest.raises(deployed.HookRefused, match="is no git repository"):
        deployed.install_hook(str(pushed.here.parent))


def test_no_name_is_not_the_repository_that_one_stands_in(pushed, monkeypatch):
    monkeypatch.chdir(pushed.here)
    for name in ("", " "):
        with pytest.raises(deployed.HookRefused, match="Which repository") as refused:
            deployed.install_hook(name)
        assert refused.value.exit_status == 2
    assert not (pushed.here / ".git/hooks/post-receive").exists()


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

"""The workspace's Prefect server: one for all runs, never mistaken for another program."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import pytest

from flows import prefect_api, server, server_auth
from flows.server_auth import AuthRefused

# Stands in for `python -m prefect server start`, and answers at once.
STAND_IN = """
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Health(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"true")

HTTPServer(("127.0.0.1", int(sys.argv[-1])), Health).serve_forever()
"""


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    folder = tmp_path / "a workspace"
    home = folder / ".assay" / "prefect"
    home.mkdir(parents=True)
    # The server is started with its home as the working directory, so this module comes first.
    (home / "prefect.py").write_text(STAND_IN, encoding="utf-8")
    yield folder
    server.stop(folder)


def record(workspace: Path) -> Path:
    return workspace / ".assay" / "prefect" / "server.json"


@contextmanager
def answering(body: bytes):
    class Health(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Health) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{web.server_port}/api"
        web.shutdown()


def test_a_second_run_finds_the_server_that_the_first_one_started(workspace):
    said = []
    first = server.ensure(workspace, said.append)
    assert server.ensure(workspace, said.append) == first
    assert len(said) == 1


def test_it_outlives_the_command_that_started_it(workspace):
    code = (
        "import sys; from pathlib import Path; from flows import server; "
        "print(server.ensure(Path(sys.argv[1]), lambda line: None))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, workspace], capture_output=True, text=True, check=True
    )
    now = server.status(workspace)
    assert (now.api_url, now.answers) == (done.stdout.strip(), True)
    assert os.getsid(now.pid) != os.getsid(0)


def test_two_runs_at_once_start_one(workspace):
    found, said = [], []
    runs = [
        threading.Thread(target=lambda: found.append(server.ensure(workspace, said.append)))
        for _ in range(2)
    ]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert len(found) == 2
    assert len(set(found)) == 1
    assert sum("starting the workspace's" in line and "another" not in line for line in said) == 1


def test_stop_ends_it_once(workspace):
    server.ensure(workspace, lambda line: None)
    assert server.stop(workspace)
    assert not server.stop(workspace)
    assert server.status(workspace) is None


def test_one_that_was_stopped_comes_back_where_it_listened_with_a_new_secret(workspace):
    first = server.start(workspace, print, "0.0.0.0")  # noqa: S104
    old = server_auth.make(workspace)
    assert server.stop(workspace)
    server_auth.file_of(workspace).unlink()
    again = server.start(workspace, print)
    assert (again.api_url, again.auth_file) == (first.api_url, first.auth_file)
    assert Path(again.auth_file).read_text().strip() not in ("", old)


def test_one_that_runs_is_not_told_to_be_at_another_port(workspace):
    first = server.start(workspace, print)
    port = int(first.api_url.rpartition(":")[2].removesuffix("/api"))
    assert server.start(workspace, print, port=port) == first
    other = port + 1 if port < 65535 else port - 1
    for host in (None, "127.0.0.1"):
        with pytest.raises(server.ServerError, match=f"runs at .*{port}.* assay server stop") as no:
            server.start(workspace, print, host, other)
        assert no.value.exit_status == 2
    assert server.status(workspace) == first


def test_one_that_died_comes_back_at_its_address_or_where_that_is_taken_at_another(workspace):
    first = server.ensure(workspace, lambda line: None)
    port = int(first.rpartition(":")[2].removesuffix("/api"))
    for taken in (False, True):
        pid = server.status(workspace).pid
        os.kill(pid, 9)
        deadline = time.monotonic() + 30
        while server.status(workspace) is not None:
            assert time.monotonic() < deadline
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if taken:
                other.bind(("127.0.0.1", port))
                other.listen()
            again = server.ensure(workspace, lambda line: None)
        assert (again == first) is not taken


def test_another_program_that_got_the_pid_is_left_alone(workspace):
    server.ensure(workspace, lambda line: None)
    server.stop(workspace)
    with subprocess.Popen(["sleep", "60"]) as stranger:
        stale = {"pid": stranger.pid, "started": "yesterday/1", "api_url": "http://127.0.0.1:1/api"}
        record(workspace).write_text(json.dumps(stale), encoding="utf-8")
        assert server.status(workspace) is None
        assert not server.stop(workspace)
        assert stranger.poll() is None
        stranger.kill()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": 1}'], ids=repr)
def test_a_pid_file_that_was_cut_short_is_as_good_as_none(workspace, content):
    record(workspace).write_text(content, encoding="utf-8")
    assert server.status(workspace) is None
    assert server.ensure(workspace, lambda line: None)


def test_a_server_that_ends_while_it_starts_is_an_error_with_its_last_words(workspace):
    (record(workspace).parent / "prefect.py").write_text("raise SystemExit('no room left')")
    with pytest.raises(server.ServerError, match=r"server\.log; the last line: no room left"):
        server.ensure(workspace, lambda line: None)
    assert server.status(workspace) is None


def test_a_server_that_is_given_is_used(workspace, monkeypatch):
    with answering(b"true") as url:
        monkeypatch.setenv("PREFECT_API_URL", url)
        assert server.ensure(workspace, lambda line: None) == url
        assert server.status(workspace).pid is None
    assert not record(workspace).exists()


def test_a_given_address_that_does_not_answer_is_named(workspace, monkeypatch):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/api"
    monkeypatch.setenv("PREFECT_API_URL", url)
    with pytest.raises(server.ServerError, match=f"{url}.*unset PREFECT_API_URL"):
        server.ensure(workspace, lambda line: None)


def test_a_password_in_an_address_is_refused_and_never_shown(workspace, monkeypatch):
    with answering(b"true") as url:
        given = url.replace("://", "://me:canary@word@")
        monkeypatch.setenv("PREFECT_API_URL", given)
        for ask in (lambda: server.ensure(workspace, print), lambda: prefect_api.call("/health")):
            with pytest.raises(AuthRefused, match=r"http://\*\*\*@127.*AUTH_STRING") as told:
                ask()
            assert "canary" not in str(told.value)
            assert "word@" not in str(told.value)
        now = server.status(workspace)
    assert not now.answers
    assert now.api_url == url.replace("://", "://***@")


def test_a_web_page_at_that_address_is_no_prefect_server(workspace, monkeypatch):
    with answering(b"<html>hello</html>") as url:
        monkeypatch.setenv("PREFECT_API_URL", url)
        with pytest.raises(server.ServerError, match="no Prefect server answers"):
            server.ensure(workspace, lambda line: None)


def test_the_callers_own_database_is_not_touched(workspace, monkeypatch):
    monkeypatch.setenv("PREFECT_API_DATABASE_CONNECTION_URL", "sqlite:////somewhere/else.db")
    environment = "import os\nopen('seen', 'w').write('\\n'.join(os.environ))\n"
    (record(workspace).parent / "prefect.py").write_text(environment + STAND_IN)
    server.ensure(workspace, lambda line: None)
    seen = (record(workspace).parent / "seen").read_text().splitlines()
    assert "PREFECT_API_DATABASE_CONNECTION_URL" not in seen
    assert {"PREFECT_HOME", "PREFECT_SERVER_ANALYTICS_ENABLED", "DO_NOT_TRACK"} <= set(seen)


def test_a_networks_proxy_is_not_asked_for_this_machine(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "intranet")
    monkeypatch.delenv("no_proxy", raising=False)
    assert (
        server.environment("http://127.0.0.1:1/api")["no_proxy"] == "intranet,127.0.0.1,localhost"
    )
    assert "no_proxy" not in server.environment("https://prefect.example/api")


def test_importing_it_does_not_import_prefect():
    code = "import flows.server, sys; raise SystemExit('prefect' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_prefect_itself_comes_up_keeps_its_files_inside_and_ends(tmp_path, monkeypatch):
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    url = server.ensure(tmp_path, print)
    try:
        assert server.status(tmp_path).answers
        assert (tmp_path / ".assay" / "prefect" / "prefect.db").exists()
        home = server.environment(url, tmp_path)["PREFECT_HOME"]
        assert home == str(tmp_path / ".assay" / "prefect")
        # The page in a browser asks the server that it came from, whose port is any.
        told = build_opener(ProxyHandler({})).open(f"{url.removesuffix('/api')}/ui-settings")
        assert json.loads(told.read())["api_url"] == "/api"
    finally:
        assert server.stop(tmp_path)

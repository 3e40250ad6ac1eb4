"""The Prefect server of a workspace: found, or started once and left up for later runs."""

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from flows import server_auth

START_LIMIT_S = 180.0
"""A busy two-core machine needs 20-40 s the first time: the database is created then."""

STOP_LIMIT_S = 15.0
PROGRESS_S = 5.0

LOOPBACK = "127.0.0.1"
LOOPBACKS = (LOOPBACK, "localhost", "::1")
EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104  told apart, not bound

# Detached by way of a shell that ends at once: the server is then nobody's child, so it outlives
# the command that started it and leaves no zombie. Its number comes back on stdout.
LAUNCH = '"$@" >>"$0" 2>&1 </dev/null & echo $!'

NO_TELEMETRY = {
    "DO_NOT_TRACK": "1",
    "PREFECT_CLOUD_ENABLE_ORCHESTRATION_TELEMETRY": "false",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_TELEMETRY_ENABLE_RESOURCE_METRICS": "false",
}


class ServerError(Exception):
    """No server answers; the message says which was asked and what to do next."""

    exit_status = 2


class ServerLost(Exception):  # noqa: N818  reads as the fact that it is
    """The server stopped answering, or refused, while a run was under way."""

    exit_status = 3

    def __init__(self) -> None:
        super().__init__(
            "Prefect's server stopped answering. What was finished is kept: the same command "
            "starts the server anew and goes on."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server and whether it answers."""

    api_url: str
    answers: bool
    pid: int | None  # None: not this workspace's own, so not ours to stop
    log: str | None
    auth_file: str | None = None  # where its secret stands; None: who reaches it may ask it

    @property
    def ui_url(self) -> str:
        """Where a person looks at the runs."""
        return self.api_url.removesuffix("/api")


@dataclass(frozen=True, slots=True)
class _Record:
    """What the pid file holds: a pid alone may have been given to another program since."""

    pid: int
    started: str
    api_url: str
    host: str = LOOPBACK


def ensure(workspace: Path, on_line: Callable[[str], None]) -> str:
    """Return the API of a server that answers, starting the workspace's own where none does.

    Raises:
        ServerError: PREFECT_API_URL names a server that does not answer, or ours did not come up.
        AuthRefused: it holds a password.
    """
    given = os.environ.get("PREFECT_API_URL")
    if given:
        server_auth.refuse_user(given)
        if not _answers(given, timeout_s=10.0):
            raise ServerError(
                f"PREFECT_API_URL is {given}, and no Prefect server answers there. Start it, "
                "or unset PREFECT_API_URL to use this workspace's own."
            )
        return given
    record = _running(workspace)
    if record and _answers(record.api_url):
        return record.api_url
    return start(workspace, on_line).api_url


def answers() -> bool:
    """Tell whether the server of this process's run still answers."""
    return _answers(os.environ["PREFECT_API_URL"])


def start(
    workspace: Path,
    on_line: Callable[[str], None],
    host: str | None = None,
    port: int | None = None,
) -> Server:
    """Start the workspace's own server, or wait for the one that is starting; then it stays up.

    Args:
        workspace: whose.
        on_line: is told the progress.
        host: the address to listen at; None: where it listened before, else loopback.
        port: None: the one that it had before, else a free one.

    Raises:
        ServerError: it did not come up, or one runs at another address.
        AuthRefused: others may ask it, and its secret cannot be used.
    """
    home = _home(workspace)
    home.mkdir(parents=True, exist_ok=True)
    with _alone(home, on_line):
        record = _running(workspace)
        if record and (host or record.host, port or _port(record)) != (record.host, _port(record)):
            raise ServerError(
                f"It runs at {record.host}, {record.api_url}. To move it, first: assay server stop"
            )
        if record is None:
            before = _read(home)
            host = host or (before.host if before else LOOPBACK)
            # Whoever knew the address finds it there again, unless somebody took it.
            earlier = _port(before) if before and before.host == host else 0
            record = _launch(workspace, host, (port,) if port else (earlier, 0))
            _write(home, record)
            on_line(f"starting the workspace's Prefect server, which stays up: {record.api_url}")
        _wait(record, home / "server.log", on_line)
    return _as_server(home, record, answers=True)


def status(workspace: Path) -> Server | None:
    """Tell which server a run would use now; None when one would have to be started."""
    given = server_auth.shown(os.environ.get("PREFECT_API_URL", ""))
    if given:
        return Server(api_url=given, answers=_answers(given), pid=None, log=None)
    record = _running(workspace)
    if record is None:
        return None
    return _as_server(_home(workspace), record, answers=_answers(record.api_url))


def stop(workspace: Path) -> bool:
    """End the workspace's own server; False when none ran.

    Its database and its log stay, and its record: the next one listens where it did.
    """
    known = _read(_home(workspace))
    running = known is not None and _alive(known)
    if known is not None and running:
        _end(known)
    return running


def environment(api_url: str, workspace: Path | None = None) -> dict[str, str]:
    """Return the variables to set before Prefect is imported.

    With a workspace whose own server this is, Prefect's files stay inside it and a profile in the
    user's home has no say.
    """
    found = {
        **NO_TELEMETRY,
        "PREFECT_API_URL": api_url,
        "PREFECT_SERVER_EPHEMERAL_ENABLED": "false",
        # The server is on this machine: when it does not answer, waiting for minutes mends nothing.
        "PREFECT_CLIENT_MAX_RETRIES": "2",
        "PREFECT_API_REQUEST_TIMEOUT": "20",
        # The console belongs to assay; the run's lines still reach the server's UI.
        "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",
        # An event that a dead server did not take would be printed whole, kilobytes a line.
        "PREFECT_INTERNAL_LOGGING_LEVEL": "CRITICAL",
        # DVC alone decides what is current.
        "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
        "PREFECT_TASKS_DEFAULT_PERSIST_RESULT": "false",
        "PREFECT_TASKS_DEFAULT_NO_CACHE": "true",
    }
    if f"//{LOOPBACK}:" in api_url:
        # A proxy of the network would be asked for an address that only this machine knows.
        known = os.environ.get("no_proxy") or os.environ.get("NO_PROXY", "")
        found["no_proxy"] = found["NO_PROXY"] = f"{known},{LOOPBACK},localhost".lstrip(",")
    record = _read(_home(workspace)) if workspace else None
    own = bool(workspace and record and record.api_url == api_url)
    if workspace and own:
        found["PREFECT_HOME"] = str(_home(workspace))
    if auth := _auth(workspace if own else None):
        found["PREFECT_API_AUTH_STRING"] = auth
    return found


def _auth(workspace: Path | None) -> str | None:
    """Return the auth string: what the environment states, else that of the workspace's own."""
    record = _read(_home(workspace)) if workspace else None
    if workspace and record and record.host not in LOOPBACKS:
        return server_auth.make(workspace)
    return server_auth.given()


def _home(workspace: Path) -> Path:
    return workspace.resolve() / ".assay" / "prefect"


def _as_server(home: Path, record: _Record, *, answers: bool) -> Server:
    log, auth = str(home / "server.log"), str(home / "auth")
    auth_file = None if record.host in LOOPBACKS else auth
    return Server(
        api_url=record.api_url, answers=answers, pid=record.pid, log=log, auth_file=auth_file
    )


@contextmanager
def _alone(home: Path, on_line: Callable[[str], None]) -> Iterator[None]:
    with (home / "server.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_line("another assay is starting the workspace's Prefect server; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _launch(workspace: Path, host: str, ports: Sequence[int]) -> _Record:
    home, port = _home(workspace), _free_port(host, ports)
    reachable = LOOPBACK if host in EVERYWHERE else f"[{host}]" if ":" in host else host
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", host]
    # Prefect's own variables of the caller (a database, a profile) are not for this server.
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT_")}
    ours = {
        "PREFECT_HOME": str(home),
        "PREFECT_UI_API_URL": "/api",  # the page asks where it came from, and not at Prefect's port
        # Types of credentials and stores for other people's flows: some seconds of a start.
        "PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "false",
        # Without this, any web page that the user opens may call the API.
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": f"http://{reachable}:{port}",
        # An event is answered for before it is on the disk: keep that time short.
        "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_FLUSH_INTERVAL": "0.5",
    }
    if host not in LOOPBACKS:
        # By the environment: what is an argument, everybody on this machine can read.
        ours["PREFECT_SERVER_API_AUTH_STRING"] = server_auth.make(workspace)
    shell = ["sh", "-c", LAUNCH, str(home / "server.log"), *command, "--port", str(port)]
    launched = subprocess.run(
        shell,
        cwd=home,  # Prefect reads .env and prefect.toml where it stands
        env=inherited | NO_TELEMETRY | ours,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        start_new_session=True,
    )
    pid = int(launched.stdout)
    return _Record(pid, _started(pid) or "", f"http://{reachable}:{port}/api", host)


def _free_port(host: str, wanted: Sequence[int]) -> int:
    *others, last = wanted
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does
        for port in others:
            with suppress(OSError):
                probe.bind((host, port))
                return int(probe.getsockname()[1])
        try:
            probe.bind((host, last))
        except OSError as error:
            raise ServerError(f"Nothing can listen at {host}:{last}: {error.strerror}.") from None
        return int(probe.getsockname()[1])


def _port(record: _Record) -> int:
    return int(record.api_url.rpartition(":")[2].partition("/")[0])


def _wait(record: _Record, log: Path, on_line: Callable[[str], None]) -> None:
    began = said = time.monotonic()
    while not _answers(record.api_url):
        now = time.monotonic()
        if not _alive(record):
            raise ServerError(f"The Prefect server ended while it started. {_last_words(log)}")
        if now - began > START_LIMIT_S:
            raise ServerError(
                f"The Prefect server (pid {record.pid}) did not answer in {START_LIMIT_S:.0f} s. "
                f"Its log is {log}. The same command waits on; `assay server stop` ends it."
            )
        if now - said > PROGRESS_S:
            said = now
            on_line(f"the Prefect server is starting: {now - began:.0f} s of {START_LIMIT_S:.0f}")
        time.sleep(0.1)


def _last_words(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    said = next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
    return f"Its log is {log}; the last line: {said}"


def _end(record: _Record) -> None:
    # The group, not the process: the server has children of its own.
    group = None
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):  # it ends by itself meanwhile
            group = group or os.getpgid(record.pid)
            os.killpg(group, sign)
        deadline = time.monotonic() + STOP_LIMIT_S
        while time.monotonic() < deadline:
            if not _alive(record):
                return
            time.sleep(0.05)
    raise ServerError(f"The Prefect server (pid {record.pid}) could not be ended.")


def _running(workspace: Path) -> _Record | None:
    record = _read(_home(workspace))
    return record if record and _alive(record) else None


def _read(home: Path) -> _Record | None:
    try:
        return _Record(**json.loads((home / "server.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):  # absent, or cut short by a full disk: as good as none
        return None


def _write(home: Path, record: _Record) -> None:
    whole = home / "server.json.new"
    whole.write_text(json.dumps(asdict(record)) + "\n", encoding="utf-8")
    whole.replace(home / "server.json")


def _alive(record: _Record) -> bool:
    return bool(record.started) and _started(record.pid) == record.started


def _started(pid: int) -> str | None:
    """When a living process began, as text to compare; None when it is gone."""
    try:
        # After the name, which may hold anything: the state is field 3, the start time field 22.
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        return _started_elsewhere(pid) if sys.platform != "linux" else None
    return None if fields[0] in "ZX" else f"{boot}/{fields[19]}"


def _started_elsewhere(pid: int) -> str | None:
    import psutil

    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.2f}"
    except psutil.Error:
        return None


def _answers(api_url: str, timeout_s: float = 2.0) -> bool:
    if api_url.startswith(f"http://{LOOPBACK}:"):
        return _answers_here(api_url, timeout_s)
    from http.client import HTTPException
    from urllib.request import Request, urlopen

    try:
        known = server_auth.headers(server_auth.given())
        request = Request(f"{api_url.rstrip('/')}/health", headers=known)  # noqa: S310  the user's own address
        with urlopen(request, timeout=timeout_s) as answer:  # noqa: S310
            return bool(answer.read(16).strip() == b"true")
    except (OSError, ValueError, HTTPException):  # refused, timed out, not an address, not HTTP
        return False


def _answers_here(api_url: str, timeout_s: float) -> bool:
    # By hand, because importing urllib takes longer than all else on an `assay run` from the cache;
    # and never through the network's proxy.
    port, _, path = api_url.removeprefix(f"http://{LOOPBACK}:").partition("/")
    ask = f"GET /{path.rstrip('/')}/health HTTP/1.0\r\nHost: {LOOPBACK}:{port}\r\n\r\n"
    answer = b""
    try:
        with socket.create_connection((LOOPBACK, int(port)), timeout=timeout_s) as connection:
            connection.sendall(ask.encode())
            while chunk := connection.recv(4096):
                answer += chunk
    except (OSError, ValueError):
        return False
    return answer.split(b" ", 2)[1:2] == [b"200"] and answer.endswith(b"true")

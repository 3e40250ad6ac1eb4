"""A process that has imported all that a run needs, and forks one run after another.

An import costs two seconds of CPU a run, which tests and soaks of hundreds of runs need not pay.
It reads a request a line (JSON: root, words, environment, out, err, kill) and answers with lines:
`pid N` for each request, in order, and `end N STATUS` when a run is over.
"""

import importlib
import json
import os
import select
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, NoReturn

from bench.rig import soak_kills
from bench.rig.soak_kills import Kill

MODULES = ("flows.commands.run", "flows.investigate", "dvc.repo", "dvc.stage.loader", "docker")


def import_all() -> None:
    """Import what a run needs; Prefect's settings are read again by each."""
    for name in MODULES:
        importlib.import_module(name)


def become(
    root: Path, words: list[str], kill: Kill, constants: Mapping[str, Any] = MappingProxyType({})
) -> NoReturn:
    """Be `assay WORDS` in a workspace of `toy_case`; called in a fork, and never returns.

    Args:
        root: the workspace.
        words: the command line.
        kill: when it kills itself.
        constants: {module and name: another value}: shorter waits, a device that is not there.
    """
    status = 3
    try:
        from prefect.context import refresh_global_settings_context

        from bench.rig.toy_assay import stand_in
        from flows import server

        known = server.environment

        def environment(api_url: str, workspace: Path | None = None) -> dict[str, str]:
            """Set the variables before Prefect reads them, which it has done in the mother."""
            found = known(api_url, workspace)
            os.environ.update(found)
            refresh_global_settings_context()
            return found

        server.environment = environment
        os.chdir(root)
        stand_in(root)
        soak_kills.arm(kill)
        for place, value in constants.items():
            owner, _, name = place.rpartition(".")
            setattr(soak_kills.found(owner), name, value)
        from flows.cli import main as assay

        assay(words, prog_name="assay")
    except SystemExit as left:
        status = int(left.code or 0)
    except BaseException:  # noqa: BLE001  a fork must not go on as its mother
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _fork(ask: dict[str, Any]) -> int:
    child = os.fork()
    if child:
        return child
    os.setsid()
    os.environ.clear()
    os.environ.update(ask["environment"])
    for name, descriptor in (("out", 1), ("err", 2)):
        os.dup2(os.open(ask[name], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), descriptor)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    become(Path(ask["root"]), ask["words"], Kill(**ask["kill"]), ask["constants"])


def main() -> None:
    """Serve requests until there are no more."""
    import_all()
    rest = b""
    while True:
        if select.select([0], [], [], 0.02)[0]:
            chunk = os.read(0, 1 << 16)
            if not chunk:
                return
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                _say(f"pid {_fork(json.loads(line))}")
        try:
            pid, code = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            continue
        if pid:
            _say(f"end {pid} {os.waitstatus_to_exitcode(code)}")


def _say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


class Started:
    """A run under way."""

    def __init__(self, out: Path, err: Path) -> None:
        self.pid = 0
        self.status: int | None = None
        self.began = threading.Event()
        self.ended = threading.Event()
        self._out, self._err = out, err

    def signal(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def wait(self, timeout_s: float = 400) -> int:
        """Return its exit status, negative where a signal ended it."""
        assert self.ended.wait(timeout_s), f"it hangs: {self.err}"
        assert self.status is not None
        return self.status

    @property
    def out(self) -> str:
        """What it printed."""
        return self._out.read_text(encoding="utf-8") if self._out.exists() else ""

    @property
    def err(self) -> str:
        """What it said meanwhile."""
        return self._err.read_text(encoding="utf-8") if self._err.exists() else ""

    @property
    def answer(self) -> Any:
        """Its JSON."""
        return json.loads(self.out)


class Mother:
    """The other end: starts runs and hears of their ends."""

    def __init__(self, scratch: Path, environment: Mapping[str, str]) -> None:
        self._scratch, self.environment = scratch, dict(environment)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.rig.toy_mother"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self.environment,
            start_new_session=True,
        )
        self._asked: list[Started] = []
        self._under_way: dict[int, Started] = {}
        self._number = 0
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def start(
        self,
        root: Path,
        *words: str,
        kill: Kill | None = None,
        constants: Mapping[str, Any] = MappingProxyType({}),
        **more: str,
    ) -> Started:
        """Start `assay WORDS` in a workspace; `more` are variables, an empty one is taken away."""
        self._number += 1
        out, err = (self._scratch / f"{self._number}.{end}" for end in ("out", "err"))
        started = Started(out, err)
        self._asked.append(started)
        site = str(root.parent / f"{root.name}-site")
        environment = self.environment | {"DVC_SITE_CACHE_DIR": site} | more
        ask = {
            "root": str(root),
            "words": words,
            "environment": {name: value for name, value in environment.items() if value},
            "constants": dict(constants),
            "out": str(out),
            "err": str(err),
            "kill": _fields(kill or Kill()),
        }
        pipe: IO[bytes] | None = self._process.stdin
        assert pipe is not None
        pipe.write(json.dumps(ask).encode() + b"\n")
        pipe.flush()
        assert started.began.wait(120), "the mother of runs does not answer"
        return started

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            kind, *numbers = line.split()
            if kind == b"pid":
                started = self._asked.pop(0)
                started.pid = int(numbers[0])
                self._under_way[started.pid] = started
                started.began.set()
            elif kind == b"end":
                started = self._under_way.pop(int(numbers[0]))
                started.status = int(numbers[1])
                started.ended.set()

    def close(self) -> None:
        """End it, and the runs that are still under way."""
        for started in list(self._under_way.values()):
            os.kill(started.pid, 9)
            started.ended.wait(10)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._listener.join(10)
        self._process.stdout.close()


def _fields(kill: Kill) -> dict[str, Any]:
    return {name: getattr(kill, name) for name in kill.__slots__}


if __name__ == "__main__":
    main()

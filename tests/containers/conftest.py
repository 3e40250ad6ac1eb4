"""A job to alter, a listener for its lines, and an engine where there is one."""

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from containers.docker_runner import DockerRunner
from containers.engine import Client
from containers.job import Exit, Job, Mount, Runner

GIB = 2**30


class Bench:
    """Runs variations of one job and keeps what it said."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines: list[str] = []
        self.cancel = threading.Event()
        self.out = folder / "out"
        self.out.mkdir()
        self.job = Job(
            name=f"assay-test-{os.getpid()}-{folder.name}",
            image="base",
            command=("python", "-c", "print('hello')"),
            mounts=(Mount(source=self.out, target="out", writable=True),),
            log=folder / "logs" / "job.log",
            threads=1,
            memory_bytes=GIB // 2,
            timeout_s=60,
            labels={"assay.workspace": f"test-{os.getpid()}"},
        )

    def mount(self, target: str, text: str = "", **kinds: bool) -> Mount:
        """Write a source file for a target, and return its mount."""
        source = self.folder / "sources" / target
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(text)
        return Mount(source=source, target=target, **kinds)

    def run(
        self,
        runner: Runner,
        code: str | None = None,
        on_line: Callable[[str], None] | None = None,
        **changes: Any,
    ) -> Exit:
        if code is not None:
            changes["command"] = ("python", "-c", code)
        listen = on_line or self.lines.append
        return runner.run(replace(self.job, **changes), on_line=listen, cancel=self.cancel)

    @property
    def logged(self) -> list[str]:
        return self.job.log.read_text().splitlines()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def docker(engine: Client) -> DockerRunner:
    return DockerRunner(engine)

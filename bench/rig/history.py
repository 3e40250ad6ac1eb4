"""A repository with as many runs as are asked for: real tags, locks and records, of stages unrun.

The rows are those that the case's plan has, the files that they read are hashed, and what they
would have made is a hash of the seed. So a record and a lock are as large as the case writes them.
"""

import hashlib
import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from flows.case import load_case
from flows.plan import plan, upstream
from lineage import lock_text
from lineage.cache_objects import place
from lineage.provenance import Hashes, Limits, Provenance, RunRecord
from lineage.row import Row

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
ENVIRONMENT = "docker:" + "5" * 64
INSIDE = {
    "uid": 1000,
    "gid": 1000,
    "capabilities": "0000000000000000",
    "no_new_privileges": True,
    "seccomp": "filter",
    "network": ["lo"],
    "root_read_only": True,
    "python": "3.11.2",
    "system": "Linux",
    "machine": "x86_64",
    "cpu_class": "avx512",
    "threads": dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
    "torch": None,
    "peak_rss_bytes": 123456789,
}
HOST = {"system": "Linux", "kernel": "6.1.0", "machine": "x86_64", "cpu": "Some CPU", "cpus": 8}


@dataclass(slots=True)
class History:
    """Runs of one case, each with another param of one stage; the rest is restored."""

    root: Path
    case: str
    rows: tuple[Row, ...] = ()
    ids: list[str] = field(default_factory=list)
    _made: dict[str, Provenance] = field(default_factory=dict)
    _md5s: dict[str, str] = field(default_factory=dict)
    _base: str = ""
    _above: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rows = plan(load_case(self.root, self.case))
        self._above = upstream(self.rows)
        self._base = git(self.root, "rev-parse", "HEAD").decode().strip()

    def grow(self, to: int) -> None:
        """Add runs until there are so many, as loose objects: as `assay run` leaves them."""
        stream = b"".join(self._commands(range(len(self.ids), to)))
        loose = ("-c", "fastimport.unpackLimit=100000000")
        git(self.root, *loose, "fast-import", "--quiet", "--force", input_=stream)

    def _commands(self, numbers: Sequence[int]) -> Iterator[bytes]:
        for number in numbers:
            record = self._record(number)
            folder = f"cases/{self.case}"
            files = {
                f"{folder}/run.json": record.model_dump_json(indent=2) + "\n",
                f"{folder}/dvc.lock": self._lock(record),
            }
            who = f"A Benchmark <bench@example.org> {int(BEGAN.timestamp()) + number} +0000"
            summary = record.model_copy(update={"stages": []}).model_dump_json()
            told = f"{self.case}: done, gate closed. {record.sentence}\n\n{summary}\n"
            yield f"commit refs/heads/made\nmark :{number + 1}\ncommitter {who}\n".encode()
            yield _data(f"Run {record.id}: done\n") + f"from {self._base}\n".encode()
            for path, text in files.items():
                yield f"M 100644 inline {path}\n".encode() + _data(text)
            yield f"tag run/{record.id}\nfrom :{number + 1}\ntagger {who}\n".encode() + _data(told)

    def _record(self, number: int) -> RunRecord:
        started = BEGAN + timedelta(minutes=number)
        digest = hashlib.sha256(str(number).encode()).hexdigest()
        run_id = f"{started:%Y%m%dT%H%M%S}-{self.case}-{digest[:4]}"
        self.ids.append(run_id)
        changed = self._changed(number)
        for row in self.rows:
            if row.name in changed:
                self._made[row.name] = self._stage(row, run_id, number)
        return RunRecord(
            id=run_id,
            case=self.case,
            state="done",
            verdict="closed",
            because="accuracy 36.8 % (CI 30.5 to 42.5, 638 rows that prove) is below 90.0 %",
            look={"rows": "7" * 64, "answers": digest, "number": None},
            sentence="60.5 points of 60.5 points are lost and no alteration regains it. " * 3,
            commit=self._base,
            parent=self._base,
            isolation="docker",
            started=started.isoformat(),
            ended=(started + timedelta(minutes=5)).isoformat(),
            stages=[self._as_of(row.name, run_id) for row in self.rows],
        )

    def _changed(self, number: int) -> set[str]:
        """Return what a run makes anew: all in the first, then a stage and what follows from it."""
        if number == 0:
            return {row.name for row in self.rows}
        changed = {self.rows[number % len(self.rows)].name}
        for row in self.rows:
            if changed & set(self._above[row.name]):
                changed.add(row.name)
        return changed

    def _as_of(self, name: str, run_id: str) -> Provenance:
        made = self._made[name]
        if made.run_id == run_id:
            return made
        return made.model_copy(
            update={"how": "restored", "run_id": run_id, "from_run": made.run_id}
        )

    def _stage(self, row: Row, run_id: str, number: int) -> Provenance:
        outputs = {
            path: _hash(f"{path} {number}", folder="." not in path.rpartition("/")[2])
            for path in (row.folder, *row.outputs.values())
        }
        self._list(row, outputs)
        inputs = {path: self._input(path) for path in sorted({*row.sources, *self._read(row)})}
        return Provenance(
            name=row.name,
            question=row.question,
            how="ran",
            run_id=run_id,
            inputs={path: Hashes(before=md5, after=md5) for path, md5 in inputs.items()},
            outputs=dict(sorted(outputs.items())),
            params={**row.params, "number": number},
            environment=ENVIRONMENT,
            isolation="docker",
            image=row.image,
            image_id="sha256:" + "6" * 64,
            gpu=False,
            limits=Limits(
                threads=row.threads, memory_bytes=row.memory_bytes, timeout_s=row.timeout_s
            ),
            exit_reason="done",
            exit_code=0,
            started=BEGAN.isoformat(),
            ended=BEGAN.isoformat(),
            wall_s=1.3090767369999412,
            log=f"{self.root}/.assay/logs/{run_id}/{row.name}.log",
            log_sha256=hashlib.sha256(f"{row.name} {number}".encode()).hexdigest(),
            inside=INSIDE,
            host=HOST,
        )

    def _read(self, row: Row) -> set[str]:
        return {path for path in row.inputs.values() if path}

    def _input(self, path: str) -> str:
        """Return the hash of what a stage reads: of this run's artifact, or of the file itself."""
        for made in self._made.values():
            if path in made.outputs:
                return made.outputs[path]
        if path not in self._md5s:
            here = self.root / path
            content = here.read_bytes() if here.is_file() else path.encode()
            digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
            self._md5s[path] = digest if here.is_file() else f"{digest}.dir"
        return self._md5s[path]

    def _list(self, row: Row, outputs: dict[str, str]) -> None:
        """Keep the list of a folder in the cache, under the hash that it really has."""
        listed = [
            {"md5": md5, "relpath": path[len(row.folder) + 1 :]}
            for path, md5 in sorted(outputs.items())
            if path != row.folder and not md5.endswith(".dir")
        ]
        listed += [
            {"md5": md5[:32], "relpath": f"{path[len(row.folder) + 1 :]}/0"}
            for path, md5 in sorted(outputs.items())
            if path != row.folder and md5.endswith(".dir")
        ]
        text = json.dumps(listed, sort_keys=True)
        digest = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest() + ".dir"
        outputs[row.folder] = digest
        path = place(self.root / ".dvc/cache", digest)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def _lock(self, record: RunRecord) -> str:
        rows = {row.name: row for row in self.rows}
        blocks = [
            f"  {stage.name}:\n    cmd: {rows[stage.name].command}\n"
            + lock_text.to_yaml(_entry(rows[stage.name], stage), depth=2)
            for stage in record.stages
        ]
        return lock_text.HEAD + "".join(blocks)


def _entry(row: Row, stage: Provenance) -> Mapping[str, Any]:
    """Return what DVC's lock says of a stage, but for its command and its params."""
    case = f"cases/{row.case}/"
    deps = [
        {
            "path": path.removeprefix(case) if path.startswith(case) else f"../../{path}",
            "hash": "md5",
            "md5": hashes.before,
            "size": 12345,
        }
        for path, hashes in stage.inputs.items()
    ]
    folder = {
        "path": row.folder.removeprefix(case),
        "hash": "md5",
        "md5": stage.outputs[row.folder],
        "size": 123456,
        "nfiles": len(stage.outputs),
    }
    return {"deps": deps, "outs": [folder]}


def _hash(text: str, *, folder: bool) -> str:
    digest = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
    return f"{digest}.dir" if folder else digest


def _data(text: str) -> bytes:
    content = text.encode()
    return f"data {len(content)}\n".encode() + content + b"\n"


def git(root: Path, *words: str, input_: bytes | None = None) -> bytes:
    """Run git and return what it printed; it must end well."""
    done = subprocess.run(["git", *words], cwd=root, input=input_, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout

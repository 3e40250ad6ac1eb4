"""Is a stage current? If not: restored, or run in its container and committed. DVC decides."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from containers.job import Runner
from lineage import atomic, disk
from lineage.aside import Aside
from lineage.cache_writes import cache_writes
from lineage.dvc_repo import Deps, DvcRepo, Found
from lineage.dvc_yaml import ENVIRONMENTS, param_key
from lineage.execute import StageFailed, accepted, run_job, stage_fence
from lineage.job_folder import InputMissing, job_folder, sweep
from lineage.provenance import Provenance
from lineage.row import Row
from lineage.status import Status, status
from lineage.witness import Witness

NOTES = ".assay/provenance"
"""Where a worktree keeps its stages' provenance until the run is closed."""

OnLine = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What it took to bring a stage up to date."""

    how: Literal["unchanged", "restored", "ran"]
    provenance: Provenance


class InputsChanged(Exception):  # noqa: N818 - reads as the fact that it is
    """A dependency was edited while its stage ran; the new outputs were thrown away."""

    exit_status = 3


class EnvironmentStale(Exception):  # noqa: N818 - reads as the fact that it is
    """environments.yaml and the runner do not name the same environment."""

    exit_status = 3


class Engine:
    """Advances the stages of one worktree; safe to call from several threads."""

    def __init__(
        self,
        root: Path,
        *,
        runner: Runner,
        run_id: str,
        logs: Path,
        cache_dir: Path | None = None,
        commit: str | None = None,
    ) -> None:
        self.root = root.resolve()
        self.runner = runner
        self.run_id = run_id
        self.logs = logs
        self.commit = commit  # for the record: what is checked out here
        self.flow_run_id: str | None = None  # for the record: Prefect's, once it is known
        self._repo = DvcRepo(self.root, cache_dir)
        self._environments: dict[str, str] = {}
        sweep(self.root)

    def close(self) -> None:
        """Let go of DVC's databases."""
        self._repo.close()

    def status(self, rows: Sequence[Row]) -> dict[str, Status]:
        """Say what `advance` would do for each row, without doing it; right downstream too."""
        with self._repo.locked():
            return status(self._repo, rows)

    def advance(
        self, row: Row, *, on_line: OnLine, cancel: threading.Event, fresh: bool = False
    ) -> Outcome:
        """Bring one stage up to date; `fresh`: run it though its outputs are known.

        The repository is locked while it is looked at and written to, not while the stage runs.

        Raises:
            StageFailed: the stage did not end well; its former outputs stand as they were.
            InputMissing: an input is not there.
            InputsChanged: an input was edited while the stage ran.
            EnvironmentStale, GraphStale: a generated file is not that of this row and runner.
            CacheUnwritable, DiskRefuses: the cache's disk or the worktree's does; the former
                outputs stand as they were.
            RunnerError: the stage could not be started.
            Cancelled: it was cancelled while another process worked on the same stage.
        """
        with stage_fence(row, self.root, on_line, cancel):
            aside = Aside(row.name, self.root, on_line)
            with disk.writes("The worktree of the run", self.root):
                stage, before, outcome = self._look_up(row, aside, fresh=fresh)
                if outcome is None:
                    outcome = self._run(row, stage, before, aside, cancel)
                self._note(outcome.provenance)
            return outcome

    def restore(self, row: Row, *, on_line: OnLine, cancel: threading.Event) -> Outcome | None:
        """Bring a stage up to date without running it; None where it would have to run.

        Raises:
            InputMissing, EnvironmentStale, GraphStale, Cancelled: as `advance` does.
        """
        with stage_fence(row, self.root, on_line, cancel):
            with disk.writes("The worktree of the run", self.root):
                _, _, outcome = self._look_up(row, Aside(row.name, self.root, on_line))
                if outcome is not None:
                    self._note(outcome.provenance)
            return outcome

    def witness(self, row: Row) -> Witness:
        """Return what is known of a stage that DVC is not asked about."""
        self._environment(row)
        return self._witness(row, {})

    def _environment(self, row: Row) -> str:
        if row.image not in self._environments:
            self._environments[row.image] = self.runner.environment_key(row.image)
        return self._environments[row.image]

    def _look_up(
        self, row: Row, aside: Aside, *, fresh: bool = False
    ) -> tuple[Any, Deps, Outcome | None]:
        self._environment(row)
        with self._repo.locked():
            self._check_environment(row)
            stage = self._repo.stage(row)
            before = self._repo.deps(stage)
            _check_inputs(row, before)
            self._repo.set_deps(stage, before)
            known = None if fresh else self._known(row, stage, before, aside)
            return stage, before, known

    def _known(self, row: Row, stage: Any, before: Deps, aside: Aside) -> Outcome | None:
        wanted = self._repo.entry(stage)
        for found in self._repo.candidates(row, wanted):
            damaged = self._repo.damaged(found.entry)
            if damaged:
                aside.take_out(self._repo.cache_dir, damaged)
                continue
            self._repo.set_outs(stage, found.entry)
            if found.locked and self._repo.in_place(stage):
                return self._told("unchanged", row, stage, before, found)
            self._repo.checkout(stage)
            self._repo.write_lock(row, self._repo.entry(stage))
            return self._told("restored", row, stage, before, found)
        return None

    def _told(
        self,
        how: Literal["unchanged", "restored"],
        row: Row,
        stage: Any,
        before: Deps,
        found: Found,
    ) -> Outcome:
        path = self._origin_path(found.origin)
        made = Provenance.model_validate_json(path.read_bytes()) if path.exists() else None
        outputs = self._outputs(row, stage)
        return Outcome(how, self._witness(row, before).heard(how, outputs, made))

    def _run(
        self, row: Row, stage: Any, before: Deps, aside: Aside, cancel: threading.Event
    ) -> Outcome:
        started = datetime.now(UTC)
        witness = self._witness(row, before)
        with job_folder(row, self.root) as folder:
            try:
                executed = run_job(
                    row,
                    self.root,
                    self.runner,
                    folder,
                    run_id=self.run_id,
                    on_line=aside.say,
                    cancel=cancel,
                    logs=self.logs,
                )
            except StageFailed as failed:
                failed.provenance = witness.saw("failed", failed.executed, started)
                self._note(failed.provenance)
                raise
            with self._repo.locked():
                after = self._repo.deps(stage)
                _check_unchanged(row, before, after)
                self._check_environment(row)
                was = self._repo.entry(stage).get("params")
                self._repo.set_deps(stage, after)
                _check_params(row, was, self._repo.entry(stage).get("params"))
                with accepted(row, self.root, folder):
                    cache = self._repo.cache_dir
                    entry, origin = self._repo.store(
                        stage, lambda damaged: aside.take_out(cache, damaged)
                    )
                    made = witness.saw(
                        "ran",
                        executed,
                        started,
                        after=_md5s(after),
                        outputs=self._outputs(row, stage),
                        set_aside=aside.names,
                    )
                    with cache_writes(cache):
                        atomic.write(self._origin_path(origin), made.model_dump_json(indent=2))
                    self._repo.record(row, entry, origin)
        return Outcome("ran", made)

    def _check_environment(self, row: Row) -> None:
        stated = (self._repo.yaml(ENVIRONMENTS) or {}).get(param_key(row.image))
        if stated != self._environments[row.image]:
            raise EnvironmentStale(
                f"{ENVIRONMENTS} says {stated} for {row.image}, but the runner is "
                f"{self._environments[row.image]}. Write it anew with `assay plan`."
            )

    def _witness(self, row: Row, before: Deps) -> Witness:
        return Witness(
            row=row,
            run_id=self.run_id,
            environment=self._environments[row.image],
            isolation=self.runner.kind,
            before=_md5s(before),
            commit=self.commit,
            flow_run_id=self.flow_run_id,
        )

    def _outputs(self, row: Row, stage: Any) -> dict[str, str]:
        found = self._repo.members(stage, [row.folder, *row.outputs.values()])
        return {path: info.value for path, (_, info) in sorted(found.items())}

    def _origin_path(self, origin: str) -> Path:
        # Beside DVC's objects, where all runs that share the cache find it; `dvc gc` does not.
        return self._repo.cache_dir / "assay" / origin[:2] / f"{origin}.json"

    def _note(self, made: Provenance) -> None:
        """Keep it for whoever closes this run, should this process die."""
        path = self.root / NOTES / f"{made.name}.json"
        atomic.write(path, made.model_dump_json(), flushed=False)


def _check_inputs(row: Row, deps: Deps) -> None:
    for path in sorted(path for path, found in deps.items() if found is None):
        raise InputMissing(row, path)


def _check_unchanged(row: Row, before: Deps, after: Deps) -> None:
    then, now = _md5s(before), _md5s(after)
    _refuse(row, sorted(path for path in then if then[path] != now[path]))


def _check_params(row: Row, before: Any, after: Any) -> None:
    _refuse(row, sorted(file for file in before or {} if before[file] != after[file]))


def _refuse(row: Row, changed: list[str]) -> None:
    if changed:
        raise InputsChanged(
            f"{', '.join(changed)} changed while {row.name} ran, so its outputs belong to neither. "
            "They were thrown away. Run it again."
        )


def _md5s(deps: Deps) -> dict[str, str | None]:
    return {path: found[1].value if found else None for path, found in sorted(deps.items())}

"""Writes down how a stage came to be: from its process, or from what was written when it ran."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from lineage import host
from lineage.execute import Executed
from lineage.provenance import Hashes, How, Limits, Provenance
from lineage.row import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """What is known of a stage before it is known how it ended."""

    row: Row
    run_id: str
    environment: str
    isolation: str
    before: Mapping[str, str | None]  # path -> MD5
    commit: str | None = None
    flow_run_id: str | None = None

    def saw(
        self,
        how: Literal["ran", "failed", "apart"],
        executed: Executed,
        started: datetime,
        *,
        after: Mapping[str, str | None] | None = None,
        outputs: Mapping[str, str] | None = None,
        set_aside: Sequence[str] = (),
    ) -> Provenance:
        """Return the provenance of a stage whose process ran here.

        Args:
            how: whether it ended well, and whether what it was made of was whole.
            executed: how its process ended.
            started: when it was asked for.
            after: what the dependencies hashed to when it had ended; None where nobody looked.
            outputs: what it made.
            set_aside: what was damaged in the cache, so that it ran.
        """
        ended = executed.exit
        made = self._plain(how, outputs or {}, after or {})
        seen = {
            "commit": self.commit,
            "flow_run_id": self.flow_run_id,
            "isolation": self.isolation,
            "image": self.row.image,
            "image_id": ended.image_id,
            "base_digest": ended.base_digest,
            "gpu": ended.gpu,
            "exit_reason": ended.reason.value,
            "exit_code": ended.code,
            "started": started.isoformat(),
            "ended": datetime.now(UTC).isoformat(),
            "wall_s": ended.wall_s,
            "log": str(executed.log),
            "log_sha256": executed.log_sha256,
            "inside": executed.inside,
            "host": host.facts(),
            "set_aside": list(set_aside),
        }
        return made.model_copy(update=seen)

    def heard(
        self,
        how: Literal["unchanged", "restored"],
        outputs: dict[str, str],
        made: Provenance | None,
    ) -> Provenance:
        """Return the provenance of a known result; `made` is what was written when it was made."""
        here = self._plain(how, outputs, {})
        if made is None:
            return here
        mine = {name: getattr(here, name) for name in here.model_fields_set}
        return made.model_copy(update={**mine, "from_run": made.run_id})

    def left_out(self) -> Provenance:
        """Return the provenance of a stage that there was no time for."""
        return self._plain("not examined", {}, {})

    def _plain(
        self, how: How, outputs: Mapping[str, str], after: Mapping[str, str | None]
    ) -> Provenance:
        row = self.row
        hashes = {
            path: Hashes(before=md5, after=after.get(path))
            for path, md5 in sorted(self.before.items())
        }
        params: dict[str, Any] = dict(row.params)
        return Provenance(
            name=row.name,
            question=row.question,
            how=how,
            run_id=self.run_id,
            inputs=hashes,
            outputs=dict(outputs),
            params=params,
            environment=self.environment,
            limits=Limits(
                threads=row.threads, memory_bytes=row.memory_bytes, timeout_s=row.timeout_s
            ),
        )

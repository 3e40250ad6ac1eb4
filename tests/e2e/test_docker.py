"""The same run in containers: confined, written down, and equal to the one without an engine."""

import hashlib
import json
import platform

import pytest
from clone import Clone

from containers.engine import Client

pytestmark = [pytest.mark.slow, pytest.mark.docker]


def test_every_stage_is_confined_and_the_report_is_that_of_plain_processes(
    engine: Client, clone: Clone
) -> None:
    clone.assay("images", "verify", status=0)
    plain = clone.run(isolation="process")
    boxed = clone.run(isolation="docker")
    assert set(boxed["stages"].values()) == {"ran"}, "a host's result passed for a container's"
    for stage in clone.record(boxed["run"])["stages"]:
        inside = stage["inside"]
        assert inside["uid"] != 0
        assert int(inside["capabilities"], 16) == 0
        assert inside["no_new_privileges"] is True
        assert inside["seccomp"] == "filter"
        assert inside["network"] == ["lo"]
        assert inside["root_read_only"] is True
    assert json.loads(clone.report(boxed["run"])) == json.loads(clone.report(plain["run"]))
    check_record(clone, boxed["run"], engine)
    check_no_output_tells_of_the_run(clone, boxed["run"])


def check_record(clone: Clone, run: str, engine: Client) -> None:
    """Each stage's provenance has every fact, and what can be looked up elsewhere is true."""
    record = clone.record(run)
    assert record["commit"] == clone.git("rev-parse", f"run/{run}^").strip()
    assert record["flow_run_id"]
    for stage in record["stages"]:
        absent = {name for name, value in stage.items() if value in (None, "", [], {})}
        # A base that was imported has no digest, and some stages have no params.
        assert absent <= {"from_run", "set_aside", "params", "base_digest"}, stage["name"]
        labels = engine.inspect_image(stage["image_id"])["Config"]["Labels"]
        assert stage["base_digest"] == labels.get("assay.base-digest")
        assert stage["environment"] == f"docker:{labels['assay.build-key']}"
        assert all(
            one["before"] and one["before"] == one["after"] for one in stage["inputs"].values()
        )
        assert f"cases/toy/artifacts/{stage['name']}" in stage["outputs"]
        assert all(stage["limits"].values())
        assert (stage["isolation"], stage["exit_reason"], stage["exit_code"]) == (
            "docker",
            "done",
            0,
        )
        assert (stage["run_id"], stage["commit"]) == (run, record["commit"])
        assert stage["flow_run_id"] == record["flow_run_id"]
        assert stage["started"] < stage["ended"]
        assert stage["wall_s"] > 0
        assert stage["host"]["kernel"] == platform.release()
        log = clone.root / f".assay/logs/{run}/{stage['name']}.log"
        assert stage["log_sha256"] == hashlib.sha256(log.read_bytes()).hexdigest()


def check_no_output_tells_of_the_run(clone: Clone, run: str) -> None:
    """What is hashed says nothing of run, commit, flow run, image, kernel or host."""
    record = clone.record(run)
    told = {run, record["commit"], record["flow_run_id"], platform.release()}
    told |= {platform.node()} if len(platform.node()) > len("localhost") else set()  # else a word
    for stage in record["stages"]:
        told |= {
            stage["image_id"],
            stage["log_sha256"],
            stage["started"][:16],
            stage["host"]["cpu"],
        }
    objects = [
        path for path in (clone.root / ".dvc/cache/files/md5").glob("??/*") if path.is_file()
    ]
    assert len(objects) > len(record["stages"])
    for path in objects:
        content = path.read_bytes()
        found = [word for word in told if word.encode() in content]
        assert not found, (path, found)

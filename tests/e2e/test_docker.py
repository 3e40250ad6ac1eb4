"""The same run in containers: confined, and equal to the one without an engine."""

import json

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

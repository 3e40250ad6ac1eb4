"""A run repeated by the command itself: the same bytes, from a clean clone with empty caches."""

import json

import pytest
from clone import Clone

pytestmark = pytest.mark.slow


def test_a_run_comes_out_the_same_from_a_clean_clone(clone: Clone) -> None:
    first = clone.run()
    done = clone.assay("reproduce", "latest", "--json", status=0)
    told = json.loads(done.stdout)
    assert told["of"] == first["run"]
    assert set(told["stages"].values()) == {"ran"}
    assert {one["stage"] for one in told["outputs"]} == set(first["stages"])
    assert {one["same"] for one in told["outputs"]} == {"identical"}
    assert "clean clone, empty caches" in done.stderr
    assert clone.record(told["run"])["of"] == first["run"]
    assert clone.report(told["run"]) == clone.report(first["run"])
    assert clone.git("status", "--porcelain") == ""
    assert clone.git("worktree", "list").count("\n") == 1
    shown = clone.assay("reproduce", "nothing-like-it")
    assert shown.returncode == 2
    assert "Which run?" in shown.stderr

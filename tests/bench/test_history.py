"""The runs that the benchmark of many runs makes are runs, as far as anything here can tell."""

import subprocess
from pathlib import Path

import pytest

from bench.rig.history import History
from lineage.objects import run_objects
from lineage.run_index import opened
from lineage.run_tags import list_runs, read_run

SOURCE = Path(__file__).parents[2]


@pytest.fixture
def history(tmp_path: Path) -> History:
    root = tmp_path / "clone"
    root.mkdir()
    for name in ("stages", "sides", "assay", "cases", "data_contracts", "params.yaml"):
        (root / name).symlink_to(SOURCE / name)
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x"]):
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *who, *words], cwd=root, check=True)
    return History(root, "digits")


def test_its_runs_are_listed_read_and_traced_like_any_other(history: History):
    history.grow(2)
    history.grow(4)
    assert [record.id for record in list_runs(history.root)] == history.ids[::-1]
    first, last = (read_run(history.root, history.ids[at]) for at in (0, -1))
    assert {stage.how for stage in first.stages} == {"ran"}
    assert {stage.how for stage in last.stages} == {"ran", "restored"}
    cache = history.root / ".dvc/cache"
    found = run_objects(history.root, history.ids[-1:], cache)[last.id]
    outputs = {stage.outputs[f"cases/digits/artifacts/{stage.name}"] for stage in last.stages}
    assert {one.md5 for one in found.named} == outputs
    assert not found.unlisted
    with opened(history.root, cache) as index:
        assert index.counts()["runs"] == 4
        restored = next(stage for stage in last.stages if stage.how == "restored")
        (place,) = index.places_of(restored.outputs[f"cases/digits/artifacts/{restored.name}"])
        assert {restored.from_run, last.id} <= set(index.runs_that("made", place))

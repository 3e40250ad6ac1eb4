"""What a run needs is held against what is free, and what this host lets it have, beforehand."""

from pathlib import Path

import pytest
from test_disk_full import leave
from toy_run import whole_run
from toy_workspace import fill_workspace, git, toy_rows

from flows import doctor, preflight
from flows.preflight import SPARE_BYTES, fits
from lineage import room
from lineage.room import NoRoom, size_bytes, stage_bytes


def nothing() -> list[str]:
    return []


def everything() -> list[str]:
    return [row.name for row in toy_rows()]


def never() -> list[str]:
    raise AssertionError("asked what is cached though all would fit")


def test_what_a_run_needs_is_what_the_last_one_made(workspace: Path):
    assert stage_bytes(workspace, "toy") == {}
    whole_run(workspace)
    # report.json "10" and the picture; "second of 10".
    assert stage_bytes(workspace, "toy") == {"first": 9, "second": 12}
    fits(workspace, "toy", toy_rows(), never)


def test_a_run_that_would_not_fit_is_refused_with_how_to_make_room(disk: Path):
    small = disk / "workspace"
    small.mkdir()
    fill_workspace(small)
    leave(disk, 4 * 2**20)
    with pytest.raises(NoRoom) as told:
        fits(small, "toy", toy_rows(), everything)
    said = str(told.value)
    assert told.value.exit_status == 2
    assert "needs about 48.0 MiB (2 stages, assumed: 8 MiB a stage)" in said
    assert str(small) in said
    assert "MiB free" in said
    assert "assay prune" in said


def test_what_is_cached_needs_no_room(disk: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(preflight, "SPARE_BYTES", SPARE_BYTES // 16)
    small = disk / "workspace"
    small.mkdir()
    fill_workspace(small)
    leave(disk, 4 * 2**20)
    fits(small, "toy", toy_rows(), nothing)


@pytest.mark.parametrize("name", ["cache", "runs"])
def test_a_quota_holds_though_the_disk_has_room(workspace: Path, name: str):
    whole_run(workspace)
    git(workspace, "config", room.QUOTAS[name], "40m" if name == "cache" else "1k")
    if name == "cache":
        (workspace / ".dvc/cache/old").write_bytes(bytes(41 * 2**20))
    with pytest.raises(NoRoom, match=rf"of its quota of .*git config {room.QUOTAS[name]}.*prune"):
        fits(workspace, "toy", toy_rows(), everything)
    [check] = doctor._quotas(workspace)
    assert (check.name, check.ok, check.mend) == (f"{name} quota", False, "assay prune")
    assert ("of 40.0 MiB" if name == "cache" else "of 0.0 MiB") in check.found
    git(workspace, "config", room.QUOTAS[name], "10g")
    fits(workspace, "toy", toy_rows(), never)
    assert [one.ok for one in doctor._quotas(workspace)] == [True]


def test_a_quota_that_is_no_size_is_named(workspace: Path):
    git(workspace, "config", "assay.cachequota", "much")
    with pytest.raises(NoRoom, match=r"git config assay.cachequota: .* 20g. Got: much"):
        fits(workspace, "toy", toy_rows(), never)


def test_what_is_linked_to_the_cache_is_not_counted_twice(tmp_path: Path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "runs/tree").mkdir(parents=True)
    (tmp_path / "cache/object").write_bytes(bytes(1 << 20))
    (tmp_path / "runs/tree/linked").hardlink_to(tmp_path / "cache/object")
    (tmp_path / "runs/own").write_bytes(bytes(1 << 16))
    assert size_bytes(tmp_path / "cache", linked=True) >= 1 << 20
    assert size_bytes(tmp_path / "runs", linked=False) == 1 << 16


def test_what_adds_nothing_is_no_fault_of_a_quota_that_is_passed(workspace: Path):
    git(workspace, "config", "assay.cachequota", "1k")
    (workspace / ".dvc/cache").mkdir(exist_ok=True)
    (workspace / ".dvc/cache/old").write_bytes(bytes(2048))
    places = room.rooms(workspace)
    room.check(workspace, {"cache": 0, "runs": 1}, "0 stages", places)
    with pytest.raises(NoRoom, match="cachequota"):
        room.check(workspace, {"cache": 1, "runs": 1}, "1 stage", places)

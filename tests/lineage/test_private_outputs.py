"""Outputs that hold samples of a private case stay on this machine; DVC itself leaves them out."""

import json
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from toy_workspace import FakeRunner, dvc, git, quiet, toy_rows, write_graph

from lineage.dvc_yaml import compose, entry
from lineage.engine import Engine
from lineage.job_folder import fill, job_folder
from lineage.row import Row

SAMPLE = "picture"  # the first stage's output, and of no other


def private_rows() -> tuple[Row, Row]:
    first, second = toy_rows()
    return replace(first, private=True, holds_samples=True), replace(second, private=True)


@pytest.fixture
def private(workspace: Path) -> Path:
    write_graph(workspace, private_rows())
    git(workspace, "commit", "-qam", "A private case")
    dvc(workspace, "remote", "add", "-d", "near", str(workspace.parent / "remote"), "-q")
    return workspace


def advance(workspace: Path, rows: tuple[Row, ...]) -> None:
    engine = Engine(workspace, runner=FakeRunner(), run_id="r", logs=workspace / ".assay/logs")
    for row in rows:
        engine.advance(row, on_line=quiet, cancel=threading.Event())
    engine.close()


def held(folder: Path) -> str:
    return "\n".join(path.read_text() for path in folder.rglob("*") if path.is_file())


def test_only_what_holds_samples_of_a_private_case_is_kept_from_remotes():
    first, second = private_rows()
    assert entry(first)["outs"] == [{"artifacts/first": {"push": False}}]
    assert entry(second)["outs"] == ["artifacts/second"]
    assert entry(replace(first, private=False))["outs"] == ["artifacts/first"]
    assert "    - artifacts/first:\n        push: false\n" in compose([first, second])


@pytest.mark.parametrize("words", [["push"], ["push", "--run-cache"], ["push", "--all-commits"]])
def test_dvc_push_leaves_them_out(private: Path, words: list[str]):
    advance(private, private_rows())
    git(private, "add", "-A")
    git(private, "commit", "-qm", "Locks")
    dvc(private, *words)
    told = held(private.parent / "remote")
    assert "second of" in told
    assert SAMPLE not in told


def test_the_same_push_takes_them_where_nothing_is_private(private: Path):
    write_graph(private, toy_rows())
    advance(private, toy_rows())
    dvc(private, "push")
    assert SAMPLE in held(private.parent / "remote")


def test_the_lock_is_what_dvc_repro_writes(private: Path):
    rows = private_rows()
    advance(private, rows)
    lock = private / "cases/toy/dvc.lock"
    ours = lock.read_bytes()
    assert "Running stage" not in dvc(private, "repro", "cases/toy/dvc.yaml")
    assert lock.read_bytes() == ours
    # DVC's own run of the first stage, from nothing, by a command that makes the same files.
    copying = "mkdir -p artifacts && cp -r ../../made artifacts/first"
    shutil.copytree(private / rows[0].folder, private / "made")
    shutil.rmtree(private / rows[0].folder)
    shutil.rmtree(private / ".dvc/cache")
    lock.unlink()
    write_graph(private, (replace(rows[0], command=copying), rows[1]))
    dvc(private, "repro", "cases/toy/dvc.yaml:first")
    theirs = lock.read_text().replace(copying, rows[0].command)
    assert ours.decode().startswith(theirs)


@pytest.mark.parametrize("is_private", [True, False])
def test_a_job_is_told_whether_it_is_private(workspace: Path, *, is_private: bool):
    row = replace(toy_rows()[0], private=is_private)
    with job_folder(row, workspace) as folder:
        fill(folder, row, workspace)
        job = json.loads((folder.top / "job.json").read_text())
    assert job["private"] is is_private

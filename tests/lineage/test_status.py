"""What would be done, without doing it."""

import shutil
import threading
from pathlib import Path

import pytest
from toy_workspace import FakeRunner, quiet, row, toy_rows, write_graph

from lineage.engine import Engine
from lineage.status import ordered

LOCK = "cases/toy/dvc.lock"


@pytest.fixture
def done(workspace: Path) -> Engine:
    engine = Engine(workspace, runner=FakeRunner(), run_id="r", logs=workspace / ".assay/logs")
    for one in toy_rows():
        engine.advance(one, on_line=quiet, cancel=threading.Event())
    return engine


def test_nothing_was_run_yet(workspace: Path):
    engine = Engine(workspace, runner=FakeRunner(), run_id="r", logs=workspace / ".assay/logs")
    assert engine.status(toy_rows()) == {"first": "stale", "second": "stale"}


def test_all_is_current(done: Engine):
    assert done.status(toy_rows()) == {"first": "current", "second": "current"}


def test_a_stale_stage_makes_what_reads_it_stale(done: Engine, workspace: Path):
    (workspace / "cases/toy/data.txt").write_text("other")
    assert done.status(toy_rows()) == {"first": "stale", "second": "stale"}


def test_lost_outputs_are_restorable_downstream_too(done: Engine, workspace: Path):
    shutil.rmtree(workspace / "cases/toy/artifacts")
    (workspace / LOCK).unlink()
    assert done.status(toy_rows()) == {"first": "restorable", "second": "restorable"}


def test_a_lost_output_does_not_make_a_later_stage_stale(done: Engine, workspace: Path):
    shutil.rmtree(workspace / toy_rows()[0].folder)
    assert done.status(toy_rows()) == {"first": "restorable", "second": "current"}


def test_a_restorable_change_reaches_the_later_stage(done: Engine, workspace: Path):
    (workspace / "params.yaml").write_text("first:\n  n: 3\n")
    rows = toy_rows(3)
    done.advance(rows[0], on_line=quiet, cancel=threading.Event())
    assert done.status(rows) == {"first": "current", "second": "stale"}
    (workspace / "params.yaml").write_text("first:\n  n: 2\n")
    assert done.status(toy_rows()) == {"first": "restorable", "second": "current"}


def test_a_folder_inside_an_output_is_known_before_it_is_there(workspace: Path):
    first = toy_rows()[0]
    (workspace / "toys/third.py").write_text(
        "def run(params, inputs, into):\n    open(into + '/report.json', 'w').write('x')\n"
    )
    third = row("third", inputs={}, outputs={"report": "report.json"})
    from dataclasses import replace

    third = replace(third, inputs={"pictures": f"{first.folder}/pictures"})
    enter = (workspace / "toys/enter.py").read_text().replace("open(v).read()", "v")
    (workspace / "toys/enter.py").write_text(enter.replace('len(inputs["data"])', "1"))
    write_graph(workspace, [first, third])
    engine = Engine(workspace, runner=FakeRunner(), run_id="r", logs=workspace / ".assay/logs")
    for one in (first, third):
        engine.advance(one, on_line=quiet, cancel=threading.Event())
    shutil.rmtree(workspace / "cases/toy/artifacts")
    assert engine.status([first, third]) == {"first": "restorable", "third": "restorable"}


def test_rows_are_judged_in_the_order_of_their_data():
    first, second = toy_rows()
    assert [one.name for one in ordered([second, first])] == ["first", "second"]

"""`assay lineage` tells where a thing is from, as text, as JSON and as a picture."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from toy_runs import CASE, run_toy
from toy_workspace import git, quiet

from flows import workspace as workspaces
from flows.commands.lineage import lineage
from lineage.run_tags import read_run

SECOND = "cases/toy/artifacts/second/report.json"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def runs(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Two runs; the second has another param, and so another output of each stage."""
    monkeypatch.chdir(workspace)
    monkeypatch.setattr(workspaces, "find", lambda _: workspace)
    (workspace / "cases/toy/case.yaml").write_text(CASE)
    git(workspace, "add", "-A")
    git(workspace, "commit", "-qm", "A case")
    one = run_toy(workspace, 1)
    (workspace / "params.yaml").write_text("first:\n  n: 3\n")
    return one, run_toy(workspace, 2, n=3)


def test_an_artifact_is_traced_back_to_its_data_code_params_and_image(runs: tuple[str, str]):
    data, text, status = lineage(SECOND, None, quiet)
    assert status == 0
    assert data["run"]["id"] == runs[1]
    kinds = {(node["kind"], node["name"]) for node in data["back"]["nodes"]}
    assert kinds >= {
        ("data", "cases/toy/data.txt"),
        ("code", "toys/first.py"),
        ("params", "first"),
        ("image", "base@sha256:1"),
        ("stage", "first"),
    }
    lines = text.splitlines()
    assert "  data      cases/toy/data.txt  827ccb0eea8a" in lines
    assert "  params    first: n=3" in lines
    assert "  └─ first  ran in " in text
    assert lines[-1] == "nothing was made from it"


def test_raw_data_is_traced_forward_across_runs(runs: tuple[str, str]):
    data, text, _ = lineage("cases/toy/data.txt", None, quiet)
    made = {(one["stage"], one["ran_in"]) for one in data["forward"]}
    assert made == {(stage, run) for stage in ("first", "second") for run in runs}
    assert f"  toy: first, second\n    in {runs[0]}" in text
    assert "made by  no stage: it is data that was there before the run" in text


def test_a_run_says_which_others_hold_what_it_made(runs: tuple[str, str], workspace: Path):
    third = run_toy(workspace, 3, n=3)
    data, text, _ = lineage(runs[1], None, quiet)
    assert {run for one in data["forward"] for run in one["runs"]} == {runs[1], third}
    assert text.endswith(f"  toy: first, second\n    in {third}") or third in text
    told, text, _ = lineage(third, None, quiet)
    assert f"first  restored, ran in {runs[1]}" in text
    assert told["back"]["run"] == third


def test_a_log_is_told_as_one_with_the_executions_that_wrote_it(
    runs: tuple[str, str], workspace: Path
):
    digest = read_run(workspace, runs[0]).stages[0].log_sha256 or ""  # all toy logs are the same
    _, text, _ = lineage(digest, None, quiet)
    assert text.splitlines()[:2] == [
        "an image or a log, of 4 executions in runs: 2",
        f"told of run  {runs[1]}  done, gate closed",
    ]


def test_a_picture_has_a_box_for_each_stage_and_marks_what_was_asked_for(
    runs: tuple[str, str], workspace: Path, tmp_path: Path
):
    path = tmp_path / "picture.svg"
    lineage(SECOND, str(path), quiet)
    root = ET.fromstring(path.read_text())  # noqa: S314 - our own
    titles = [text.text for text in root.iter(f"{SVG}text") if text.get("font-size") == "12"]
    assert set(titles) == {"data.txt", "first", "second"}
    bold = [text.text for text in root.iter(f"{SVG}text") if text.get("font-weight")]
    assert bold == ["second"]
    assert len(list(root.iter(f"{SVG}path"))) == 2  # data -> first -> second
    small = [text.text for text in root.iter(f"{SVG}text") if text.get("font-size") == "10"]
    made = [
        stage.outputs[f"cases/toy/artifacts/{stage.name}"]
        for stage in read_run(workspace, runs[1]).stages
    ]
    assert {f"ran base {md5[:8]}" for md5 in made} <= set(small)
    (hover,) = (one.text for one in root.iter(f"{SVG}title") if str(one.text).startswith("first"))
    assert hover.splitlines()[1:] == ["base process:fake sha256:1", "n=3"]


def test_names_of_files_cannot_break_the_picture(workspace: Path, tmp_path: Path):
    from stages.plots_graph import Box, draw

    boxes = {"a": Box(title='<script>"&'), "b": Box(title="b", small="</svg>")}
    root = ET.fromstring(draw(boxes, {"b": ["a"]}, "<&>\"'", alone=True))  # noqa: S314
    assert root.get("aria-label") == "<&>\"'"
    assert not list(root.iter(f"{SVG}script"))

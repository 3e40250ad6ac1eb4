"""A run as an RO-Crate: accepted by the public validator, told truly, and refused once altered."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from toy_repeat import toy_run
from toy_workspace import FakeRunner, git

from flows.commands import export as command
from lineage.cache_objects import place
from lineage.dvc_repo import cache_of
from lineage.exports import NotExportable, differences
from lineage.provenance import RunRecord

HERE = Path(__file__).parent
CONTEXTS = HERE / "ro_crate_contexts.json"
IMAGE = f"sha256:{'1' * 64}"
PROFILE = "provenance-run-crate"
FIRST = "cases/toy/artifacts/first/report.json"
REPORT = "cases/toy/artifacts/second/report.json"


@pytest.fixture
def run(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> RunRecord:
    runner = FakeRunner("docker:key", image_id=IMAGE, base_digest="sha256:2", kind="docker")
    made = toy_run(workspace, runner=runner, isolation="docker")
    monkeypatch.setattr(command.workspace, "find", lambda _start: workspace)
    return made


def entities(crate: Path) -> dict[str, dict]:
    content = json.loads((crate / "ro-crate-metadata.json").read_text())
    return {one["@id"]: one for one in content["@graph"]}


def write(crate: Path, found: dict[str, dict]) -> None:
    content = json.loads((crate / "ro-crate-metadata.json").read_text())
    content["@graph"] = list(found.values())
    (crate / "ro-crate-metadata.json").write_text(json.dumps(content))


def test_a_crate_tells_who_made_what_of_what(run: RunRecord, tmp_path: Path) -> None:
    data, text, status = command.export(run.id, "ro-crate", str(tmp_path / "crate"))
    assert (status, text, data["lost"]) == (0, str(tmp_path / "crate"), [])
    found = entities(tmp_path / "crate")
    root = found["./"]
    assert [one["@id"] for one in root["conformsTo"]] == [
        "https://w3id.org/ro/wfrun/process/0.5",
        "https://w3id.org/ro/wfrun/workflow/0.5",
        "https://w3id.org/ro/wfrun/provenance/0.5",
        "https://w3id.org/workflowhub/workflow-ro-crate/1.0",
    ]
    workflow = found[root["mainEntity"]["@id"]]
    assert "ComputationalWorkflow" in workflow["@type"]
    assert [found[one["@id"]]["name"] for one in workflow["step"]] == ["first", "second"]
    assert workflow["version"] == run.commit

    action = found[f"#run-{run.id}-second"]
    assert action["instrument"] == {"@id": "#tool-second"}
    assert {"@id": "cases/toy/artifacts/first/report.json"} in action["object"]
    assert action["result"] == [{"@id": REPORT}]
    assert action["startTime"] == run.stages[1].started
    assert found[REPORT]["md5"] == run.stages[1].outputs[REPORT]
    assert (tmp_path / "crate" / REPORT).read_text() == "second of 10"
    whole = found[f"#run-{run.id}"]
    assert whole["instrument"] == root["mainEntity"]
    assert whole["actionStatus"]["@id"].endswith("CompletedActionStatus")
    assert {"@id": "#source-cases/toy/data.txt"} in whole["object"]
    assert (
        found["#source-cases/toy/data.txt"]["md5"]
        == run.stages[0].inputs["cases/toy/data.txt"].before
    )
    assert found["#param-first-n"]["value"] == 2
    image = found[action["containerImage"]["@id"]]
    assert (image["@type"], image["sha256"]) == ("ContainerImage", "1" * 64)
    for one in root["hasPart"]:
        assert (tmp_path / "crate" / one["@id"]).is_file()
    assert len(found) == len({*found})


def test_the_public_validator_takes_it_and_refuses_what_is_altered(
    run: RunRecord, tmp_path: Path
) -> None:
    """Its checks of the profile, offline."""
    python = Path(sys.prefix) / "rocrate/bin/python"
    if not python.exists():
        pytest.skip("roc-validator is not installed: make setup")
    command.export(run.id, "ro-crate", str(tmp_path / "whole"))
    known = json.loads(CONTEXTS.read_text())
    terms = {term for context in known.values() for term in context}
    for one in entities(tmp_path / "whole").values():
        kinds = one["@type"] if isinstance(one["@type"], list) else [one["@type"]]
        # The cached contexts are cut to what is used: a term that they lack would go unseen.
        assert {*kinds, *(key for key in one if not key.startswith("@"))} <= terms

    def altered(name: str) -> dict[str, dict]:
        shutil.copytree(tmp_path / "whole", tmp_path / name)
        return entities(tmp_path / name)

    found = altered("no-workflow")
    del found["./"]["mainEntity"]
    write(tmp_path / "no-workflow", found)
    found = altered("no-tool")
    del found[f"#run-{run.id}-first"]["instrument"]
    write(tmp_path / "no-tool", found)
    found = altered("no-file")
    (tmp_path / "no-file" / REPORT).unlink()
    names = ["whole", "no-workflow", "no-tool", "no-file"]
    crates = [str(tmp_path / name) for name in names]
    done = subprocess.run(
        [python, HERE / "validate_crates.py", CONTEXTS, PROFILE, *crates],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    said = json.loads(done.stdout.splitlines()[-1])
    wrong = {name: said[str(tmp_path / name)] for name in names}
    assert wrong["whole"] == []
    assert any("mainEntity" in line for line in wrong["no-workflow"]), wrong
    assert any("instrument" in line for line in wrong["no-tool"]), wrong
    assert any(REPORT in line for line in wrong["no-file"]), wrong


def test_what_no_schema_sees_is_refused_by_the_repository(run: RunRecord, tmp_path: Path) -> None:
    crate = tmp_path / "crate"
    command.export(run.id, "ro-crate", str(crate))
    assert command.check(str(crate))[2] == 0
    whole = entities(crate)

    def said(alter) -> tuple[int, str]:
        found = json.loads(json.dumps(whole))
        alter(found)
        write(crate, found)
        data, _, status = command.check(str(crate))
        write(crate, whole)
        return status, " ".join(data["wrong"])

    for alter, named in [
        (lambda found: found[REPORT].update(sha256="0" * 64), f"{REPORT}.sha256"),
        (lambda found: found.pop("#control-first"), "#control-first: missing"),
        (lambda found: found["./"].update(description="All is well."), "./.description"),
        (lambda found: found.update(more={"@id": "more", "@type": "File"}), "more: not of this"),
    ]:
        status, text = said(alter)
        assert status == 1
        assert named in text
    (crate / REPORT).write_text("second of 11")
    data, text, status = command.check(str(crate))
    assert status == 1
    assert [line.partition(":")[0] for line in data["wrong"]] == [f"files.{REPORT}"]
    assert "does not tell of run" in text

    packed = tmp_path / "crate.zip"
    command.export(run.id, "ro-crate", str(packed))
    assert command.check(str(packed))[2] == 0


def test_what_the_cache_has_lost_or_holds_damaged_is_told_and_what_is_no_export_refused(
    workspace: Path, run: RunRecord, tmp_path: Path
) -> None:
    place(cache_of(workspace), run.stages[1].outputs[REPORT]).unlink()
    damaged = place(cache_of(workspace), run.stages[0].outputs[FIRST])
    damaged.chmod(0o644)
    damaged.write_text("11")
    data, text, _ = command.export(run.id, "ro-crate", str(tmp_path / "crate"))
    assert data["lost"] == [FIRST, REPORT]
    assert not (tmp_path / "crate" / FIRST).exists()
    assert "sha256" not in entities(tmp_path / "crate")[f"#absent-{FIRST}"]
    assert f"the cache has lost {REPORT}" in text
    assert "sha256" not in entities(tmp_path / "crate")[f"#absent-{REPORT}"]
    assert command.check(str(tmp_path / "crate"))[2] == 0
    (tmp_path / "other").mkdir()
    (tmp_path / "other/precious").touch()
    with pytest.raises(NotExportable, match="exists and is no crate of assay"):
        command.export(run.id, "ro-crate", str(tmp_path / "other"))
    with pytest.raises(NotExportable, match="cannot be read as an export"):
        command.check(str(tmp_path / "other"))
    (tmp_path / "any.json").write_text("{}")
    with pytest.raises(NotExportable, match="is neither an RO-Crate"):
        command.check(str(tmp_path / "any.json"))
    assert git(workspace, "status", "--porcelain") == ""


def test_differences_are_named_by_their_place() -> None:
    old = {"a": [{"name": "x", "n": 1}, {"name": "y", "n": 2}], "b": [1, 2]}
    assert differences(old, json.loads(json.dumps(old))) == []
    new = {"a": [{"name": "y", "n": 3}, {"name": "x", "n": 1}], "b": [1], "c": 0}
    assert differences(old, new) == [
        "a.y.n: 2, not 3",
        "b: 2 entries, not 1",
        "c: not of this run",
    ]
    assert differences({"a": 1}, {"a": True}) == ["a: 1, not True"]

"""A run as an in-toto statement: taken by the public library, true, and refused once altered."""

import json
from hashlib import sha256
from pathlib import Path

import pytest
from toy_repeat import toy_run

from flows.commands import export as command
from lineage.provenance import RunRecord

REPORT = "cases/toy/artifacts/second/report.json"


@pytest.fixture
def made(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[RunRecord, Path, dict]:
    run = toy_run(workspace)
    monkeypatch.setattr(command.workspace, "find", lambda _start: workspace)
    _, text, status = command.export(run.id, "in-toto", None)
    assert status == 0
    path = Path(text)
    assert path == workspace / f".assay/exports/{run.id}.intoto.json"
    return run, path, json.loads(path.read_text())


def validate(content: dict) -> None:
    """What the public library says of it: the statement, its subjects, and SLSA's provenance."""
    from google.protobuf.json_format import ParseDict
    from in_toto_attestation.predicates.provenance.v1.provenance_pb2 import Provenance
    from in_toto_attestation.v1.resource_descriptor import ResourceDescriptor
    from in_toto_attestation.v1.statement import Statement
    from in_toto_attestation.v1.statement_pb2 import Statement as Wire

    wire = ParseDict(content, Wire())
    read = Statement.copy_from_pb(wire)
    read.validate()
    assert content["predicateType"] == "https://slsa.dev/provenance/v1"
    predicate = ParseDict(content["predicate"], Provenance())
    assert predicate.build_definition.build_type
    assert predicate.run_details.builder.id
    for one in predicate.build_definition.resolved_dependencies:
        ResourceDescriptor.copy_from_pb(one).validate()


def test_a_statement_tells_what_was_made_of_what(made) -> None:
    run, _, content = made
    validate(content)
    assert content["_type"] == "https://in-toto.io/Statement/v1"
    subjects = {one["name"]: one["digest"] for one in content["subject"]}
    assert len(subjects) == 3
    assert subjects[REPORT]["md5"] == run.stages[1].outputs[REPORT]
    assert subjects[REPORT]["sha256"] == sha256(b"second of 10").hexdigest()
    definition, details = (content["predicate"][key] for key in ("buildDefinition", "runDetails"))
    assert definition["externalParameters"]["case"] == "toy"
    assert definition["externalParameters"]["params"] == {"first": {"n": 2}}
    assert definition["internalParameters"]["stages"]["first"]["params"] == {"n": 2}
    needed = {one["name"]: one["digest"] for one in definition["resolvedDependencies"]}
    assert needed["commit"] == {"gitCommit": run.commit}
    assert needed["cases/toy/data.txt"] == {
        "md5": run.stages[0].inputs["cases/toy/data.txt"].before
    }
    assert "toys/first.py" in needed
    assert details["builder"]["id"] == "urn:assay:builder:process"
    assert details["metadata"]["invocationId"] == run.id
    logs = {one["name"]: one["digest"]["sha256"] for one in details["byproducts"]}
    assert logs["logs/second.log"] == run.stages[1].log_sha256


def test_what_is_empty_or_malformed_is_refused_by_the_library(made) -> None:
    _, _, content = made
    for alter in (
        lambda it: it.update(subject=[]),
        lambda it: it["predicate"].clear(),
        lambda it: it["subject"][0].pop("digest"),
        lambda it: it.update(_type="https://in-toto.io/Statement/v0"),
        lambda it: it["predicate"]["runDetails"].update(metadata={"started": 1}),
    ):
        altered = json.loads(json.dumps(content))
        alter(altered)
        with pytest.raises(Exception):  # noqa: B017, PT011  the library raises several
            validate(altered)


def test_what_no_schema_sees_is_refused_by_the_repository(made) -> None:
    _, path, content = made
    assert command.check(str(path))[2] == 0

    def said(alter) -> tuple[int, list[str]]:
        altered = json.loads(json.dumps(content))
        alter(altered)
        validate(altered)
        path.write_text(json.dumps(altered))
        data, _, status = command.check(str(path))
        return status, data["wrong"]

    last = len(content["subject"]) - 1
    for alter, named in [
        (
            lambda it: it["subject"][last]["digest"].update(sha256="0" * 64),
            f"{REPORT}.digest.sha256",
        ),
        (lambda it: it["subject"].pop(last), f"{REPORT}: missing"),
        (
            lambda it: it["predicate"]["buildDefinition"]["externalParameters"].update(case="x"),
            "externalParameters.case: 'toy', not 'x'",
        ),
    ]:
        status, wrong = said(alter)
        assert status == 1
        assert len(wrong) == 1
        assert named in wrong[0]

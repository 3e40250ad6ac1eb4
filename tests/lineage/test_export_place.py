"""Where an export is written: a person's own things stay, and what is no export is refused."""

import json
import zipfile
from pathlib import Path

import pytest
from toy_repeat import toy_run

from flows.commands import export as command
from lineage.exports import NotExportable
from lineage.provenance import RunRecord

METADATA = "ro-crate-metadata.json"


@pytest.fixture
def run(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> RunRecord:
    monkeypatch.setattr(command.workspace, "find", lambda _start: workspace)
    return toy_run(workspace)


def test_only_an_export_of_assay_is_replaced(run: RunRecord, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / METADATA).write_text("{}")
    (mine / "thesis.txt").write_text("years")
    packed = tmp_path / "mine.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("thesis.txt", "years")
    note = tmp_path / "note.json"
    note.write_text('{"predicateType": "https://slsa.dev/provenance/v1"}')
    whole = packed.read_bytes()
    for form, path in [
        ("ro-crate", mine), ("ro-crate", packed), ("in-toto", note), ("in-toto", mine),
        ("ro-crate", note),
    ]:  # fmt: skip
        with pytest.raises(NotExportable, match=f"{path} exists and is no .* --out PATH") as said:
            command.export(run.id, form, str(path))
        assert said.value.exit_status == 2
    assert (mine / "thesis.txt").read_text() == "years"
    assert packed.read_bytes() == whole
    assert json.loads(note.read_text()) == {"predicateType": "https://slsa.dev/provenance/v1"}
    for form, name in [("ro-crate", "crate"), ("ro-crate", "crate.zip"), ("in-toto", "told.json")]:
        for _ in range(2):  # its own export is replaced
            assert command.export(run.id, form, str(tmp_path / name))[2] == 0
        assert command.check(str(tmp_path / name))[2] == 0
    (tmp_path / "crate/thesis.txt").write_text("years")
    with pytest.raises(NotExportable, match=r"holds what is none of its crate: thesis\.txt"):
        command.export(run.id, "ro-crate", str(tmp_path / "crate"))
    assert (tmp_path / "crate/thesis.txt").read_text() == "years"
    (tmp_path / "link").symlink_to(tmp_path / "crate")
    with pytest.raises(NotExportable, match="is a link"):
        command.export(run.id, "ro-crate", str(tmp_path / "link"))

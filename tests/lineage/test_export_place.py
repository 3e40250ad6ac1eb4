"""Where an export is written: a person's own things stay, and what is no export is refused."""

import json
import os
import signal
import subprocess
import sys
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


def test_an_export_that_is_ended_leaves_the_earlier_one(
    run: RunRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crate = tmp_path / "crate"
    command.export(run.id, "ro-crate", str(crate))
    dead = subprocess.run(
        [sys.executable, "-c", "from containers.scratch import mark; print(mark())"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    left, other = tmp_path / f".crate-{dead}-x", tmp_path / ".crate-of-mine"
    left.mkdir()
    other.mkdir()
    replace = Path.replace

    def ended(path: Path, target: Path) -> Path:
        if path.name == "crate" and target == crate:  # the new one is about to take its place
            raise KeyboardInterrupt
        return replace(path, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", ended)
        with pytest.raises(KeyboardInterrupt):
            command.export(run.id, "ro-crate", str(crate))
    assert command.check(str(crate))[2] == 0
    assert sorted(path.name for path in tmp_path.glob(".crate-*")) == [".crate-of-mine"]


def test_sigterm_ends_a_command_as_ctrl_c_does() -> None:
    """A command that waits is told to end once it says that it has begun."""
    waits = (
        "import sys, time, types\n"
        "from flows.cli_words import answer\n"
        "def wait():\n"
        "    try:\n"
        "        print('begun', flush=True); time.sleep(600)\n"
        "    finally:\n"
        "        print('cleared', flush=True)\n"
        "sys.modules['flows.commands.waits'] = types.SimpleNamespace(wait=wait)\n"
        "answer(False, 'waits', 'wait')\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", waits], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        os.kill(process.pid, signal.SIGTERM)
        out, told = process.communicate(timeout=120)
    assert (process.returncode, out, told) == (130, "cleared\n", "cancelled\n")


def test_what_cannot_be_read_as_an_export_is_refused(run: RunRecord, tmp_path: Path) -> None:
    pipe, beside = tmp_path / "pipe", tmp_path / "beside"
    os.mkfifo(pipe)  # nobody writes to it: a read would never end
    beside.mkdir()
    os.mkfifo(beside / METADATA)
    nest = tmp_path / "nest.json"
    nest.write_text("[" * 100_000)
    encrypted, unknown, cut = (tmp_path / f"{name}.zip" for name in ("encrypted", "unknown", "cut"))
    told = tmp_path / "told.zip"
    command.export(run.id, "ro-crate", str(told))
    with zipfile.ZipFile(told) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        starts = [archive.getinfo(name).header_offset for name in names]
    whole = told.read_bytes()
    central = whole.index(b"PK\x01\x02")
    flagged, method, wrong = (bytearray(whole) for _ in range(3))
    at = starts[0]
    entry = next(
        found
        for found in range(central, len(whole))
        if whole[found : found + 4] == b"PK\x01\x02"
        and int.from_bytes(whole[found + 42 : found + 46], "little") == at
    )
    flagged[at + 6] |= 1
    flagged[entry + 8] |= 1
    method[at + 8] = method[entry + 10] = 99
    wrong[entry + 16] ^= 1  # its checksum
    encrypted.write_bytes(flagged)
    unknown.write_bytes(method)
    cut.write_bytes(wrong)
    for path in (pipe, beside, Path("/dev/zero"), nest, encrypted, unknown, cut, tmp_path / "no"):
        with pytest.raises(NotExportable, match=f"{path} cannot be read as an export: .+") as said:
            command.check(str(path))
        assert said.value.exit_status == 2
        assert "\n" not in str(said.value)

"""Data that lies about itself: one error that names file and row, and nothing is run."""

import gzip
import io
import json
import os
import struct
import tarfile
import warnings
import zipfile
from types import SimpleNamespace

import bait
import numpy as np
import pytest

from flows.faults import Faults
from flows.scaffold import samples
from flows.scaffold.new_case import _copy_recording
from flows.scaffold.read_arrays import read_npy, read_npz
from flows.scaffold.read_folders import read_class_folders, read_listed_files
from flows.scaffold.read_tars import read_tars
from flows.scaffold.samples import Columns
from stages import dataset_folder, recording
from stages.sample_table import UnreadableError, read_sample
from stages.stage import InputFault

WORDS = "what nobody else may read"


def npy(header: str, body: bytes = bytes(64)) -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + body


def header(shape: str, kind: str = "<f8") -> str:
    return f"{{'descr':'{kind}','fortran_order':False,'shape':{shape}}}"


LYING = {
    "larger than any disk": npy(header("(100000000000,2)")),
    "beyond every number": npy(header(f"({10**18},1000)")),
    "a negative length": npy(header("(-1,3)")),
    "a length that is true": npy(header("(True,2)")),
    "an expression": npy(header("(10**9,10**9)")),
    "a call": npy("__import__('os').mkdir('canary')"),
    "deeply nested": npy("(" * 5000 + ")" * 5000),
    "of nothing": b"",
    "cut off": b"\x93NUM",
    "of a version to come": b"\x93NUMPY\x09\x00aa",
    "an unclosed text": npy("{'descr':'"),
    "of no size and less": npy(header("(-1,)", "|S0")),
    "of objects": npy(header("(1,2)", "|O")),
}


def dataset(folder, manifest, **files):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.csv").write_text(f"id,row,path,label,group\n{manifest}\n")
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_bytes(content)
    return folder


def take_in(folder, tmp_path):
    return dataset_folder.take_in(folder, tmp_path / "taken", "data.sim", "here")


@pytest.mark.parametrize("content", LYING.values(), ids=LYING.keys())
@pytest.mark.filterwarnings("ignore:overflow")
def test_an_array_that_lies_is_one_fault(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    folder = dataset(tmp_path / "set", "a,0,,1,g", samples__npy=content)
    with pytest.raises(InputFault, match=r"samples\.npy"):
        take_in(folder, tmp_path)
    with pytest.raises(Faults, match=r"--sim: samples\.npy"):
        next(read_npy(folder / "samples.npy", "", "--sim").items)
    with zipfile.ZipFile(tmp_path / "all.npz", "w") as archive:
        archive.writestr("samples.npy", content)
    with pytest.raises(Faults, match=r"--sim: all\.npz"):
        next(read_npz(tmp_path / "all.npz", "", "--sim").items)
    (tmp_path / "renamed.npz").write_bytes(content)
    with pytest.raises(Faults, match=r"renamed\.npz: it cannot be read: it is no archive"):
        read_npz(tmp_path / "renamed.npz", "", "--sim")
    (folder / "one.npy").write_bytes(content)
    with pytest.raises(UnreadableError):
        read_sample(folder, "one.npy")
    assert not (tmp_path / "canary").exists()


def test_a_recording_taken_into_a_new_case_is_opened_as_an_archive_alone(tmp_path):
    (tmp_path / "log").mkdir()
    content = npy(header("(-1,)", "|S0"))  # numpy's reader would end the process
    (tmp_path / "log/tensors.npz").write_bytes(content)
    asked = SimpleNamespace(recorded=str(tmp_path / "log"))
    with pytest.raises(Faults, match=r"--recorded: .*tensors\.npz is no \.npz"):
        _copy_recording(asked, tmp_path, ["s"])
    bait.write_npz(tmp_path / "log/tensors.npz", tmp_path / "canary", "ids", "step_s")
    (tmp_path / "again").mkdir()
    assert _copy_recording(asked, tmp_path / "again", ["s", "t"]) == ["s", "t"]
    assert not (tmp_path / "canary").exists()


def test_a_cell_of_several_lines_makes_no_fault_of_its_own(tmp_path):
    forged = '"b\ndata.sim, manifest.csv: all is well."'
    folder = dataset(tmp_path / "set", f"{forged},0,,1,g\n{forged},0,,1,g")
    with pytest.raises(InputFault) as caught:
        take_in(folder, tmp_path)
    lines = str(caught.value).splitlines()
    assert not [line for line in lines if line.startswith("data.sim, manifest.csv: all is")]


def test_one_number_is_no_set_of_samples(tmp_path):
    (tmp_path / "samples.npy").write_bytes(npy(header("()")))
    with pytest.raises(Faults, match=r"--sim: samples\.npy: samples is float64 without an axis"):
        read_npy(tmp_path / "samples.npy", "", "--sim")


@pytest.mark.parametrize("content", LYING.values(), ids=LYING.keys())
@pytest.mark.filterwarnings("ignore:overflow")
def test_a_recording_that_lies_is_one_fault(tmp_path, content):
    folder = tmp_path / "recorded"
    folder.mkdir()
    with zipfile.ZipFile(folder / "tensors.npz", "w") as archive:
        archive.writestr("ids.npy", content)
        archive.writestr("input.npy", content)
    with pytest.raises(InputFault, match=r"candidate\.recorded: tensors\.npz"):
        recording.take_in(folder, tmp_path / "taken", "candidate.recorded")


@pytest.mark.parametrize("file", ["tensors.npz", "predictions.npz"])
def test_a_recording_is_not_unpickled(tmp_path, file):
    folder = tmp_path / "recorded"
    folder.mkdir()
    names = ("ids", "input") if file == "tensors.npz" else ("ids", "labels")
    bait.write_npz(folder / file, tmp_path / "canary", *names)
    with pytest.raises(InputFault, match="Python objects"):
        recording.take_in(folder, tmp_path / "taken", "candidate.recorded")
    assert not (tmp_path / "canary").exists()


@pytest.mark.parametrize(
    "path", ["../secret", "/etc/passwd", "a/../../secret", "n\x00ul", "x" * 999]
)
def test_a_manifest_stays_in_its_folder(tmp_path, path):
    (tmp_path / "secret").write_text(WORDS)
    folder = dataset(tmp_path / "set", f"a,,{path},1,g")
    with pytest.raises(InputFault, match=r"data\.sim.*manifest"):
        take_in(folder, tmp_path)
    with pytest.raises(UnreadableError):
        read_sample(folder, path)
    assert not (tmp_path / "taken").exists()


@pytest.mark.parametrize("row", ["9" * 5000, "-1", "1e3", "٣" * 30])
def test_the_number_of_a_row_is_a_number(tmp_path, row):
    good = io.BytesIO()
    np.save(good, np.zeros((2, 2)))
    folder = dataset(tmp_path / "set", f"a,{row},,1,g", samples__npy=good.getvalue())
    with pytest.raises(InputFault, match="line 2"):
        take_in(folder, tmp_path)


def links(folder, to):
    """Link to a secret, one of its own name, and by way of a folder."""
    (folder / "a.png").symlink_to(to / "secret")
    (folder / "b").symlink_to(to)
    return ["a.png", "b/secret"]


def test_a_link_out_of_a_dataset_is_not_followed(tmp_path):
    (tmp_path / "secret").write_text(WORDS)
    folder = dataset(tmp_path / "set", "")
    for path in links(folder, tmp_path):
        dataset(folder, f"a,,{path},1,g")
        with pytest.raises(InputFault, match="a link out of the folder"):
            take_in(folder, tmp_path)
    (tmp_path / "elsewhere.csv").write_text("id,row,path,label,group\n")
    (folder / "manifest.csv").unlink()
    (folder / "manifest.csv").symlink_to(tmp_path / "elsewhere.csv")
    with pytest.raises(InputFault, match=r"manifest\.csv is a link"):
        take_in(folder, tmp_path)


def test_a_new_case_takes_no_file_by_a_link(tmp_path):
    (tmp_path / "secret").write_text(WORDS)
    (tmp_path / "set/cats").mkdir(parents=True)
    links(tmp_path / "set/cats", tmp_path)
    reading = read_class_folders(tmp_path / "set", "--sim")
    with pytest.raises(Faults, match=r"--sim: .*a\.png is a link"):
        samples.write_samples(reading, tmp_path / "taken", "--sim")
    table = tmp_path / "set/cats/labels.csv"
    table.write_text("path,label\nb/secret,1\n")
    with pytest.raises(Faults, match="no such file: line 2"):
        read_listed_files(table, Columns(), "--sim")
    assert WORDS not in "".join(
        p.read_text() for p in (tmp_path / "taken").rglob("*") if p.is_file()
    )


def shard(path, *members, mode="w"):
    with tarfile.open(path, mode) as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
    return path


def member(name, content=b"", **fields):
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for field, value in fields.items():
        setattr(info, field, value)
    return info, content


@pytest.mark.parametrize(
    "odd",
    [
        member("../../escape.png", b"x"),
        member("/srv/escape.png", b"x"),
        member("link.png", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        member("hard.png", type=tarfile.LNKTYPE, linkname="/etc/passwd"),
        member("pipe.png", type=tarfile.FIFOTYPE),
        member("device.png", type=tarfile.CHRTYPE),
        member("a.json", b"[" * 100_000),
    ],
    ids=["above", "absolute", "link", "hard link", "FIFO", "device", "deep json"],
)
def test_a_shard_holds_plain_files(tmp_path, odd):
    path = shard(tmp_path / "s.tar", member("a.png", b"x"), odd)
    with pytest.raises(Faults, match=r"--sim: s\.tar"):
        list(read_tars([path], Columns(), "--sim").items)


def test_a_shard_that_unpacks_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("flows.scaffold.read_tars.MAX_MEMBER_BYTES", 1 << 20)
    zeros = bytes(1 << 20)
    members = [member(f"{at}.png", zeros) for at in range(20)]
    path = shard(tmp_path / "s.tar.gz", *members, mode="w:gz")
    assert path.stat().st_size < 1 << 17
    with pytest.raises(Faults, match="unpacks to more than 200 times its size"):
        list(read_tars([path], Columns(), "--sim").items)


def test_arrays_that_unpack_beyond_the_memory_are_refused(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "s.npz", x=np.zeros((1000, 1000)))
    free = type("Memory", (), {"available": 1 << 20})
    monkeypatch.setattr("psutil.virtual_memory", lambda: free)
    with pytest.raises(Faults, match="GiB of memory are free"):
        read_npz(tmp_path / "s.npz", "", "--sim")


def png(width, height):
    """Make a picture of a few bytes that claims to be of any size."""
    import zlib

    def chunk(kind, content):
        return (
            struct.pack(">I", len(content))
            + kind
            + content
            + struct.pack(">I", zlib.crc32(kind + content))
        )

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    rows = chunk(b"IDAT", zlib.compress(bytes(1000)))
    return b"\x89PNG\r\n\x1a\n" + head + rows + chunk(b"IEND", b"")


def test_a_picture_that_decodes_without_end_is_a_fault_of_its_row(tmp_path):
    (tmp_path / "a.png").write_bytes(png(60_000, 60_000))
    with pytest.raises(UnreadableError, match="decompression bomb"):
        read_sample(tmp_path, "a.png")


def test_a_picture_of_another_kind_starts_no_program(tmp_path, monkeypatch):
    page = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n%%EOF\n"
    (tmp_path / "a.png").write_bytes(page)
    monkeypatch.setattr(os, "system", None)
    monkeypatch.setattr("subprocess.Popen", None)
    with pytest.raises(UnreadableError, match="cannot identify"):
        read_sample(tmp_path, "a.png")


def test_a_parquet_file_says_no_more_than_it_holds(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    folder = tmp_path / "set"
    folder.mkdir()
    table = pa.table({"id": ["a"], "row": [[1, 2]], "label": [{"a": 1}], "group": [None]})
    # Extension types were once unpickled from the metadata (CVE-2023-47248).
    typed = {
        b"ARROW:extension:name": b"arrow.py_extension_type",
        b"ARROW:extension:metadata": bait.pickled(tmp_path / "canary"),
    }
    fields = [table.schema.field(0).with_metadata(typed), *list(table.schema)[1:]]
    parquet.write_table(table.cast(pa.schema(fields)), folder / "manifest.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(InputFault, match=r"data\.sim"):
            take_in(folder, tmp_path)
    assert not (tmp_path / "canary").exists()
    (folder / "manifest.parquet").write_bytes(gzip.compress(json.dumps({}).encode()))
    with pytest.raises(InputFault, match="its manifest cannot be read"):
        take_in(folder, tmp_path)

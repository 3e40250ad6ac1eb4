import sys

import numpy as np
import pandas as pd
import pytest
import toy as toys

from sides.case_code import CaseCodeError
from stages.data import DataParams, Inputs, run
from stages.dataset import read_manifest
from stages.stage import InputFault

HEAD = "id,row,path,label,group\n"


def folder(path, manifest=None, samples=None):
    path.mkdir(parents=True)
    if manifest is not None:
        (path / "manifest.csv").write_text(manifest)
    if samples is not None:
        np.save(path / "samples.npy", samples)
    return path


def take_in(tmp_path, real, sim=None):
    sim = sim or folder(tmp_path / "sim", HEAD + "s1,0,,1,g\n", np.zeros((1, 2)))
    into = tmp_path / "into"
    into.mkdir()
    return run(
        DataParams(), Inputs(train=None, sim=sim, real=real, candidate=None, last_good=None), into
    ), into


def test_given_folders_are_copied_under_a_canonical_manifest(tmp_path):
    text = "note,group,label,id,row\nfree,g1,3.0,a,1\n,,nan,b,0\n"
    real = folder(tmp_path / "real", text, np.arange(6, dtype=np.uint8).reshape(2, 3))
    outputs, into = take_in(tmp_path, real)
    manifest = (into / "real/manifest.csv").read_text()
    assert manifest == "id,row,path,label,group,note\na,1,,3,g1,free\nb,0,,,,\n"
    summary = outputs.report.datasets["real"]
    assert (summary.rows, summary.labelled, summary.groups) == (2, 1, 2)
    assert summary.source == "data.real"
    assert np.load(into / "real/samples.npy").tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_byte_order_mark_is_no_part_of_the_first_column(tmp_path):
    real = folder(tmp_path / "real", "\ufeff" + HEAD + "a,0,,1,g\n", np.zeros((1, 2)))
    _, into = take_in(tmp_path, real)
    assert read_manifest(into / "real")["id"].tolist() == ["a"]


def test_a_missing_train_set_is_a_manifest_without_rows(tmp_path):
    real = folder(tmp_path / "real", HEAD + "a,0,,1,g\n", np.zeros((1, 2)))
    outputs, into = take_in(tmp_path, real)
    assert set(outputs.report.datasets) == {"sim", "real"}
    assert read_manifest(into / "train").empty


def test_a_parquet_manifest_and_files_are_taken_in(tmp_path):
    real = folder(tmp_path / "real")
    (real / "deep").mkdir()
    (real / "deep/a.png").write_bytes(b"a")
    (real / "not_named.png").write_bytes(b"b")
    lines = {"id": ["a", "b"], "path": ["deep/a.png"] * 2, "label": [2.0, None], "group": [7, 8]}
    pd.DataFrame(lines).to_parquet(real / "manifest.parquet")
    _, into = take_in(tmp_path, real)
    manifest = read_manifest(into / "real")
    assert manifest["label"].tolist() == ["2", ""]
    assert manifest["group"].tolist() == ["7", "8"]
    copied = sorted(path.name for path in (into / "real").rglob("*") if path.is_file())
    assert copied == ["a.png", "manifest.csv"]


@pytest.mark.parametrize(
    ("manifest", "samples", "words"),
    [
        pytest.param(None, None, "data.real: no manifest.csv", id="no manifest"),
        pytest.param("id,row\na,0\n", None, "missing columns: label, group. It has:", id="columns"),
        pytest.param("id,label,group\na,,\n", None, "row (or path)", id="no address column"),
        pytest.param(HEAD, None, "0 rows", id="no rows"),
        pytest.param("", None, "its manifest cannot be read", id="an empty file"),
        pytest.param(
            HEAD + "a,0,,,\na,1,,,\n", np.zeros((2, 2)), "line 3 (a) as in 2", id="an id twice"
        ),
        pytest.param(HEAD + ",0,,,\n", np.zeros((2, 2)), "no id: line 2.", id="an empty id"),
        pytest.param(HEAD + "a,,x.png,,\n", None, "no such file: line 2 (a) x.png", id="no file"),
        pytest.param(
            HEAD + "a,,../x,,\n", None, "leads out of the folder: line 2 (a)", id="a path out"
        ),
        pytest.param(HEAD + "a,,,,\n", None, "either row or path: line 2 (a)", id="no address"),
        pytest.param(
            HEAD + "a,2,,,\n", np.zeros((2, 2)), "not in samples.npy: line 2 (a) 2 of 2", id="range"
        ),
        pytest.param(
            HEAD + "a,x,,,\n", np.zeros((2, 2)), "no whole number: line 2 (a) x", id="no number"
        ),
        pytest.param(HEAD + "a,0,,,\n", None, "samples.npy: not there", id="no samples"),
        pytest.param(
            HEAD + "a,0,,,\n", np.zeros(2), "samples.npy: expected (rows, ...)", id="wrong rank"
        ),
        pytest.param(
            HEAD + "a,0,,,\n", np.array([["x"]]), "expected numbers, got <U1", id="wrong type"
        ),
    ],
)
def test_faults_of_structure_name_file_and_row(tmp_path, manifest, samples, words):
    with pytest.raises(InputFault) as caught:
        take_in(tmp_path, folder(tmp_path / "real", manifest, samples))
    assert str(caught.value).startswith("data.real")
    assert words in str(caught.value)


def test_samples_that_are_no_array_are_named(tmp_path):
    real = folder(tmp_path / "real", HEAD + "a,0,,,\n")
    (real / "samples.npy").write_bytes(b"no array")
    with pytest.raises(InputFault, match=r"data.real, samples.npy: cannot be read"):
        take_in(tmp_path, real)


def test_all_faults_are_listed_at_once(tmp_path):
    sim = folder(tmp_path / "sim", HEAD + "a,,x,,\na,,y,,\n")
    with pytest.raises(InputFault) as caught:
        take_in(tmp_path, folder(tmp_path / "real", HEAD), sim)
    lines = str(caught.value).splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "data.sim, manifest.csv",
        "data.sim, manifest.csv",
        "data.real, manifest",
    ]


MAKER = """
import numpy as np
from pathlib import Path

def make(out, seed):
    for name in ("sim", "real"):
        folder = Path(out) / name
        folder.mkdir()
        np.save(folder / "samples.npy", np.full((1, 2), seed))
        (folder / "manifest.csv").write_text("id,row,label,group\\na,0,1,g\\n")

def careless(out, seed):
    make(out, seed)
    (Path(out) / "real" / "samples.npy").unlink()

def failing(out, seed):
    raise OSError("no fonts")
"""


@pytest.fixture
def maker(tmp_path, monkeypatch):
    (tmp_path / "code").mkdir()
    (tmp_path / "code/toy_maker.py").write_text(MAKER)
    toys.look_in(tmp_path / "code", monkeypatch)
    (tmp_path / "into").mkdir()
    assert "toy_maker" not in sys.modules
    return tmp_path / "into"


def test_the_case_makes_its_own_samples(maker):
    params = DataParams(make="toy_maker:make", seed=7)
    outputs = run(
        params, Inputs(train=None, sim=None, real=None, candidate=None, last_good=None), maker
    )
    assert np.load(outputs.real / "samples.npy").tolist() == [[7, 7]]
    assert outputs.report.datasets["sim"].source == "toy_maker:make"
    assert read_manifest(outputs.real)["path"].tolist() == [""]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        pytest.param("careless", "made what cannot be used. real, samples.npy: not", id="careless"),
        pytest.param("failing", "OSError: no fonts", id="failing"),
    ],
)
def test_a_maker_that_goes_wrong_is_named(maker, name, words):
    params = DataParams(make=f"toy_maker:{name}")
    with pytest.raises(CaseCodeError, match=words):
        run(params, Inputs(train=None, sim=None, real=None, candidate=None, last_good=None), maker)

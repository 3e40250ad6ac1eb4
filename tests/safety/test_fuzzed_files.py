"""Any bytes as a person's file: one error with a status, never a traceback of ours.

A few examples here; `ASSAY_FUZZ=20000` for a long run.
"""

import os
import struct
from contextlib import contextmanager, suppress

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from flows.budget import seconds
from flows.case import Case
from flows.faults import Faults, plain, read_yaml, validate
from flows.scaffold.read_arrays import read_npy
from lineage import lock_text, yaml12
from lineage.provenance import RunRecord
from lineage.staging import take_note
from stages import dataset_folder, recording
from stages.contract_terms import read_contract
from stages.stage import InputFault

fuzz = settings(
    max_examples=int(os.environ.get("ASSAY_FUZZ", "25")),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
WORDS = [
    "a",
    "steps",
    "&a",
    "*a",
    "<<",
    "!!int",
    "!!python/name:os",
    "~",
    "1e9",
    ".nan",
    "0x",
    "- ",
]
TEXTS = st.one_of(
    st.text(max_size=80),
    st.lists(
        st.sampled_from([*WORDS, ":", "[", "]", "{", "}", ",", "\n", " ", '"']), max_size=40
    ).map("".join),
)
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=12,
)
GOOD = {
    "schema": 1,
    "title": "t",
    "task": "classification",
    "metric": "accuracy",
    "classes": 2,
    "data": {"make": "m:f", "contract": "c"},
    "train": {"call": "m:f"},
    "reference": {"steps": [{"name": "s", "call": "m:f"}], "model": "m:f"},
    "candidate": {"steps": [{"name": "s", "call": "m:f"}], "model": "m:f"},
}


@contextmanager
def refused(kind, words):
    """Let one kind of error pass, if all of its lines say where."""
    try:
        yield
    except kind as error:
        if not all(words in line for line in str(error).split("\n")):
            raise


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzzed")


@given(TEXTS)
@example("&0[&0")
@fuzz
def test_yaml_of_a_person(folder, text):
    path = folder / "case.yaml"
    path.write_text(text, encoding="utf-8", errors="replace")
    with refused(Faults, "case.yaml"):
        plain(read_yaml(path, "case.yaml"), "case.yaml")
    with refused(InputFault, "data_contracts/case.yaml"):
        read_contract(path)


@given(st.sampled_from(sorted(GOOD)), ANY, st.booleans())
@fuzz
def test_a_case_with_any_value_at_a_key(key, value, inside):
    content = {
        **GOOD,
        key: {**GOOD[key], "image": value} if inside and isinstance(GOOD[key], dict) else value,
    }
    with refused(Faults, "case.yaml"):
        validate(Case, content, content, "case.yaml")


@given(TEXTS)
@fuzz
def test_a_lock(folder, text):
    path, journal = folder / "dvc.lock", folder / "journal"
    path.write_text(text, encoding="utf-8", errors="replace")
    journal.unlink(missing_ok=True)
    with refused(lock_text.LockBroken, "dvc.lock"):
        assert isinstance(lock_text.read(path, journal)["stages"], dict)
    with suppress(yaml.YAMLError):
        yaml12.load(text)


@given(st.binary(max_size=60) | TEXTS.map(lambda text: text.encode(errors="replace")))
@fuzz
def test_a_note_of_a_stage_and_a_record_of_a_run(folder, content):
    (folder / "error.json").write_bytes(content)
    assert isinstance(take_note(folder, "error.json"), dict | None)
    with pytest.raises(ValueError, match="RunRecord"):
        RunRecord.model_validate_json(content)


@given(st.text(max_size=12))
@fuzz
def test_a_budget(text):
    with refused(ValueError, "expected a time as in 90s"):
        assert 0 < seconds(text) < 10**10


HEADERS = st.one_of(
    st.text(max_size=60),
    st.builds(
        "{{'descr':{!r},'fortran_order':{},'shape':{!r}}}".format,
        st.sampled_from(["<f8", "|O", "|V0", "<U3", "|S0", ">i2", "x", ""]),
        st.sampled_from(["True", "False", "None", "1"]),
        st.lists(st.integers(-(2**65), 2**65) | st.integers(-2, 9), max_size=4).map(tuple),
    ),
)


@given(HEADERS, st.binary(max_size=80))
@example("[", b"")
@fuzz
@pytest.mark.filterwarnings("ignore")
def test_an_array(folder, header, body):
    text = header.encode(errors="replace")
    content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + body
    (folder / "samples.npy").write_bytes(content)
    (folder / "manifest.csv").write_text("id,row,path,label,group\na,0,,1,g\n")
    with refused(InputFault, "data.sim"):
        dataset_folder.take_in(folder, folder, "data.sim", "here")
    with refused(Faults, "--sim"):
        next(iter(read_npy(folder / "samples.npy", "", "--sim").items), None)


@given(TEXTS)
@fuzz
def test_a_manifest_and_logged_predictions(folder, text):
    for name in ("samples.npy", "manifest.csv"):
        (folder / name).unlink(missing_ok=True)
    np.save(folder / "samples.npy", np.zeros((2, 2)))
    (folder / "manifest.csv").write_text(f"id,row,path,label,group\n{text}", errors="replace")
    (folder / "predictions.csv").write_text(f"id,label\n{text}", errors="replace")
    with refused(InputFault, "data.sim"):
        dataset_folder.take_in(folder, folder, "data.sim", "here")
    with refused(InputFault, "candidate.recorded"):
        recording.logged_ids(folder, "candidate.recorded")

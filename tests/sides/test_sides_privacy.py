"""With `pictures: none` nothing of a sample is told: no id, no value, no message, no print."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
ID, VALUE = "jane-doe-0042", "4711.25"
ROLES = f"""dataset,id,row,path,label,group,role
sim,s0,0,,1,g,validation
real,r0,0,,1,g,diagnose
real,{ID},1,,1,g,diagnose
"""
CODE = """
import os, subprocess, sys

def fail(raw):
    if raw[0] == 1: return raw
    print("seen", raw[0])
    print("seen", raw[0], file=sys.stderr)
    os.write(1, f"seen {raw[0]}".encode())
    subprocess.run(["echo", str(raw[0])])
    raise ValueError(f"cannot take {raw[0]}")

def text(raw):
    return raw if raw[0] == 1 else str(raw[0])

def grow(raw):
    return raw if raw[0] == 1 else raw[:1]

def parse(raw):
    return raw if raw[0] == 1 else compile(f"{raw[0]} {raw[0]}", "<data>", "eval")

def late(raw):
    import atexit, ctypes
    ctypes.CDLL(None).printf(b"seen %s", str(raw[0]).encode())  # in C's buffer until the end
    atexit.register(print, "seen", raw[0])
    return raw

def silent(raw):
    return raw
"""


def enter(folder: Path, function: str, *, private: bool) -> str:
    """Run one job and return all that it leaves in words: log, error and report."""
    (folder / "code").mkdir()
    (folder / "code/my_steps.py").write_text(CODE)
    (folder / "roles.csv").write_text(ROLES)
    for name, value in (("sim", 1.0), ("real", float(VALUE)), ("into", 0.0)):
        (folder / name).mkdir()
        np.save(folder / name / "samples.npy", np.repeat([[1.0], [value]], 3, axis=1))
    job = {
        "name": "preprocess-reference",
        "module": "sides.preprocess",
        "side": "reference",
        "params": {
            "steps": [{"name": "it", "call": f"my_steps:{function}", "args": {}}],
            "paired": 1,
            "recorded": None,
        },
        "inputs": {name: str(folder / name) for name in ("sim", "real")}
        | {"roles": str(folder / "roles.csv")},
        "into": str(folder / "into"),
        "code": [str(folder / "code")],
        "private": private,
    }
    (folder / "job.json").write_text(json.dumps(job))
    done = subprocess.run(
        [sys.executable, "-m", "sides.enter", str(folder / "job.json")],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    error = folder / "into/error.json"
    return done.stdout + done.stderr + (error.read_text() if error.exists() else "")


FAULTS = ["fail", "text", "grow", "parse"]


@pytest.mark.parametrize("function", FAULTS)
def test_a_step_that_fails_tells_the_place_and_nothing_of_the_sample(tmp_path, function: str):
    said = enter(tmp_path, function, private=True)
    assert ID not in said
    assert VALUE not in said
    assert "sample 1" in said
    assert "my_steps.py" in said or function in ("text", "grow")


@pytest.mark.parametrize("function", FAULTS)
def test_the_same_case_tells_them_where_nothing_is_private(tmp_path, function: str):
    assert ID in enter(tmp_path, function, private=False)


def test_an_exception_keeps_its_type_and_the_lines_of_code(tmp_path):
    said = enter(tmp_path, "fail", private=True)
    assert "ValueError (its message is withheld" in said
    assert 'File \\"my_steps.py\\", line 10, in fail' in said
    assert "cannot take {raw[0]}" in said, "the source is code, not data"


def test_what_is_printed_when_the_job_is_done_is_not_kept_either(tmp_path):
    assert VALUE not in enter(tmp_path, "late", private=True)


def test_what_is_printed_is_kept_where_nothing_is_private(tmp_path):
    assert enter(tmp_path, "late", private=False).count(VALUE) == 2


def test_that_nothing_printed_is_kept_is_said_once(tmp_path):
    said = enter(tmp_path, "silent", private=True)
    assert said.count("is not kept") == 1

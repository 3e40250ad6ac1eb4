import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
ROLES = "dataset,id,row,path,label,group,role\nsim,s0,0,,1,g,validation\nreal,r0,0,,1,g,diagnose\n"
CODE = """
def double(raw):
    return raw * 2

def fail(raw):
    raise ValueError("no")
"""


@pytest.fixture
def enter(tmp_path):
    def start(call="my_double:double", **replaced):
        (tmp_path / "code").mkdir()
        (tmp_path / "code/my_double.py").write_text(CODE)
        (tmp_path / "roles.csv").write_text(ROLES)
        for name in ("sim", "real", "into"):
            (tmp_path / name).mkdir()
            np.save(tmp_path / name / "samples.npy", np.ones((1, 3)))
        job = {
            "case": "toy",
            "name": "preprocess-reference",
            "stage": "preprocess",
            "module": "sides.preprocess",
            "side": "reference",
            "params": {
                "steps": [{"name": "double", "call": call, "args": {}}],
                "paired": 1,
                "recorded": None,
            },
            "inputs": {name: str(tmp_path / name) for name in ("sim", "real")}
            | {"roles": str(tmp_path / "roles.csv")},
            "into": str(tmp_path / "into"),
            "code": [str(tmp_path / "code")],
        } | replaced
        (tmp_path / "job.json").write_text(json.dumps(job))
        command = [sys.executable, "-m", "sides.enter", str(tmp_path / "job.json")]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    return start


def error(tmp_path):
    return json.loads((tmp_path / "into/error.json").read_text())


def test_a_job_that_is_done_exits_0_and_tells_where_it_ran(enter, tmp_path):
    done = enter()
    assert (done.returncode, done.stderr) == (0, "")
    assert np.load(tmp_path / "into/real.npy").tolist() == [[2.0, 2.0, 2.0]]
    assert json.loads((tmp_path / "into/inside.json").read_text())["torch"] is None
    assert not (tmp_path / "into/error.json").exists()


def test_the_cases_own_failure_exits_1_with_its_lines_only(enter, tmp_path):
    done = enter("my_double:fail")
    assert done.returncode == 1
    assert error(tmp_path)["kind"] == "case_code"
    assert error(tmp_path)["message"] == done.stderr.strip()
    assert 'File "my_double.py", line 6, in fail' in done.stderr
    assert "sides" not in done.stderr


def test_memory_does_not_grow_with_the_data(enter, tmp_path):
    def peak():
        return json.loads((tmp_path / "into/inside.json").read_text())["peak_rss_bytes"]

    enter()
    small = peak()
    rows = 2000
    np.save(tmp_path / "real/samples.npy", np.ones((rows, 128, 128), np.uint8))  # 31 MiB
    lines = [f"real,r{i},{i},,1,g,prove\n" for i in range(rows)]
    (tmp_path / "roles.csv").write_text("".join([*ROLES.splitlines(keepends=True)[:2], *lines]))
    shutil.rmtree(tmp_path / "into/steps")
    job = [sys.executable, "-m", "sides.enter", str(tmp_path / "job.json")]
    subprocess.run(job, cwd=ROOT, check=True)
    assert np.load(tmp_path / "into/real.npy", mmap_mode="r").nbytes > 120 << 20
    assert peak() < small + (12 << 20)


def test_a_missing_input_exits_2_and_names_it(enter, tmp_path):
    done = enter(inputs={"roles": str(tmp_path / "nowhere.csv"), "sim": None})
    assert done.returncode == 2
    assert error(tmp_path)["kind"] == "input"
    assert "nowhere.csv, which is not there" in done.stderr


def test_our_own_failure_exits_1_as_the_stages(enter, tmp_path):
    done = enter(params={})
    assert done.returncode == 1
    assert error(tmp_path) == {"kind": "stage", "message": "KeyError: 'steps'"}

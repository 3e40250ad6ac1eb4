"""What the doctor says: all that is needed, and the command that mends what is missing."""

import subprocess
import sys
from importlib import metadata
from types import SimpleNamespace

import pytest

from flows import doctor, server


@pytest.fixture(autouse=True)
def no_given_server(monkeypatch):
    monkeypatch.delenv("PREFECT_API_URL", raising=False)


def found(workspace):
    return {check.name: check for check in doctor.examine(workspace)}


def test_it_looks_at_everything_that_a_run_needs(tmp_path):
    assert set(found(tmp_path)) >= {
        *("python", "git", "git identity", "dvc", "prefect", "prefect server"),
        *("docker", "gpu", "disk", "file links", "memory", "chromium"),
    }


def test_whatever_is_broken_has_a_command_that_mends_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))  # no git, no docker, no nvidia-smi
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nowhere.sock")
    checks = found(tmp_path)
    assert not checks["git"].ok
    assert not checks["docker"].ok
    assert all(check.mend for check in checks.values() if check.ok is False)


def test_a_machine_with_no_engine_is_not_broken(tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nowhere.sock")
    assert found(tmp_path)["docker"].ok is None


def test_git_with_no_name_signs_runs_by_a_stand_in(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv(
        "GIT_CONFIG_KEY_0", "user.useConfigOnly"
    )  # else git guesses from the host's name
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "true")
    for name in ("GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "EMAIL"):
        monkeypatch.delenv(name, raising=False)
    check = found(tmp_path)["git identity"]
    assert check.ok is None
    assert "git config --global user.name" in check.mend


@pytest.mark.parametrize(
    ("version", "ok"),
    [
        pytest.param("3.67.1", True, id="as pinned"),
        pytest.param("3.60.0", False, id="another release"),
        pytest.param(None, False, id="absent"),
    ],
)
def test_dvc_is_compared_with_what_assay_asks_for(tmp_path, monkeypatch, version, ok):
    def installed(name):
        if version is None:
            raise metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr(metadata, "version", installed)
    monkeypatch.setattr(metadata, "requires", lambda name: ["dvc==3.67.1", "prefect<4,>=3.9"])
    check = found(tmp_path)["dvc"]
    assert check.ok is ok
    assert check.mend == ("" if ok else "make setup")


def test_a_given_server_that_does_not_answer_is_a_fault(tmp_path, monkeypatch):
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    check = found(tmp_path)["prefect server"]
    assert check.ok is False
    assert check.mend == "unset PREFECT_API_URL"


def test_a_server_of_our_own_that_hangs_is_to_be_stopped(tmp_path, monkeypatch):
    hung = server.Server(api_url="http://127.0.0.1:9/api", answers=False, pid=1, log="log")
    monkeypatch.setattr(server, "status", lambda workspace: hung)
    assert found(tmp_path)["prefect server"].mend == "assay server stop"


def test_a_full_disk_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda place: SimpleNamespace(free=2**30))
    assert found(tmp_path)["disk"].ok is False


def test_a_program_that_hangs_is_as_good_as_absent(tmp_path, monkeypatch):
    hangs = tmp_path / "nvidia-smi"
    hangs.write_text("#!/bin/sh\nexec sleep 30\n")
    hangs.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert found(tmp_path)["gpu"].found == "none"


def test_it_leaves_nothing_behind(tmp_path):
    doctor.examine(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_importing_it_costs_no_engine():
    heavy = "{'dvc', 'prefect', 'docker', 'torch', 'numpy'}"
    code = f"import flows.doctor, sys; raise SystemExit(bool({heavy} & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", code], check=True)

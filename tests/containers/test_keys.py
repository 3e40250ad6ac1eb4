"""An environment key says what a result depends on, and nothing of the host that it does not."""

from pathlib import Path

import pytest

from containers import images, keys, wheelhouse
from containers.job import RunnerError


@pytest.mark.parametrize("family", keys.FAMILIES)
def test_every_pin_is_exact_and_the_base_family_is_in_each(family):
    lines = keys.requirements_text(family).splitlines()
    assert all("==" in line for line in lines)
    assert set(keys.requirements_text("base").splitlines()) <= set(lines)


def test_a_key_changes_with_the_base_and_the_family_and_with_nothing_else(monkeypatch):
    monkeypatch.setenv(keys.BASE_VARIABLE, "one:1")
    one = keys.build_key("base")
    assert one == keys.build_key("base")
    assert one != keys.build_key("torch")
    monkeypatch.setenv(keys.BASE_VARIABLE, "two:1")
    assert one != keys.build_key("base")


def test_the_name_carries_twelve_digits_of_the_key():
    assert keys.image_name("base") == f"assay/base:{keys.build_key('base')[:12]}"


def test_an_unknown_family_is_answered_with_the_known_ones():
    with pytest.raises(RunnerError, match=r"One of: base, contracts, torch, onnx\. Got: bse"):
        keys.build_key("bse")


def test_a_process_key_follows_the_lock(tmp_path: Path):
    lock = tmp_path / "constraints.txt"
    lock.write_text("numpy==1\n")
    first = keys.process_key(lock)
    lock.write_text("numpy==2\n")
    assert first.startswith("process:")
    assert first != keys.process_key(lock)


def test_a_missing_lock_is_named_with_the_way_to_bring_it_back(tmp_path: Path):
    with pytest.raises(RunnerError, match=r"constraints\.txt cannot be read .*git checkout"):
        keys.process_key(tmp_path / "constraints.txt")


def test_a_wheelhouse_names_what_it_lacks_and_takes_local_versions(tmp_path: Path):
    torch = wheelhouse.pins("torch")["torch"]
    (tmp_path / f"torch-{torch}+cpu-cp311-cp311-linux_x86_64.whl").touch()
    (tmp_path / "numpy-0.1-cp311-cp311-linux_x86_64.whl").touch()
    found, missing = wheelhouse.select(tmp_path, "torch")
    assert [wheel.name[:5] for wheel in found] == ["torch"]
    assert f"numpy=={wheelhouse.pins('base')['numpy']}" in missing


def test_a_full_wheelhouse_is_not_filled_again(tmp_path: Path):
    for name, version in wheelhouse.pins("base").items():
        (tmp_path / f"{name.replace('-', '_')}-{version}-py3-none-any.whl").touch()
    said: list[str] = []
    wheelhouse.fill(tmp_path, ["base"], said.append)
    assert said == []


OURS = {"assay.family": "base"}


@pytest.mark.parametrize(
    ("labels", "seen", "digest"),
    [
        pytest.param({**OURS, "assay.base-digest": "sha256:1"}, [], "sha256:1", id="a base pulled"),
        pytest.param(OURS, ["here/assay@sha256:2"], None, id="a base imported, then pushed"),
        pytest.param(None, ["there/own@sha256:3"], "sha256:3", id="an image pulled"),
        pytest.param({}, [], None, id="an image that no registry saw"),
    ],
)
def test_a_record_has_the_digest_that_a_registry_knows(labels, seen, digest):
    found = images.registry_digest({"Config": {"Labels": labels}, "RepoDigests": seen})
    assert found == digest

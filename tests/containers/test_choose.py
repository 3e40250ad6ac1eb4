"""Which isolation, and why, in one line."""

import time
from pathlib import Path
from unittest.mock import MagicMock

import docker.errors
import pytest
import requests

from containers import engine as engines
from containers import images
from containers.choose import choose
from containers.job import RunnerError


@pytest.fixture
def no_engine(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")


def silent(line: str) -> None:
    raise AssertionError(line)


def test_auto_without_an_engine_is_a_process_at_once_and_says_why(no_engine):
    began = time.monotonic()
    runner, note = choose("auto", silent)
    assert time.monotonic() - began < 1.5  # a wait for an engine is 2 s
    assert runner.kind == "process"
    assert "No Docker engine answers" in note
    assert "none.sock" in note
    assert "\n" not in note


def test_docker_asked_for_and_absent_is_refused(no_engine):
    with pytest.raises(RunnerError, match="Start Docker, or set DOCKER_HOST"):
        choose("docker", silent)


def test_process_asked_for_needs_no_reason(no_engine):
    runner, note = choose("process", silent)
    assert (runner.kind, note) == ("process", "")


def test_another_word_is_answered_with_the_known_ones():
    with pytest.raises(RunnerError, match="auto, docker, process"):
        choose("podman", silent)


def test_an_engine_whose_images_cannot_be_built_gives_a_process(monkeypatch):
    def fail(*_args: object, **_kinds: object) -> None:
        raise images.ImageError("no base")

    monkeypatch.setattr(engines, "connect", lambda: None)
    monkeypatch.setattr(images, "build", fail)
    runner, note = choose("auto", silent)
    assert runner.kind == "process"
    assert "no base" in note
    with pytest.raises(RunnerError, match="no base"):
        choose("docker", silent)


@pytest.mark.parametrize(
    "error",
    [
        docker.errors.APIError("500 Server Error\nno space"),
        requests.ConnectionError("reset"),
        OSError("broken pipe"),
    ],
    ids=["a refusal", "a lost connection", "a broken socket"],
)
@pytest.mark.parametrize("step", ["images", "info"])
def test_an_engine_that_answers_and_then_fails_gives_a_process(monkeypatch, error, step):
    client = MagicMock()
    getattr(client, step).side_effect = error
    monkeypatch.setattr(engines, "connect", lambda: client)
    if step == "info":
        monkeypatch.setattr(images, "build", lambda *_args, **_kinds: None)
    runner, note = choose("auto", silent)
    assert runner.kind == "process"
    assert "answers and then fails" in note
    assert "\n" not in note
    with pytest.raises(RunnerError, match="docker info"):
        choose("docker", silent)


@pytest.mark.parametrize("isolation", ["auto", "process", "docker"])
def test_no_process_stands_in_for_a_foreign_image(no_engine, isolation):
    foreign = {"serve:1": "cases/toy/case.yaml: candidate.image"}
    with pytest.raises(RunnerError) as caught:
        choose(isolation, silent, foreign=foreign)
    assert caught.value.exit_status == 2
    if isolation != "docker":
        assert "candidate.image: serve:1 is an image of its own" in str(caught.value)
        assert "use `--isolation docker`, or name one of base, contracts" in str(caught.value)


def test_a_foreign_image_that_is_not_there_is_told_before_anything_runs(monkeypatch):
    client = MagicMock()
    client.inspect_image.side_effect = docker.errors.ImageNotFound("no")
    monkeypatch.setattr(engines, "connect", lambda: client)
    monkeypatch.setattr(images, "build", lambda *_args, **_kinds: None)
    for isolation in ("auto", "docker"):
        with pytest.raises(RunnerError, match="Bring it with `docker pull serve:1`"):
            choose(isolation, silent, foreign={"serve:1": "candidate.image"})


def test_docker_host_alone_is_asked_where_it_is_set(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "tcp://elsewhere:1")
    assert engines.addresses() == ("tcp://elsewhere:1",)
    monkeypatch.delenv("DOCKER_HOST")
    assert engines.addresses()[0] == "unix:///var/run/docker.sock"


@pytest.mark.docker
def test_auto_with_an_engine_and_images_is_docker(engine):
    runner, note = choose("auto", silent, families=["base"])
    assert (runner.kind, note) == ("docker", "Isolation: docker.")
    runner.client.close()

"""A dead owner is told from a live one, and one that cannot be seen counts as alive."""

import subprocess
import sys
from dataclasses import replace

import pytest

from containers.docker_fence import container_name
from containers.owner import Owner, started


def test_this_process_is_alive_and_survives_the_label():
    me = Owner.me()
    assert Owner.parse(str(me)) == me
    assert not me.is_dead()


def test_a_process_that_ended_is_dead():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        owner = replace(Owner.me(), pid=process.pid, started=started(process.pid) or "")
        assert not owner.is_dead()
    assert owner.is_dead()


@pytest.mark.parametrize(
    ("change", "dead"),
    [
        pytest.param({"started": "1"}, True, id="the number was given again"),
        pytest.param({"boot": "another"}, True, id="the machine was started again"),
        pytest.param({"host": "another"}, False, id="another machine cannot be looked into"),
        pytest.param({"pid_space": "another"}, False, id="nor another container"),
    ],
)
def test_what_is_known_of_an_owner(change, dead):
    assert replace(Owner.me(), **change).is_dead() is dead


@pytest.mark.parametrize("label", ["", "x", "a|b|c|d|e", "a|b|c|1"])
def test_a_label_of_someone_else_names_no_owner(label):
    assert Owner.parse(label) is None


def test_a_name_that_an_engine_refuses_is_changed_to_a_unique_one():
    assert container_name("digits.split-1") == "digits.split-1"
    one, two = container_name("digits@split"), container_name("digits/split")
    assert one != two
    assert "@" not in one

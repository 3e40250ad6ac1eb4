"""What contestants print becomes figures, and their tasks are whole; never a time."""

import json
import subprocess
import sys

import numpy as np
import pytest

from bench import __main__ as command
from bench.speed import contestant, environments, measure, ours, peers
from bench.speed.measure import Turn
from bench.speed.tasks import TASKS, make


def test_a_folder_with_a_measure_is_a_benchmark():
    assert command.PLACES["speed"] == "bench.speed.measure"
    assert command.PLACES["large"] == "bench.large"
    assert "rig" not in command.NAMES


def test_the_last_line_that_a_contestant_prints_is_its_turn():
    line = json.dumps({"cpu_s": 1.5, "added_bytes": 7, "value": {"p": 0.5}})
    assert measure.read_turn(f"Num real: 3\n{line}\n") == Turn(1.5, 7, {"p": 0.5})


@pytest.mark.parametrize("printed", ["", "no line of JSON\n"])
def test_what_is_no_turn_is_refused(printed):
    with pytest.raises(ValueError, match=r"turn|Expecting"):
        measure.read_turn(printed)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_turns_become_costs_and_pairs_beside_the_targets(task):
    def turns(cpu_s, added, made):
        return [Turn(cpu_s, added, {task.compared: made})] * task.rounds

    made = {function: turns(0.1, 10**6, [1.0, 2.0]) for function in task.ours.values()}
    made |= {peer.function: turns(20.0, 10**8, [1.0, 2.0]) for peer in task.peers}
    found = measure.figures(task, made)
    pairs = [figure for figure in found if " over ours" in figure.figure]
    assert len(pairs) == 3 * len(task.ours) * len(task.peers)
    assert {figure.target for figure in pairs} - {None} == {
        target for target in (task.ratio, task.memory, task.differs) if target
    }
    assert all(figure.is_met() is not False for figure in pairs)
    assert {figure.value for figure in pairs if figure.unit == "x"} == {200.0}


def test_what_is_not_measured_anew_stays():
    def all_of(task):
        names = [*task.ours.values(), *(peer.function for peer in task.peers)]
        turn = Turn(1.0, 10**6, {task.compared: 1.0})
        return measure.figures(task, {name: [turn] * task.rounds for name in names})

    known = [figure for task in TASKS for figure in all_of(task)]
    for task in TASKS:
        assert measure.kept(task, known) == all_of(task)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_every_contestant_is_there_and_every_peer_is_pinned(task):
    for function in task.ours.values():
        assert callable(getattr(ours, function))
    for peer in task.peers:
        assert callable(getattr(peers, peer.function))
        if peer.environment is not None:
            assert environments.ENVIRONMENTS[peer.environment].version(peer.package)


def test_no_environment_asks_for_another_torch():
    pins = [pin for one in environments.ENVIRONMENTS.values() for pin in one.pins + one.alone]
    assert {pin for pin in pins if pin.startswith("torch=")} == {"torch==2.13.0"}
    assert not any(pin.startswith("torchvision") for pin in pins)
    assert all("==" in pin for pin in pins)


def test_other_pins_are_another_folder():
    one = environments.Environment((), ("numpy==1.0",))
    assert one.key != environments.Environment((), ("numpy==2.0",)).key


def test_a_difference_is_of_the_largest_size():
    assert measure.difference({"d": [1.0, 4.0]}, {"d": [1.0, 2.0]}, "d") == 1.0
    assert measure.difference({"d": 3.0}, {"d": 3.0}, "d") == 0.0


def test_a_contestant_takes_its_turn_in_a_process_of_its_own(tmp_path):
    data = tmp_path / "rows.npz"
    generator = np.random.default_rng(0)
    left, right = generator.normal(size=(2, 80, 3))
    np.savez(data, left=left, right=right)
    words = {"given": {}, "repeats": 2}
    made = [
        measure.take_turn(measure.Path(sys.executable), module, function, data, words)
        for module, function in (("bench.speed.ours", "ks"), ("peers", "scipy_loop"))
    ]
    assert measure.difference(made[0].value, made[1].value, "distances") < 1e-12
    assert all(turn.cpu_s >= 0 for turn in made)


def test_a_contestant_that_breaks_says_why(tmp_path):
    with pytest.raises(RuntimeError, match=r"peers\.nobody failed: AttributeError"):
        measure.take_turn(
            measure.Path(sys.executable), "peers", "nobody", tmp_path, {"given": {}, "repeats": 1}
        )


def test_peers_are_told_the_median_that_ours_finds():
    from assay.mmd import mmd_test

    left, right, words = make(TASKS[0])
    assert words["bandwidth"] == pytest.approx(
        mmd_test(left, right, None, None, num_permutations=1).median_distance, rel=1e-3
    )


def test_a_contestant_imports_nothing_of_ours():
    code = """
import sys
import contestant, peers
print([name for name in sys.modules if name.split(".")[0] in ("assay", "bench", "stages")])
"""
    here = measure.Path(contestant.__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=here, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"

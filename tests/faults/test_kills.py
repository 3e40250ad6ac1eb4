"""Whoever is killed, at whatever point: nothing is lost or stays, and the same command goes on."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from killable import Toy, children, report, said, until

from bench.rig import soak_check, soak_kills, toy_case
from bench.rig.soak_kills import Kill
from containers.owner import started

pytestmark = pytest.mark.docker

SEED = 5


def is_whole(toy: Toy) -> None:
    """Everything that a record or an entry names is there, byte for byte, and nobody is left."""
    cache = toy.root / ".dvc/cache"
    objects = soak_check.objects(cache)
    assert not [name for name, fault in objects.items() if fault]
    assert soak_check.committed(cache) <= set(objects)
    assert soak_check.wrong_records(toy.root, set())[1] == []
    until(toy.is_tidy)


def resumes(toy: Toy, isolation: str) -> dict[str, str]:
    """Run to the end what was killed, and return how each stage came."""
    toy.state(split="", parity="", diagnose="", report="")
    answer = toy.run(isolation=isolation)
    assert report(toy) == said()
    is_whole(toy)
    stages: dict[str, str] = answer["stages"]
    return stages


def test_the_runner_of_a_container_is_killed(boxed: Toy) -> None:
    run = boxed.asleep("parity", isolation="docker")
    run.signal(signal.SIGKILL)
    until(boxed.is_tidy)  # nobody started anything: the run's own guard did that
    [record] = boxed.records()
    assert (record.state, [stage.name for stage in record.stages]) == ("failed", ["split"])
    assert record.flow_run_id
    assert resumes(boxed, "docker")["parity"] == "ran"


def test_the_stage_is_killed_in_its_container(boxed: Toy) -> None:
    run = boxed.asleep("parity", isolation="docker")
    [one] = boxed.containers(status="running")
    boxed.client.kill(one["Id"], "SIGKILL")
    assert run.wait() == 3
    [record] = boxed.records()
    stage = boxed.stage_of(record, "parity")
    assert (stage.exit_reason, stage.exit_code) == ("failed", 137)
    assert "SIGKILL, which assay did not send" in record.error
    is_whole(boxed)


@pytest.mark.parametrize(
    "whom", ["flow and stage", "flow and guard", "stage and guard"], ids=lambda it: it
)
def test_any_two_are_killed(toy: Toy, whom: str) -> None:
    dice = random.Random(whom)  # noqa: S311
    number = dice.randrange(1, len(toy_case.NAMES))
    run = toy.asleep(toy_case.NAMES[number])
    [stage] = until(lambda: children(run.pid, "job.json"))
    time.sleep(dice.random())
    [guard] = children(run.pid, "assay-guard")
    victims = {"flow": run.pid, "stage": stage.pid, "guard": guard.pid}
    for name in whom.split(" and "):
        os.kill(victims[name], signal.SIGKILL)
    assert run.wait() in {3, -9}
    stages = resumes(toy, "process")
    finished = toy_case.NAMES[:number]
    assert [stages[name] for name in finished] == ["restored"] * len(finished)
    until(lambda: started(stage.pid) is None)


@pytest.mark.parametrize("number", range(5))
def test_a_run_that_dies_at_a_point_drawn_by_lot_is_resumed(toy: Toy, number: int) -> None:
    lots = [one for one in (soak_kills.draw(SEED, n) for n in range(60)) if one.point]
    kill = lots[number]
    toy.start(kill=kill).wait()
    toy.run()
    assert report(toy) == said(), kill.told()
    is_whole(toy)


@pytest.mark.parametrize("when", ["before", "after"])
def test_between_the_rename_and_the_commit_nothing_counts_yet(toy: Toy, when: str) -> None:
    kill = Kill(point="outputs are put into the cache", when=when, nth=2)
    assert toy.start(kill=kill).wait() == -9
    assert toy.run()["stages"] == {
        "split": "restored", "parity": "ran", "diagnose": "ran", "report": "ran"
    }  # fmt: skip
    is_whole(toy)


def test_the_parent_that_serves_a_run_is_killed_and_the_run_goes_on(toy: Toy, api: str) -> None:
    """Whoever started it: a terminal, a schedule, the server of triggers."""
    toy.state(parity="import time; time.sleep(3)")
    words = [sys.executable, "-m", "bench.rig.toy_assay", str(toy.root), "run", "toy"]
    program = f"import subprocess; subprocess.run({[*words, '--isolation', 'process']!r})"
    environment = toy.mother.environment | {"DVC_SITE_CACHE_DIR": str(toy.root.parent / "s")}
    serving = subprocess.Popen(
        [sys.executable, "-c", program], env=environment, stderr=subprocess.DEVNULL
    )
    until(lambda: list(toy.root.glob(".assay/logs/*/parity.log")))
    serving.kill()
    serving.wait()
    until(lambda: toy.is_tidy() and toy.records())
    [record] = toy.records()
    assert record.state == "done"
    assert report(toy) == said()


def test_who_kills_by_lot_kills_the_same_again() -> None:
    drawn = [soak_kills.draw(SEED, number) for number in range(200)]
    assert drawn == [soak_kills.draw(SEED, number) for number in range(200)]
    assert {one.point for one in drawn} >= set(soak_kills.POINTS)
    assert {one.whom for one in drawn} >= set(soak_kills.FROM_OUTSIDE)


@pytest.mark.parametrize("point", sorted(soak_kills.POINTS))
def test_every_point_of_a_soak_is_still_there(point: str) -> None:
    place, name, _ = soak_kills.POINTS[point]
    assert callable(getattr(soak_kills.found(place), name))


def test_a_log_stream_that_is_cut_loses_no_line_of_a_stage(boxed: Toy, tmp_path: Path) -> None:
    from engine_proxy import Proxy

    from containers.engine import addresses

    engine = addresses()[0].removeprefix("unix://")
    dice = random.Random(SEED)  # noqa: S311
    cuts = tuple(dice.randint(200, 3000) for _ in range(6))
    proxy = Proxy(tmp_path / "p.sock", engine, cuts)
    boxed.state(split="import time\nfor i in range(200): print('line', i); time.sleep(0.004)")
    run = boxed.start(isolation="docker", DOCKER_HOST=f"unix://{proxy.path}")
    assert run.wait() == 0, run.err
    proxy.slam()
    assert proxy.num_cut >= 3
    [log] = boxed.root.glob(".assay/logs/*/split.log")
    assert log.read_text().splitlines() == [f"line {i}" for i in range(200)]
    told = [line for line in run.err.splitlines() if line.startswith("split | line")]
    assert told == [f"split | line {i}" for i in range(200)]

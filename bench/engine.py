"""What does the engine cost over bare containers, and beside the usual tools?"""

import contextlib
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.rig import chain, snakemake
from bench.rig.chain import LENGTH, NAMES, Chain
from bench.rig.clock import Spent, differences, in_turn, ratios, spend
from bench.rig.figures import Figure, Skipped, median
from containers import images
from containers.docker_runner import DockerRunner
from containers.engine import EngineAbsentError
from flows import server
from lineage.engine import Engine

HERE = Path(__file__).resolve().parents[1]
STAGE_ROUNDS, CHAIN_ROUNDS, WHOLE_ROUNDS = 15, 9, 5


def run() -> list[Figure]:
    try:
        runner = DockerRunner()
        images.verify(runner.client, [chain.IMAGE])
    except EngineAbsentError as error:
        raise Skipped(str(error)) from error
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        top = Path(folder)
        os.environ |= {"DVC_SITE_CACHE_DIR": str(top / "site"), "DVC_NO_ANALYTICS": "1"}
        return [*_in_process(top, runner), *_from_the_shell(top, runner)]


def _in_process(top: Path, runner: DockerRunner) -> list[Figure]:
    """Compare with the SDK in one process that has imported all it needs."""
    ours = chain.make(top / "ours", runner.environment_key(chain.IMAGE))
    bare = chain.make(top / "bare", "none")
    round_ = 0

    def begin(_number: int) -> None:
        nonlocal round_
        round_ += 1
        ours.begin_round(round_)
        bare.begin_round(round_)

    def contest(names: tuple[str, ...], rounds: int) -> tuple[list[float], list[float]]:
        times = in_turn(
            {
                "bare": lambda: [chain.run_bare(runner.client, bare.root, name) for name in names],
                "ours": lambda: _advance(ours, round_, runner, names, "ran"),
            },
            rounds,
            before_round=begin,
        )
        return times["ours"], times["bare"]

    with contextlib.chdir(ours.root):
        our_stage, bare_stage = contest(NAMES[:1], STAGE_ROUNDS)
        our_chain, bare_chain = contest(NAMES, CHAIN_ROUNDS)
        for place in (ours, bare):
            chain.check(place.root, round_)
        skipped = in_turn(
            {"": lambda: _advance(ours, round_, runner, NAMES, "unchanged")}, STAGE_ROUNDS
        )[""]
    over = differences(our_stage, bare_stage)
    return [
        median("a container by the SDK, wall", "s", bare_stage),
        median("engine over the SDK, a stage", "s", over, "<= 0.3"),
        median("a skipped stage", "s", [one / LENGTH for one in skipped], "<= 0.1"),
        median("five by the SDK, wall", "s", bare_chain),
        median(
            "five by the engine over five by the SDK", "x", ratios(our_chain, bare_chain), "<= 1.3"
        ),
    ]


def _advance(
    place: Chain, number: int, runner: DockerRunner, names: tuple[str, ...], how: str
) -> None:
    """Open an engine, advance the stages, close it: opening DVC's repository counts."""
    engine = Engine(place.root, runner=runner, run_id=f"bench-{number}", logs=place.root / ".assay")
    for row in place.rows(number):
        if row.name in names:
            outcome = engine.advance(row, on_line=lambda _line: None, cancel=threading.Event())
            assert outcome.how == how, (row.name, outcome.how)
    engine.close()


def _from_the_shell(top: Path, runner: DockerRunner) -> list[Figure]:
    """Compare whole commands, from the start of the process to its end, with the server up."""
    if shutil.which("docker") is None:
        print("engine: no docker client on PATH, so no peers are measured", file=sys.stderr)
        return []
    key = runner.environment_key(chain.IMAGE)
    places = {
        "engine": chain.make(top / "shell-engine", key),
        "repro": chain.make(top / "shell-repro", key, plain=True),
        "snakemake": chain.make(top / "shell-snakemake", key),
    }
    words = {
        "engine": "five by our flow from the shell",
        "repro": "five by Prefect and `dvc repro -s`",
    }
    round_ = 0
    spent: dict[str, list[Spent]] = {name: [] for name in places}

    def begin(_number: int) -> None:
        nonlocal round_
        round_ += 1
        for place in places.values():
            place.begin_round(round_)

    def call(name: str, *words: str) -> Callable[[], None]:
        def run_it() -> None:
            root = places[name].root
            told = [word.format(root=root, round=round_) for word in words]
            folder = root if name == "snakemake" else HERE
            done = spend(told, folder)
            assert done.status == 0, f"{name} ended with {done.status}: {done.stdout}"
            chain.check(root, round_)
            spent[name].append(done)

        return run_it

    python = (sys.executable, "-m")
    contestants = {
        "engine": call("engine", *python, "bench.rig.prefect_engine", "{root}", "{round}"),
        "repro": call("repro", *python, "bench.rig.prefect_repro", "{root}"),
    }
    with contextlib.suppress(Skipped):
        program = snakemake.installed()
        words["snakemake"] = f"five by Snakemake {snakemake.version(program)}"
        chain.write_snakefile(places["snakemake"].root)
        contestants["snakemake"] = call("snakemake", str(program), "--cores", "1", "--quiet", "all")
    with _server(top / "server"):
        times = in_turn(contestants, WHOLE_ROUNDS, before_round=begin)
    return _compared(words, times, spent)


def _compared(
    words: dict[str, str], times: dict[str, list[float]], spent: dict[str, list[Spent]]
) -> list[Figure]:
    found = []
    for name, wall_s in times.items():
        found.append(median(f"{words[name]}, wall", "s", wall_s))
        found.append(median(f"{words[name]}, CPU", "s", [one.cpu_s for one in spent[name][1:]]))
    if "snakemake" in times:
        slower = ratios(times["engine"], times["snakemake"])
        found.append(median("our flow over Snakemake 9", "x", slower, "<= 1.0"))
    faster = ratios(times["repro"], times["engine"])
    found.append(median("Prefect and `dvc repro -s` over our flow", "x", faster, ">= 2"))
    return found


@contextlib.contextmanager
def _server(home: Path) -> Iterator[None]:
    home.mkdir()
    api = server.ensure(home, lambda line: print(line, file=sys.stderr))
    before = dict(os.environ)
    os.environ |= server.environment(api)
    try:
        yield
    finally:
        for name in set(os.environ) - set(before):
            del os.environ[name]
        os.environ |= before
        server.stop(home)

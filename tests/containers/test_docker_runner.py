"""How a job in a container ends is told apart, and nothing of it stays behind."""

import gc
import os
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from engine_proxy import Proxy

from containers import docker_logs, images, keys
from containers.docker_fence import container_name, reap, remove
from containers.docker_runner import DockerRunner
from containers.engine import addresses
from containers.job import Reason, RunnerError
from containers.owner import LABEL, Owner, started

pytestmark = pytest.mark.docker

ROOT = Path(__file__).resolve().parents[2]
EAT = "x = b'x' * (2 * 2**30)"  # the jobs here have half a GiB


@pytest.fixture(autouse=True)
def nothing_stays(engine, bench):
    yield
    left = [found["Id"] for found in _ours(engine, bench)]
    for container in left:
        remove(engine, container)
    assert not left


def _ours(engine, bench):
    workspace = bench.job.labels["assay.workspace"]
    return engine.containers(all=True, filters={"label": f"assay.workspace={workspace}"})


@pytest.mark.parametrize(
    ("code", "reason", "status", "words"),
    [
        pytest.param("print('hello')", Reason.DONE, 0, "", id="done"),
        pytest.param("import sys; sys.exit(3)", Reason.FAILED, 3, "status 3", id="own status"),
        pytest.param("import sys; sys.exit(201)", Reason.FAILED, 201, "201", id="own high status"),
        pytest.param(EAT, Reason.OUT_OF_MEMORY, 137, "asked for 0.5 GiB", id="out of memory"),
        pytest.param(
            f"import subprocess, sys; subprocess.run([sys.executable, '-c', {EAT!r}]); sys.exit(5)",
            Reason.OUT_OF_MEMORY,
            5,
            "in a child process",
            id="a child out of memory",
        ),
        pytest.param(
            "import os; os.kill(os.getpid(), 9)", Reason.FAILED, 137, "SIGKILL", id="killed"
        ),
        pytest.param("import time; time.sleep(60)", Reason.TIMED_OUT, 143, "limit", id="too slow"),
        pytest.param(
            "import signal, time\nsignal.signal(15, signal.SIG_IGN); time.sleep(60)",
            Reason.TIMED_OUT,
            137,
            "limit",
            id="too slow and deaf",
        ),
    ],
)
def test_every_ending_is_told_apart(docker, bench, code, reason, status, words):  # noqa: PLR0917
    limit = 3 if reason is Reason.TIMED_OUT else 60
    ended = bench.run(docker, code, timeout_s=limit)
    assert (ended.reason, ended.code) == (reason, status)
    assert words in ended.detail
    assert ended.image_id is not None


def test_cancel_is_quick_even_for_a_deaf_job(docker, bench):
    began: list[float] = []

    def cancel(_line: str) -> None:
        began.append(time.monotonic())
        bench.cancel.set()

    code = "import signal, time\nsignal.signal(15, signal.SIG_IGN); print(1); time.sleep(97)"
    assert bench.run(docker, code, on_line=cancel).reason is Reason.CANCELLED
    assert time.monotonic() - began[0] < 40


def test_cancelled_before_it_began_nothing_is_created(docker, bench):
    bench.cancel.set()
    assert bench.run(docker).reason is Reason.CANCELLED
    assert not bench.lines


def test_an_interrupt_removes_the_container(docker, bench):
    def interrupt(_line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bench.run(docker, "import time; print(1); time.sleep(97)", on_line=interrupt)


def test_a_container_removed_by_someone_is_not_taken_for_a_failure(docker, engine, bench):
    def pull_the_rug(_line: str) -> None:
        remove(engine, container_name(bench.job.name))

    code = "import time; print(1); time.sleep(97)"
    ended = bench.run(docker, code, on_line=pull_the_rug)
    # By the time we ask it is killed or already gone: either way not the stage's own doing.
    assert ended.reason is Reason.ENGINE_GONE or "SIGKILL, which assay did not" in ended.detail


def test_lines_of_a_job_that_ends_at_once_are_all_there(docker, bench):
    code = """if True:
        import os, sys
        for i in range(3000):
            (sys.stdout, sys.stderr)[i % 2].write(f"line {i}\\n")
        print("x" * 100_000)
        print("no newline", end="")
    """
    bench.run(docker, code)
    numbers = [int(line.split()[1]) for line in bench.lines if line.startswith("line")]
    for parity in (0, 1):  # the order between two streams is nobody's promise
        assert [n for n in numbers if n % 2 == parity] == list(range(parity, 3000, 2))
    assert "x" * 100_000 in bench.lines
    assert "no newline" in bench.lines
    assert bench.logged == bench.lines


def test_a_log_stream_that_is_cut_loses_and_doubles_no_line(bench, engine, tmp_path):
    import docker as sdk

    proxy = Proxy(tmp_path / "p.sock", addresses()[0].removeprefix("unix://"), (400, 3000, 5000))
    client = sdk.APIClient(base_url=f"unix://{proxy.path}", version=engine.api_version, timeout=30)
    code = "import time\nfor i in range(300): print('line', i, 'x' * (i % 50)); time.sleep(0.003)"
    ended = bench.run(DockerRunner(client), code)
    client.close()
    proxy.slam()
    assert proxy.num_cut == 3
    assert ended.reason is Reason.DONE
    assert [line.split()[1] for line in bench.lines] == [str(i) for i in range(300)]
    assert bench.logged == bench.lines


# The SDK leaves a socket to the collector when nobody listens at the other end.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_engine_that_goes_away_is_told_from_a_failure(bench, engine, tmp_path, monkeypatch):
    import docker as sdk

    monkeypatch.setattr(docker_logs, "ENGINE_GRACE_S", 1.0)
    proxy = Proxy(tmp_path / "p.sock", addresses()[0].removeprefix("unix://"))
    client = sdk.APIClient(base_url=f"unix://{proxy.path}", version=engine.api_version, timeout=5)
    code = "import time; print(1); time.sleep(97)"
    ended = bench.run(DockerRunner(client), code, on_line=lambda _line: proxy.slam())
    client.close()
    assert (ended.reason, ended.code) == (Reason.ENGINE_GONE, None)
    assert "docker info" in ended.detail
    remove(engine, container_name(bench.job.name))  # as nobody could
    gc.collect()


def _namesake(engine, bench, owner: Owner | None) -> str:
    labels = {**bench.job.labels, **({LABEL: str(owner)} if owner else {})}
    name = container_name(bench.job.name)
    made = engine.create_container(keys.image_name("base"), ["true"], name=name, labels=labels)
    return made["Id"]


def _other(pid: int) -> Owner:
    return replace(Owner.me(), pid=pid, started=started(pid) or "gone")


def test_a_namesake_of_a_live_owner_stands_in_the_way(docker, engine, bench):
    made = _namesake(engine, bench, _other(os.getppid()))
    with pytest.raises(RunnerError, match=f"of process {os.getppid()} .*docker rm -f"):
        bench.run(docker)
    remove(engine, made)


def test_a_namesake_that_assay_did_not_start_is_left_alone(docker, engine, bench):
    made = _namesake(engine, bench, None)
    with pytest.raises(RunnerError, match="did not start"):
        bench.run(docker)
    remove(engine, made)


@pytest.mark.parametrize("whose", ["dead", "mine"])
def test_a_namesake_left_behind_is_cleared_away(docker, engine, bench, whose):
    owner = Owner.me() if whose == "mine" else replace(Owner.me(), started="1")
    _namesake(engine, bench, owner)
    assert bench.run(docker).reason is Reason.DONE


def test_two_jobs_of_one_process_never_share_a_name(docker, bench):
    faults: list[Exception] = []

    def second(_line: str) -> None:
        try:
            bench.run(docker)
        except RunnerError as error:
            faults.append(error)

    assert bench.run(docker, on_line=second).reason is Reason.DONE
    assert "in this process already" in str(faults[0])


def test_the_orphan_of_a_killed_runner_is_reaped_and_no_one_elses(engine, bench):
    program = textwrap.dedent(f"""
        import sys; sys.path.insert(0, {str(ROOT)!r})
        import threading; from pathlib import Path
        from containers.job import Job; from containers.docker_runner import DockerRunner
        code = "import time; print(1); time.sleep(97)"
        job = Job(name={bench.job.name!r}, image="base", command=("python", "-c", code), mounts=(),
                  log=Path({str(bench.job.log)!r}), threads=1, memory_bytes=2**29, timeout_s=97,
                  labels={dict(bench.job.labels)!r})
        DockerRunner().run(job, on_line=lambda x: print(x, flush=True), cancel=threading.Event())
    """)
    workspace = bench.job.labels["assay.workspace"]
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as runner:
        assert runner.stdout.readline() == b"1\n"
        assert reap(engine, workspace) == []  # its owner lives
        runner.kill()
    assert reap(engine, "another") == []
    assert reap(engine, workspace) == [container_name(bench.job.name)]


def test_an_engine_that_has_no_gpu_after_all_gives_the_cpu_and_says_so(engine, bench):
    if "nvidia" in engine.info()["Runtimes"]:
        pytest.skip("this engine has a GPU to give")
    runner = DockerRunner(engine)
    runner.__dict__["info"] = {**engine.info(), "Runtimes": {"nvidia": {}}}
    ended = bench.run(runner, gpu=True)
    assert (ended.reason, ended.gpu) == (Reason.DONE, False)
    assert "no GPU" in bench.lines[0]
    assert bench.lines[1] == "hello"


def test_a_gpu_is_not_asked_of_an_engine_without_one(docker, bench):
    if "nvidia" in docker.info["Runtimes"]:
        pytest.skip("this engine has a GPU to give")
    ended = bench.run(docker, gpu=True)
    assert (ended.gpu, bench.lines) == (False, ["hello"])


def test_an_image_whose_label_is_not_its_key_is_refused(docker, engine, bench, monkeypatch):
    right = keys.image_name("base")
    monkeypatch.setenv(keys.BASE_VARIABLE, "another:base")
    wrong = keys.image_name("base")
    engine.tag(right, *wrong.split(":"))
    try:
        with pytest.raises(images.ImageError, match="assay images build base --force"):
            bench.run(docker)
        assert images.listing(engine, ["base"])[0].state == "mislabelled"
    finally:
        engine.remove_image(wrong, noprune=True)
    with pytest.raises(images.ImageError, match=r"of other pins.* `assay images build base`"):
        bench.run(docker)


def test_a_foreign_image_is_keyed_by_its_content_and_needs_no_label(docker, engine, bench):
    name = f"assay-foreign-{os.getpid()}:1"
    engine.tag(keys.image_name("base"), *name.split(":"))
    try:
        assert docker.environment_key(name).startswith("docker:sha256:")
        assert bench.run(docker, image=name).reason is Reason.DONE
    finally:
        engine.remove_image(name, noprune=True)
    with pytest.raises(images.ImageError, match="docker pull"):
        bench.run(docker, image=name)


def test_a_command_that_is_not_there_ends_with_the_status_of_a_shell(docker, bench):
    ended = bench.run(docker, command=("no-such-program",))
    assert (ended.reason, ended.code) == (Reason.FAILED, 127)
    assert "no-such-program" in bench.lines[0]


def test_a_missing_source_is_refused_and_not_made(docker, bench):
    mount = replace(bench.job.mounts[0], source=bench.folder / "none", target="in")
    with pytest.raises(RunnerError, match=r"in comes from .*none"):
        bench.run(docker, mounts=(mount,))
    assert not (bench.folder / "none").exists()


def test_jobs_of_several_threads_share_one_runner(docker, bench):
    ended = []

    def one(number: int) -> None:
        job = replace(bench.job, name=f"{bench.job.name}-{number}", log=bench.folder / str(number))
        job = replace(job, mounts=())
        ended.append(docker.run(job, on_line=lambda _: None, cancel=bench.cancel).reason)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert ended == [Reason.DONE] * 3

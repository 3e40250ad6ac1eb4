"""Runs a stage in a container and says how it ended."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from containers import docker_logs, images
from containers.docker_fence import container_name, create, held, remove
from containers.docker_logs import Follower
from containers.docker_posture import arguments, check_readable, handed_over, user_for
from containers.engine import Client, answers, connect, has_gpu
from containers.gpu_turn import gpu_turn
from containers.job import Exit, IsolationKind, Job, Mount, Reason, Runner, RunnerError
from containers.keys import build_key, image_name, is_family
from containers.layout import lay_out
from containers.lines import Log, Pump, Watch
from containers.owner import LABEL, Owner
from containers.reasons import SHELL_SIGNAL_BASE, died_by, told

GRACE_S: Final = 2
"""Between SIGTERM and SIGKILL of a job that is ended."""
GIVE_UP_S: Final = 8.0
"""An engine that has not ended a job by then is not waited for."""
LEAVING_S: Final = 2.0
"""An engine that is stopped ends its containers first, and answers until they have ended."""


class DockerRunner(Runner):
    """One client, many jobs; may be used by several threads at once."""

    kind: IsolationKind = "docker"

    def __init__(self, client: Client | None = None) -> None:
        self.client = connect() if client is None else client

    @cached_property
    def info(self) -> dict[str, Any]:
        """What the engine says of itself, asked once."""
        answer: dict[str, Any] = self.client.info()
        return answer

    def environment_key(self, image: str) -> str:
        """Return `docker:<build key>`, or `docker:<content digest>` of a foreign image."""
        if is_family(image):
            return f"docker:{build_key(image)}"
        found = self._inspect_image(image)
        digests = found.get("RepoDigests") or [found["Id"]]
        return f"docker:{digests[0].rpartition('@')[2]}"

    def run(self, job: Job, *, on_line: Callable[[str], None], cancel: threading.Event) -> Exit:
        """Run a job in a container of its own, which is removed whatever happens.

        Raises:
            RunnerError: no image, a label that differs from its key, a taken name, an engine that
                refuses.
        """
        import docker
        import requests

        try:
            wanted = job.gpu and has_gpu(self.info)
            with gpu_turn(wanted=wanted, on_line=on_line, cancel=cancel):
                return self._run(job, on_line, cancel)
        except requests.RequestException:
            # It answered when this runner was made: the stage is worth another try.
            _await_back(self.client, cancel)
            return _gone(job)
        except docker.errors.DockerException as error:
            raise RunnerError(
                f"{job.name}: the engine did not do what it was asked: {error}. See that it runs "
                "(`docker info`), then run again."
            ) from error

    def _run(self, job: Job, on_line: Callable[[str], None], cancel: threading.Event) -> Exit:
        watch = Watch(job.timeout_s, cancel)
        name = container_name(job.name)
        image = self._checked_image(job.image)
        mounts = lay_out(job.mounts)
        user = user_for(self.info)
        check_readable(mounts, user[0])
        with held(name), handed_over(mounts, user), Log(job.log, on_line) as log:
            what = _Container(name=name, mounts=mounts, image=image)
            return _Run(self, job, what, log, watch).to_the_end()

    def _checked_image(self, image: str) -> dict[str, Any]:
        """Return the image, refusing one whose label is not its key."""
        if not is_family(image):
            return self._inspect_image(image)
        name, key = image_name(image), build_key(image)
        found = self._inspect_image(name, family=image)
        label = (found["Config"].get("Labels") or {}).get(images.KEY_LABEL)
        if label != key:
            raise images.ImageError(
                f"{name} says that it was built from {label or 'nothing known'}, and its key is "
                f"{key}. Build it again with `assay images build {image} --force`."
            )
        return found

    def _inspect_image(self, name: str, family: str | None = None) -> dict[str, Any]:
        import docker

        try:
            found: dict[str, Any] = self.client.inspect_image(name)
        except docker.errors.ImageNotFound:
            if family is None:
                raise images.ImageError(
                    f"Image {name} is not on this engine. Bring it with `docker pull {name}`."
                ) from None
            stale = images.listing(self.client, [family])[0].stale
            why = (
                f"only {', '.join(stale)}, of other pins, is there" if stale else "it is not there"
            )
            raise images.ImageError(
                f"{family} needs image {name}; {why}. Build it with `assay images build {family}`."
            ) from None
        return found


def _await_back(client: Client, cancel: threading.Event) -> bool:
    """Wait for an engine that restarts; False when it stays away."""
    give_up = time.monotonic() + docker_logs.ENGINE_GRACE_S
    while not answers(client):
        if cancel.wait(docker_logs.RETRY_S * 10) or time.monotonic() > give_up:
            return False
    return True


def _gone(job: Job) -> Exit:
    return Exit(
        reason=Reason.ENGINE_GONE,
        code=None,
        detail=told(job, Reason.ENGINE_GONE, None),
        wall_s=0.0,
        gpu=False,
        image_id=None,
        base_digest=None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Container:
    """What a job's container is made of."""

    name: str
    mounts: tuple[Mount, ...]
    image: dict[str, Any]


class _Run:
    """One job in one container."""

    def __init__(
        self, runner: DockerRunner, job: Job, what: _Container, log: Log, watch: Watch
    ) -> None:
        self.client, self.info = runner.client, runner.info
        self.job, self.log, self.watch = job, log, watch
        self.cancel = watch.cancel
        self.name, self.mounts, self.image = what.name, what.mounts, what.image
        self.gpu = job.gpu and has_gpu(runner.info)
        self.container = ""  # none yet
        self.ending: Reason | None = None  # set where we end the job: a timeout's 137 is OOM's too
        self.began = int(time.time())

    def to_the_end(self) -> Exit:
        """Create, start, follow, judge, remove."""
        self.ending = self.watch.verdict()
        if self.ending is not None:
            return self._exit(self.ending, None)
        try:
            self._start()
            follower = Follower(self.client, self.container)
            self._supervise(follower)
            reason = self._judge(follower)
        finally:
            if self.container:
                remove(self.client, self.container)
        return self._exit(reason, follower.state)

    def _start(self) -> None:
        import docker

        self._create()
        try:
            self.client.start(self.container)
        except docker.errors.APIError as error:
            if not self.gpu:
                raise RunnerError(
                    f"{self.job.name}: the container would not start: {error.explanation}"
                ) from error
            # A missing GPU is seen at start only, and leaves a container in `created`.
            self.log.write([f"assay: no GPU ({error.explanation}); running on the CPU"])
            remove(self.client, self.container)
            self.container, self.gpu = "", False
            self._start()

    def _create(self) -> None:
        what = arguments(
            self.client,
            self.job,
            self.mounts,
            image_id=self.image["Id"],  # not the name: what was checked is what runs
            info=self.info,
            gpu=self.gpu,
            labels={LABEL: str(Owner.me())},
        )
        self.container = create(self.client, self.name, what)

    def _supervise(self, follower: Follower) -> None:
        """Deliver lines and watch the clock until the container has ended."""
        pump = Pump(follower.batches())
        give_up_at = float("inf")
        try:
            for batch in pump.batches():
                if batch:
                    self.log.write(batch)
                if self.ending is None:
                    self.ending = self.watch.verdict()
                    if self.ending is not None:
                        give_up_at = time.monotonic() + GIVE_UP_S
                        self._stop()
                elif time.monotonic() > give_up_at:
                    break
        finally:
            pump.abandon()

    def _stop(self) -> None:
        """End the container in a thread: an engine that hangs must not hold up a cancel."""
        import docker
        import requests

        def stop() -> None:
            try:
                self.client.stop(self.container, timeout=GRACE_S)
            except (docker.errors.DockerException, requests.RequestException):
                return  # removing it, by force, comes next

        threading.Thread(target=stop, name="assay-stop", daemon=True).start()

    def _judge(self, follower: Follower) -> Reason:
        state = follower.state
        if self.ending is not None:
            return self.ending
        if state is None:
            return Reason.ENGINE_GONE
        code = state["ExitCode"]
        if code == 0:
            return Reason.DONE
        # The flag says so of a child too, and then stands beside the stage's own code.
        if state["OOMKilled"] or self._saw_oom():
            return Reason.OUT_OF_MEMORY
        # An engine that restarts ends its containers.
        if code > SHELL_SIGNAL_BASE and (follower.engine_was_lost or self._is_leaving(code)):
            _await_back(self.client, self.cancel)
            return Reason.ENGINE_GONE
        return Reason.FAILED

    def _is_leaving(self, code: int) -> bool:
        """Tell an engine that is being stopped from somebody who killed the stage alone."""
        if died_by(code) not in {"SIGTERM", "SIGKILL"}:
            return False
        give_up = time.monotonic() + LEAVING_S
        while answers(self.client):
            if time.monotonic() > give_up:
                return False
            time.sleep(docker_logs.RETRY_S)
        return True

    def _saw_oom(self) -> bool:
        """Ask for the kernel's events: on some engines the flag is about the main process alone."""
        import docker
        import requests

        filters = {"container": self.container, "event": "oom"}
        try:
            # In the past, or the engine waits for more to come.
            until = f"{time.time():.9f}"
            events = self.client.events(since=self.began, until=until, filters=filters)
            return any(True for _ in events)
        except (docker.errors.DockerException, requests.RequestException):
            return False

    def _exit(self, reason: Reason, state: dict[str, Any] | None) -> Exit:
        code = state["ExitCode"] if state else None
        return Exit(
            reason=reason,
            code=code,
            detail=told(self.job, reason, code),
            wall_s=self.watch.wall_s(),
            gpu=self.gpu,
            image_id=self.image["Id"],
            base_digest=images.registry_digest(self.image),
        )

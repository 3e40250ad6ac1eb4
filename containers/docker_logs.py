"""A container's output without loss or doubling, through dropped connections."""

import struct
import time
from collections.abc import Iterator
from typing import Any, Final

from containers.engine import Client
from containers.lines import Splitter

ENGINE_GRACE_S: Final = 20.0
"""How long an engine may be unreachable (a restart) before a job is given up."""

RETRY_S: Final = 0.05
HEADER_BYTES: Final = 8  # stream, three zeros, length as big-endian uint32
STDOUT, STDERR = 1, 2


class Follower:
    """Yields batches of lines until the container has ended; then `state` says how.

    The SDK's own log stream ends silently when the connection drops. The engine keeps one frame a
    write in a fixed order, so attaching again and leaving out the frames already seen is exact,
    where a timestamp may be shared by two lines.
    """

    def __init__(self, client: Client, container: str) -> None:
        self._client = client
        self._container = container
        self._splitters = {STDOUT: Splitter(), STDERR: Splitter()}
        self._seen = 0
        self._complete = False
        self.state: dict[str, Any] | None = None  # None: removed by someone, or the engine is gone
        self.engine_was_lost = False

    def batches(self) -> Iterator[list[str]]:
        """Yield lines; returns once the container has ended or cannot be known any more."""
        ended = False
        while True:
            yield from self._attach()
            # Only a reading that began after the end is the last one: a stream that is followed may
            # be cut, and without any cut an engine closed it before a last line with no newline.
            if ended and self._complete:
                break
            self.state = self._inspect()
            if self.state is None:
                break
            ended = not _lives(self.state)
            if not ended:
                time.sleep(RETRY_S)
        for splitter in self._splitters.values():
            yield splitter.end()

    def _attach(self) -> Iterator[list[str]]:
        import docker
        import requests
        import urllib3

        self._complete = False
        try:
            for number, (stream, data) in enumerate(self._frames()):
                if number >= self._seen:
                    self._seen += 1
                    yield self._splitters[stream].feed(data)
            self._complete = True
        except docker.errors.NotFound:
            self._complete = True
        except (OSError, requests.RequestException, urllib3.exceptions.HTTPError):
            pass
        except docker.errors.DockerException:
            pass

    def _frames(self) -> Iterator[tuple[int, bytes]]:
        """Yield the stream and bytes of each frame from the first; raises when it is cut short."""
        client = self._client
        url = f"{client.base_url}/v{client.api_version}/containers/{self._container}/logs"
        # No read timeout: a job may be silent for hours; the caller's thread watches the clock.
        with client.get(
            url,
            params={"stdout": 1, "stderr": 1, "follow": 1},
            stream=True,
            timeout=(client.timeout, None),
        ) as response:
            client._raise_for_status(response)  # noqa: SLF001 - the SDK's own reading of an error
            while header := response.raw.read(HEADER_BYTES):
                stream, length = struct.unpack(">BxxxL", header)
                data = response.raw.read(length)
                if len(data) < length:
                    raise ConnectionError("cut inside a frame")
                yield stream, data

    def _inspect(self) -> dict[str, Any] | None:
        """Return the container's state, waiting for an engine that comes back."""
        import docker
        import requests

        give_up = time.monotonic() + ENGINE_GRACE_S
        while True:
            try:
                state: dict[str, Any] = self._client.inspect_container(self._container)["State"]
            except docker.errors.NotFound:
                return None
            except (docker.errors.DockerException, requests.RequestException):
                self.engine_was_lost = True
                if time.monotonic() >= give_up:
                    return None
                time.sleep(RETRY_S * 10)
                continue
            return state


def _lives(state: dict[str, Any]) -> bool:
    return state["Status"] in {"created", "running", "paused", "restarting"}

"""A door to an engine that can be slammed: cuts log streams, or goes away altogether."""

import socket
import threading
from contextlib import suppress
from pathlib import Path


class Proxy:
    """Forwards a unix socket to the engine's.

    cuts: after how many bytes of answer the next log streams are cut, one number a stream.
    """

    def __init__(self, path: Path, engine: str, cuts: tuple[int, ...] = ()) -> None:
        self.path = path
        self.cuts = list(cuts)
        self.num_cut = 0
        self._engine = engine
        self._open: list[socket.socket] = []
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(str(path))
        self._door.listen(16)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                caller, _ = self._door.accept()
            except OSError:
                return
            engine = socket.socket(socket.AF_UNIX)
            engine.connect(self._engine)
            self._open += [caller, engine]
            limit: list[int] = []
            for source, target, asks in ((caller, engine, True), (engine, caller, False)):
                threading.Thread(
                    target=self._forward, args=(source, target, asks, limit), daemon=True
                ).start()

    def _forward(
        self, source: socket.socket, target: socket.socket, asks: bool, limit: list[int]
    ) -> None:
        try:
            while chunk := source.recv(4096):
                if asks and b"/logs?" in chunk and self.cuts:
                    limit.append(self.cuts.pop(0))
                if not asks and limit:
                    limit[0] -= len(chunk)
                    if limit[0] < 0:
                        self.num_cut += 1
                        break
                target.sendall(chunk)
        except OSError:
            pass
        for end in (source, target):
            _shut(end)

    def slam(self) -> None:
        """Refuse whoever comes, and cut off whoever is inside."""
        self.path.unlink(missing_ok=True)
        _shut(self._door)
        for end in self._open:
            _shut(end)


def _shut(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()

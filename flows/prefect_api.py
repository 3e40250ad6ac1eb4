"""Calls of Prefect's API without importing Prefect: that takes seconds, and this milliseconds."""

import json
import os
import time
from typing import Any

from flows import server_auth
from flows.server import LOOPBACK

BUSY = (429, 502, 503)  # a database that is locked for a while: what was asked was not done
WAITS_S = (0.5, 1.0, 2.0, 4.0)


class ApiFailed(Exception):  # noqa: N818  reads as the fact that it is
    """The server did not do what was asked; `status` is its answer, None where there was none."""

    exit_status = 3

    def __init__(self, message: str, status: int | None) -> None:
        super().__init__(message)
        self.status = status


def call(
    path: str, body: Any = None, *, api_url: str | None = None, timeout_s: float = 20.0
) -> Any:
    """Ask the server of this process's environment: GET without a body, else POST.

    Returns:
        What the server answered, None where that was nothing.

    Raises:
        ApiFailed: it does not answer, or refuses.
        AuthRefused: its address holds a password.
    """
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import ProxyHandler, Request, build_opener

    url = (api_url or os.environ["PREFECT_API_URL"]).rstrip("/")
    server_auth.refuse_user(url)
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", **server_auth.headers(server_auth.given())}
    request = Request(f"{url}{path}", data=data, headers=headers)  # noqa: S310  the workspace's own
    # A proxy of the network would be asked for an address that only this machine knows.
    opener = build_opener(*((ProxyHandler({}),) if f"//{LOOPBACK}:" in url else ()))
    for wait_s in (*WAITS_S, None):
        try:
            with opener.open(request, timeout=timeout_s) as answer:
                said = answer.read()
            break
        except HTTPError as error:
            if error.code not in BUSY or wait_s is None:
                told = _refused(url, path, error.code, error.read())
                raise ApiFailed(told, error.code) from None
            time.sleep(wait_s)
        except (OSError, HTTPException) as error:
            why = getattr(error, "reason", error)
            raise ApiFailed(f"Prefect's server at {url} does not answer: {why}.", None) from None
    try:
        return json.loads(said) if said.strip() else None
    except ValueError:
        raise ApiFailed(f"What answers at {url} is no Prefect server.", None) from None


def _refused(url: str, path: str, status: int, body: bytes) -> str:
    if status == 401:  # noqa: PLR2004
        return (
            f"Prefect's server at {url} does not know who asks. State PREFECT_API_AUTH_STRING, or "
            f"{server_auth.FILE_VARIABLE}: a file that holds it."
        )
    said = body.decode("utf-8", errors="replace")[:300]
    return f"Prefect's server at {url} refused {path} ({status}): {said}"

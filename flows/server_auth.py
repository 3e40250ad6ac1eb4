"""The secret of a server that others can reach: in one file, and in no log, argument or record."""

import os
import re
import secrets
import stat
from base64 import b64encode
from pathlib import Path

FILE_VARIABLE = "ASSAY_SERVER_AUTH_FILE"
"""Names the file that holds the auth string of a server elsewhere."""

OTHERS = stat.S_IRWXG | stat.S_IRWXO


class AuthRefused(Exception):  # noqa: N818  reads as the fact that it is
    """A secret's file cannot be used; the message says why, and never what it holds."""

    exit_status = 2


def shown(api_url: str) -> str:
    """Return an address as a message may name it: without what stands before its host."""
    return re.sub(r"(?<=://)\S*@", "***@", api_url)


def refuse_user(api_url: str) -> None:
    """Refuse an address that holds a name or a password.

    Raises:
        AuthRefused: it does.
    """
    if shown(api_url) != api_url:
        raise AuthRefused(
            f"Prefect's server is not asked at {shown(api_url)}: state its name and password as "
            f"PREFECT_API_AUTH_STRING (name:password), or {FILE_VARIABLE}, and not in the address."
        )


def file_of(workspace: Path) -> Path:
    """Return where a workspace keeps the auth string of its own server."""
    return workspace.resolve() / ".assay" / "prefect" / "auth"


def make(workspace: Path) -> str:
    """Return the auth string of the workspace's own server, which is drawn the first time.

    Raises:
        AuthRefused: others can read its file, or it holds no `name:password`.
    """
    path = file_of(workspace)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"auth.{os.getpid()}")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"assay:{secrets.token_urlsafe(32)}\n")
        draft.replace(path)
    return read(path)


def read(path: Path) -> str:
    """Read a secret of one line.

    Raises:
        AuthRefused: the file is not there, others can read it, or it is no `name:password`.
    """
    text = secret(path)
    name, colon, word = text.partition(":")
    if not (name and colon and word):
        raise AuthRefused(f"{path} holds no auth string: one line, name:password.")
    return text


def secret(path: Path) -> str:
    """Read a file that only its owner may read.

    Raises:
        AuthRefused: it is not there, is empty or of several lines, or others can read it.
    """
    try:
        mode = path.stat().st_mode
        lines = path.read_text(encoding="utf-8").strip().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise AuthRefused(f"{path} cannot be read: {type(error).__name__}.") from None
    if mode & OTHERS:
        raise AuthRefused(f"{path} holds a secret that others can read. Do: chmod 600 {path}")
    if len(lines) != 1:
        raise AuthRefused(f"{path} holds {len(lines)} lines; a secret is one.")
    return lines[0].strip()


def given() -> str | None:
    """Return the auth string that the environment states, itself or by its file."""
    if pair := os.environ.get("PREFECT_API_AUTH_STRING"):
        return pair
    named = os.environ.get(FILE_VARIABLE)
    return read(Path(named)) if named else None


def headers(auth: str | None) -> dict[str, str]:
    """Return what a request says of who asks."""
    if auth:
        return {"Authorization": f"Basic {b64encode(auth.encode()).decode()}"}
    if key := os.environ.get("PREFECT_API_KEY"):
        return {"Authorization": f"Bearer {key}"}
    return {}

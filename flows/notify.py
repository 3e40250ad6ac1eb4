"""Who is told how a run ended: a webhook (Slack and its like), or a command of the case's owner."""

import json
import os
import shlex
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flows.case import LoadedCase
from flows.case_triggers import Notify
from flows.server_auth import AuthRefused, secret
from lineage.artifacts import read_artifact
from lineage.provenance import RunRecord

TIMEOUT_S = 10.0  # of one attempt
ATTEMPTS = 3
WAIT_S = 1.0  # before the second attempt; doubled before the third
PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR")
"""What a command sees of this process's environment: no secret of the server stands in these."""

ALLOWED = ".assay/allowed_commands"
"""The commands that this machine calls for a case.yaml, one JSON list a line; git brings none."""
LONGEST = 1000  # of a cause, in letters
MARKUP = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"))
Say = Callable[[str], None]


class NotTold(Exception):  # noqa: N818  reads as the fact that it is
    """A notification did not arrive; the message does not say where it was to go."""


def tell(workspace: Path, loaded: LoadedCase, record: RunRecord, say: Say) -> None:
    """Tell how a run ended, if the case wants to be told of such an end.

    A notification that fails is told to `say`; the run's own end stays as it is.
    """
    facts = {"RUN": record.id, "STATE": record.state, "VERDICT": record.verdict or ""}
    ended = record.verdict or record.state
    told = _Told(workspace, loaded.name, ended, facts)
    told.send(loaded.case.notify, lambda: _text(workspace, record), say)


def tell_unbegun(workspace: Path, loaded: LoadedCase, error: BaseException, say: Say) -> None:
    """Tell that a run could not begin."""
    told = _Told(workspace, loaded.name, "failed", {})
    text = _failed(loaded.name, "a run could not begin", str(error))
    told.send(loaded.case.notify, lambda: text, say)


@dataclass(frozen=True, slots=True)
class _Told:
    """An end that is to be told."""

    workspace: Path
    case: str
    ended: str
    facts: Mapping[str, str]

    def send(self, asked: Notify | None, text: Callable[[], str], say: Say) -> None:
        """Tell all whom the case names, if it names this end."""
        if asked is None or self.ended not in asked.on:
            return
        ways: list[tuple[str, Callable[[str], None]]] = []
        if asked.webhook:
            ways.append(("webhook", lambda text: _post(_place(self.workspace, asked), text)))
        if asked.command:
            known = {"CASE": self.case, **self.facts}
            words = asked.command
            ways.append(("command", lambda text: _call(self.workspace, words, known, text)))
        for name, way in ways:
            try:
                way(text())
            except (NotTold, AuthRefused) as error:
                say(f"notify: the {name} was not told of this run ({self.ended}): {error}")
            except Exception as error:  # noqa: BLE001  whatever is wrong with it, the run has ended
                # Its words may hold the address, which is a secret: its kind says enough.
                say(f"notify: the {name} was not told of this run: {type(error).__name__}")
            else:
                say(f"notify: the {name} was told: {self.ended}")


def _text(workspace: Path, record: RunRecord) -> str:
    """Write what `assay report --markdown` writes; of a run without a page, how it ended."""
    from flows.chat import tell as in_chat
    from stages.reports.page import ANSWER
    from stages.reports.page import Answer as Report

    if record.state != "done":
        how = f"the run {record.state} (run {record.id})"
        return _failed(record.case, how, record.error or record.state)
    made = read_artifact(workspace, record.id, f"cases/{record.case}/{ANSWER.path}")
    page = f"assay report {record.id} --open"
    told = in_chat(Report.model_validate_json(made), page, "markdown")
    return f"*{record.case}* (run {record.id})\n{told}"


def _failed(case: str, how: str, error: str) -> str:
    cause = error[:LONGEST]
    for sign, code in MARKUP:
        cause = cause.replace(sign, code)
    return f"*{case}*: {how}\n{cause}"


def _place(workspace: Path, asked: Notify) -> str:
    file = (workspace / Path(asked.webhook or "").expanduser()).resolve()
    own = workspace.resolve()
    if file.is_relative_to(own) and not file.is_relative_to(own / ".assay"):
        raise NotTold("its file stands where git may have brought it; move it to .assay/secrets/")
    address = secret(file)
    if not address.startswith(("http://", "https://")):
        raise NotTold("its file holds no address (http:// or https://)")
    return address


def _post(address: str, text: str) -> None:
    """Post what Slack, Mattermost and their like take."""
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    body, why = json.dumps({"text": text}).encode(), ""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(WAIT_S * 2 ** (attempt - 1))
        request = Request(address, data=body, headers={"Content-Type": "application/json"})  # noqa: S310
        try:
            with urlopen(request, timeout=TIMEOUT_S):  # noqa: S310  http or https, see `_place`
                return
        except HTTPError as error:
            why = f"it answered {error.code}"
            if error.code < 500 and error.code != 429:  # noqa: PLR2004  it would answer so again
                break
        except (OSError, HTTPException, ValueError) as error:
            why = type(getattr(error, "reason", error)).__name__
    raise NotTold(f"{why} (attempts: {attempt + 1})")


def _call(workspace: Path, words: Sequence[str], facts: Mapping[str, str], text: str) -> None:
    """Call the owner's program without a shell: what a run is named is data, and no command."""
    _refuse_unknown(workspace, words)
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    environment |= {f"ASSAY_{name}": value for name, value in facts.items()}
    try:
        done = subprocess.run(
            words,
            cwd=workspace,
            env=environment,
            input=text.encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NotTold(f"it did not end in {TIMEOUT_S:.0f} s") from None
    except OSError as error:
        raise NotTold(f"it cannot be started: {error.strerror}") from None
    if done.returncode:
        raise NotTold(f"it ended with status {done.returncode}")


def _refuse_unknown(workspace: Path, words: Sequence[str]) -> None:
    """Refuse what this machine's owner has not allowed: a case.yaml may be somebody else's.

    All else that it names runs in a container; this would run here, with all of the owner's rights.
    """
    line = json.dumps(list(words))
    try:
        allowed = (workspace / ALLOWED).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        allowed = []
    if line not in allowed:
        allow = f"printf '%s\\n' {shlex.quote(line)} >> {ALLOWED}"
        raise NotTold(f"this machine does not allow it. If you know what it does: {allow}")

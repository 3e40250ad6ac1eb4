"""Takes a run to a colleague, and brings one: its tag by git, its objects by DVC's remote.

Objects are asked for by name, one by one: what DVC remembers of a remote is not believed.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lineage import git, hostile, waivers, yaml12
from lineage.cache_objects import look, look_at, place
from lineage.cache_users import mark
from lineage.dvc_repo import cache_of
from lineage.fence import not_while_pruning
from lineage.objects import DIR, Named, members, run_objects
from lineage.run_tags import LATEST, PREFIX, RunUnknown, case_of, find, that_begin

SHOWN = 5
_USER = re.compile(r"(?<=://)[^/@\s]+@")
_SECRETS = ("SECRET", "TOKEN", "PASSWORD", "ACCESS_KEY", "ACCOUNT_KEY", "SAS")


class RemoteRefused(Exception):  # noqa: N818 - reads as the fact that it is
    """A remote is not named, or refuses; the message names it and the next step."""

    exit_status = 2


class ObjectsMissing(Exception):  # noqa: N818 - reads as the fact that it is
    """A remote, or the cache, lacks what a run needs; it is named."""

    exit_status = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What was pushed or pulled."""

    run_id: str
    git_remote: str
    remote: str
    num_objects: int  # that were not there yet
    size_bytes: int
    stays: tuple[str, ...]  # outputs that never leave the machine that made them


def push(workspace: Path, which: str, *, remote: str | None, git_remote: str | None) -> Moved:
    """Take a run to the remotes: objects first, so that a tag there never promises too much.

    Args:
        workspace: the repository.
        which: the run, as for `find`.
        remote: of DVC; None: the default one.
        git_remote: of git; None: `origin`, or the only one.

    Raises:
        RunUnknown: there is no such run.
        RemoteRefused: a remote is not named, or refuses.
        ObjectsMissing: the cache has lost what is to be pushed.
    """
    run_id = find(workspace, which)
    server = _git_remote(workspace, git_remote)
    with _store(workspace, remote) as store:
        named, stays = _leaving(workspace, run_id)
        wanted = _with_members(store.cache, named)
        bad = look_at(store.cache, wanted)
        if bad:
            raise ObjectsMissing(
                f"The cache holds run {run_id} not whole: {_some(wanted[md5] for md5 in bad)}. "
                f"What is damaged, and how to mend it: assay verify {run_id}"
            )
        there = store.holds(wanted)
        sent = [md5 for md5 in wanted if md5 not in there]
        store.send(sent)
        _git(workspace, server, "push", "--quiet", server, *_refs(workspace, run_id))
        return Moved(
            run_id=run_id,
            git_remote=server,
            remote=store.name,
            num_objects=len(sent),
            size_bytes=sum(place(store.cache, md5).stat().st_size for md5 in sent),
            stays=stays,
        )


def pull(workspace: Path, which: str, *, remote: str | None, git_remote: str | None) -> Moved:
    """Bring a run that a colleague pushed; what is here and whole is not brought again.

    Args:
        workspace: the repository.
        which: an id or its beginning; or `latest`, CASE, `CASE@previous`, after all runs' tags are
            brought.
        remote: of DVC; None: the default one.
        git_remote: of git; None: `origin`, or the only one.

    Raises:
        RunUnknown: neither this workspace nor the remote has it.
        RemoteRefused: a remote is not named, or refuses.
        ObjectsMissing: the remote lacks what the run needs; all else was brought.
    """
    server = _git_remote(workspace, git_remote)
    run_id = _bring_tag(workspace, server, which)
    with _store(workspace, remote) as store, not_while_pruning(workspace):
        mark(workspace, store.cache)
        named, stays = _leaving(workspace, run_id)
        lists = {one.md5: one.path for one in named if one.md5.endswith(DIR)}
        brought = store.bring(lists)
        forged = [lists[md5] for md5 in brought if look(store.cache, md5) == "altered"]
        store.drop_altered(brought)
        if forged:
            raise hostile.HostileRun(
                f"Run {run_id}: the remote {store.name} holds no list of the files of "
                f"{_some(forged)}, but something else. Do not use it, and ask who pushed it."
            )
        wanted = _with_members(store.cache, named)
        brought |= store.bring(wanted)
        store.drop_altered(brought)
        lost = look_at(store.cache, wanted)
        if lost:
            raise ObjectsMissing(
                f"The remote {store.name} lacks what run {run_id} needs: "
                f"{_some(wanted[md5] for md5 in lost)}. Who has it: assay push {run_id}"
            )
        return Moved(
            run_id=run_id,
            git_remote=server,
            remote=store.name,
            num_objects=len(brought),
            size_bytes=sum(place(store.cache, md5).stat().st_size for md5 in brought),
            stays=stays,
        )


def _leaving(workspace: Path, run_id: str) -> tuple[list[Named], tuple[str, ...]]:
    """Return what may leave this machine, and the paths of what must not."""
    known = run_objects(workspace, [run_id])[run_id]
    if known.odd:
        raise hostile.HostileRun(
            f"Run {run_id} names what is no object, or lies outside of a workspace: "
            f"{_some(known.odd)}. Do not use it, and ask who pushed it."
        )
    named = known.named
    private = private_outs(workspace, run_id)
    home = {one.md5 for one in named if one.path in private}
    return (
        [one for one in named if one.md5 not in home],
        tuple(one.path for one in named if one.md5 in home),
    )


def private_outs(workspace: Path, run_id: str) -> set[str]:
    """Return the outputs that say `push: false`, as DVC's own push heeds it."""
    folder = f"cases/{case_of(run_id)}"
    found = set()
    text = git.run(workspace, "ls-tree", "-r", "-z", "--name-only", f"{PREFIX}{run_id}").decode()
    files = [name for name in text.split("\0") if name.endswith(".dvc") and "\n" not in name]
    for name in (f"{folder}/dvc.yaml", *files):
        try:
            blob = git.run(workspace, "cat-file", "blob", f"{PREFIX}{run_id}:{name}")
        except git.GitError:
            continue
        content = yaml12.load(blob.decode()) or {}
        base = name.rpartition("/")[0]
        for out in _outs(content):
            path, said = next(iter(out.items())) if "path" not in out else (out["path"], out)
            if isinstance(said, dict) and said.get("push") is False:
                found.add(f"{base}/{path}".lstrip("/"))
    return found


def _outs(content: Any) -> Iterator[dict[str, Any]]:
    stages = content.get("stages") or {"": content}
    for stage in stages.values():
        yield from (out for out in stage.get("outs") or () if isinstance(out, dict))


def _with_members(cache: Path, named: Iterable[Named]) -> dict[str, str]:
    """Return {hash: path} of objects and of what those that are folders list."""
    found: dict[str, str] = {}
    for one in named:
        found[one.md5] = one.path
        if one.md5.endswith(DIR):
            for name, md5 in (members(cache, one.md5) or {}).items():
                found.setdefault(md5, f"{one.path}/{name}")
    return found


def _some(paths: Iterable[str]) -> str:
    listed = sorted(set(paths))
    more = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return ", ".join(listed[:SHOWN]) + more


# git


def _git_remote(workspace: Path, stated: str | None) -> str:
    known = git.text(workspace, "remote").split()
    if stated in known:
        return stated
    if stated is None and "origin" in known:
        return "origin"
    if stated is None and len(known) == 1:
        return known[0]
    if not known:
        raise RemoteRefused("This repository has no remote. Name one: git remote add origin URL")
    told = "" if stated is None else f" Got: {stated}."
    raise RemoteRefused(f"Which git remote? --git-remote one of {', '.join(known)}.{told}")


def _git(workspace: Path, server: str, *words: str) -> str:
    quiet = {"GIT_TERMINAL_PROMPT": "0"}  # a question that nobody sees would wait for ever
    try:
        return git.run(workspace, *words, environment=quiet).decode()
    except git.GitError as error:
        raise RemoteRefused(
            f"The git remote {server} refused: {without_secrets(str(error))}"
        ) from None


def _refs(workspace: Path, run_id: str) -> list[str]:
    said = git.text(workspace, "for-each-ref", "--format=%(refname)", f"{waivers.PREFIX}{run_id}/")
    return [f"{PREFIX}{run_id}", *said.split()]


def _bring_tag(workspace: Path, server: str, which: str) -> str:
    listed = _git(workspace, server, "ls-remote", "--refs", server, f"{PREFIX}*")
    there = [line.split(PREFIX, 1)[1] for line in listed.splitlines() if PREFIX in line]
    named = which.removeprefix("run/")
    words = {LATEST, *map(case_of, there)}
    exact = that_begin(there, named)
    if named in words or "@" in named:
        _git(workspace, server, "fetch", "--quiet", server, f"{PREFIX}*:{PREFIX}*")
    elif len(exact) == 1:
        ref = f"{PREFIX}{exact[0]}"
        waived = f"{waivers.PREFIX}{exact[0]}/*"
        _git(workspace, server, "fetch", "--quiet", server, f"{ref}:{ref}", f"{waived}:{waived}")
    try:
        return find(workspace, which)
    except RunUnknown as error:
        newest = ", ".join(sorted(there, reverse=True)[:SHOWN]) or "none"
        raise RunUnknown(f"{error} The remote {server} has: {newest}.") from None


# DVC


class _Store:
    """DVC's remote and the cache, by the names of objects."""

    def __init__(self, repo: Any, workspace: Path, stated: str | None) -> None:
        self.name = str(stated or repo.config["core"].get("remote") or "")
        self.cache = cache_of(workspace)
        self._repo = repo
        self._odb = repo.cloud.get_remote_odb(stated, "push")

    def holds(self, names: Collection[str]) -> set[str]:
        """Return which of these objects the remote has."""
        return set(self._odb.oids_exist(list(names))) if names else set()

    def send(self, names: Collection[str]) -> None:
        self._transfer(self._repo.cache.local, self._odb, names)

    def bring(self, names: Collection[str]) -> set[str]:
        """Bring what is not here whole and is there; returns what was brought."""
        wanted = self.holds(look_at(self.cache, names))
        for md5 in wanted:
            place(self.cache, md5).unlink(missing_ok=True)  # damaged: DVC would take it for whole
        self._transfer(self._odb, self._repo.cache.local, wanted)
        return wanted

    def drop_altered(self, names: Collection[str]) -> None:
        """Remove what was brought and is not what its name says: DVC would take it for whole."""
        for md5, what in look_at(self.cache, names).items():
            if what == "altered":
                place(self.cache, md5).unlink(missing_ok=True)

    def _transfer(self, source: Any, target: Any, names: Collection[str]) -> None:
        from dvc_data.hashfile.hash_info import HashInfo

        objects = {HashInfo("md5", name) for name in names}
        if not objects:
            return
        # A remote's name of an object is its hash: nothing is looked up beside it.
        done = self._repo.cloud.transfer(source, target, objects, shallow=True)
        if done.failed:
            some = _some(str(one.value) for one in done.failed)
            raise RemoteRefused(f"The remote {self.name} did not take or give {some}. Try again.")


@contextmanager
def _store(workspace: Path, stated: str | None) -> Iterator[_Store]:
    """Open a DVC remote; what goes wrong with it is one message, without any credential."""
    from dvc.config import NoRemoteError
    from dvc.exceptions import DvcException
    from dvc.repo import Repo
    from dvc_objects.fs.errors import RemoteMissingDepsError

    told = f"The DVC remote {stated or ''}".rstrip()
    repo = Repo(str(workspace))
    try:
        yield _Store(repo, workspace, stated)
    except (RemoteRefused, ObjectsMissing, hostile.HostileRun):
        raise
    except NoRemoteError:
        raise RemoteRefused(
            "No DVC remote is named, so objects have nowhere to go. Name one: "
            "dvc remote add --default NAME URL (a folder, s3://bucket/path, ssh://...)"
        ) from None
    except RemoteMissingDepsError as error:
        raise RemoteRefused(f"{told} needs a package: {without_secrets(str(error))}") from None
    except Exception as error:
        name = type(error).__name__
        ours = type(error).__module__.startswith(("dvc", "boto", "aioboto", "aiohttp", "s3fs"))
        if not (isinstance(error, OSError | DvcException) or ours):
            raise
        if "Credentials" in name:
            raise RemoteRefused(
                f"{told} asks for credentials, and there are none. Give them as your storage "
                "expects, out of git: dvc remote modify --local NAME KEY VALUE, or its variables."
            ) from None
        said = without_secrets(" ".join(str(error).split())) or name
        raise RemoteRefused(f"{told} refused ({name}): {said}") from None
    finally:
        repo.close()


def without_secrets(text: str) -> str:
    """Take credentials out of a message: those in URLs, and the values of secret variables."""
    for key, value in os.environ.items():
        if len(value) >= 8 and any(word in key.upper() for word in _SECRETS):  # noqa: PLR2004  a shorter one is a word
            text = text.replace(value, "***")
    return _USER.sub("***@", text)

"""`assay deployed`: a CD system says what it is about to serve, and the gate is asked."""

import os
import shlex
import shutil
from pathlib import Path

from flows import deploy_claims, server, workspace
from flows.case import load_case
from flows.cli_words import BROKE, Answer
from flows.deploy_event import Deploy, NotStored, raise_event
from flows.prefect_api import ApiFailed
from lineage import git

HOOK = Path(__file__).parents[1] / "hooks/post-receive"


class HookRefused(Exception):  # noqa: N818  reads as the fact that it is
    """The hook cannot be put there; the message says what to do."""

    exit_status = 2


def deployed(case: str, model: str, digest: str, commit: str) -> Answer:
    """Raise the event that starts an examination of CASE in its release form."""
    root = workspace.find(Path.cwd())
    deploy = Deploy.of({"case": case, "model": model, "digest": digest, "commit": commit})
    load_case(root, case)
    before = deploy_claims.read(root, deploy.id)
    data = {"event": deploy.id, "raised": True, "run": before and before.run}
    try:
        _reach(root)
        raise_event(deploy)
    except (ApiFailed, NotStored) as error:
        again = f"{error} Not raised. Once `assay serve` runs: {shlex.join(deploy.words())}"
        return {**data, "raised": False, "error": again, "status": BROKE}, again, BROKE
    text = f"event    {deploy.id}\nanswer   assay gate --wait --event {deploy.id}"
    if before:
        has = f"run {before.run}" if before.run else "a run"
        text = f"told before: {has} has it\n{text}"
    return data, text, 0


def _reach(root: Path) -> None:
    """Find the server; it is not started here, as an event that nobody serves helps nobody."""
    found = server.status(root)
    if found is None or not found.answers:
        where = f" at {found.api_url}" if found else ""
        raise ApiFailed(f"Prefect's server{where} does not answer.", None)
    os.environ.update(server.environment(found.api_url, root))


def install_hook(repository: str) -> Answer:
    """Put the hook into a repository that tags are pushed to.

    Raises:
        HookRefused: it is none, or has a hook of its own.
    """
    root, place = workspace.find(Path.cwd()), Path(repository)
    try:
        folder = place / git.text(place, "rev-parse", "--git-path", "hooks").strip()
    except (git.GitError, OSError):
        raise HookRefused(f"{repository} is no git repository.") from None
    hook = folder / HOOK.name
    if hook.exists() and hook.read_bytes() != HOOK.read_bytes():
        raise HookRefused(f"{hook} is there already. Call {HOOK} from it, with its stdin.")
    folder.mkdir(exist_ok=True)
    shutil.copyfile(HOOK, hook)
    hook.chmod(0o755)
    found = server.status(root)
    if found:
        git.run(place, "config", "assay.api", found.api_url)
        if found.auth_file:
            git.run(place, "config", "assay.authFile", found.auth_file)
    where = found.api_url if found else "not known yet: git config assay.api URL"
    text = f"hook     {hook}\nserver   {where}\ntags     deploy/CASE/MODEL, or CASE#STAGE#N of GTO"
    return {"hook": str(hook), "api": found and found.api_url}, text, 0

"""`assay deployed`: a CD system says what it is about to serve, and the gate is asked."""

import os
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from flows import deploy_claims, looks_ledger, server, workspace
from flows.case import LoadedCase, load_case
from flows.cli_words import BROKE, Answer
from flows.deploy_event import Deploy, NotStored, raise_event
from flows.plan import named, plan
from flows.prefect_api import ApiFailed, call
from lineage import git
from lineage.run_tags import list_looks

HOOK = Path(__file__).parents[1] / "hooks/post-receive"


class HookRefused(Exception):  # noqa: N818  reads as the fact that it is
    """The hook cannot be put there; the message says what to do."""

    exit_status = 2


def deployed(told: Mapping[str, str], again: bool) -> Answer:
    """Raise the event that starts an examination of a case in its release form.

    Raises:
        UnderWay: it is to be asked again, and has not been answered yet.
    """
    root = workspace.find(Path.cwd())
    deploy = Deploy.of(told)
    loaded = load_case(root, deploy.case)
    before = deploy_claims.read(root, deploy.id)
    data = {"event": deploy.id, "raised": True, "run": before and before.run}
    try:
        _reach(root)
        if before and again:
            _ask_again(root, deploy)
            data["run"] = None
        else:
            raise_event(deploy)
    except (ApiFailed, NotStored) as error:
        words = shlex.join([*deploy.words(), *(["--again"] if again else [])])
        text = f"{error} Not raised. Once `assay serve` runs: {words}"
        return {**data, "raised": False, "error": text, "status": BROKE}, text, BROKE
    lines = [] if again else _told_before(before, deploy)
    look = _look(root, loaded)
    lines += [f"event    {deploy.id}", *([f"look     {look}"] if look else [])]
    lines.append(f"answer   assay gate --wait --event {deploy.id}")
    return {**data, "look": look}, "\n".join(lines), 0


def _ask_again(root: Path, deploy: Deploy) -> None:
    """Start another flow run of an event that the server knows, and starts nothing for."""
    deployment = call(f"/deployments/name/investigate/{deploy.case}")["id"]
    deploy_claims.reopen(root, deploy.id)
    body = {"parameters": asdict(deploy), "state": {"type": "SCHEDULED"}}
    call(f"/deployments/{deployment}/create_flow_run", body)


def _told_before(before: deploy_claims.Claim | None, deploy: Deploy) -> list[str]:
    if before is None:
        return []
    has = f"run {before.run}" if before.run else "a run"
    if not before.ended:
        return [f"told before: {has} has it"]
    again = shlex.join([*deploy.words(), "--again"])
    return [f"told before: {has} has answered it. To ask once more: {again}"]


def _look(root: Path, loaded: LoadedCase) -> str | None:
    """Say which look at the held-out rows new answers would be, if it is not stated."""
    records = list_looks(root)
    own = [one for one in records if one.case == loaded.name and one.look and one.look["answers"]]
    if not own:
        return None
    last = max(own, key=lambda one: one.started)
    number = looks_ledger.next_look((last.look or {})["rows"], records)
    stated = named(plan(loaded), "gate").params["look"]
    if number <= (stated or 1):
        return None
    return (
        f"if it answers otherwise than all before, it is look {number} at the same held-out rows; "
        f"stated: {stated or 'none'}. An open gate lets it serve only if case.yaml states it: "
        f"params: {{gate: {{look: {number}}}}}"
    )


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
    if not repository.strip():  # an empty path is this folder
        raise HookRefused("Which repository? --install-hook takes the folder that is pushed to.")
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

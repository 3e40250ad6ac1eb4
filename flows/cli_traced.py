"""The commands about kept runs: where a number is from, whether it is whole, how it travels."""

import sys
from typing import Any

import click

from flows.cli_words import answer, as_json, say
from flows.cli_words import budget as check_budget


@click.command()
@click.argument("run_id", metavar="[RUN]", required=False)
@click.option("--mend", is_flag=True, help="Take what is altered out of the cache.")
@as_json
def verify(run_id: str | None, mend: bool, json_: bool) -> None:
    """Read all that RUN has made, or every run, and say what is damaged: 0 whole, 1 damaged.

    Each object of the cache is read and hashed once; what DVC remembers of it is not asked.
    """
    answer(json_, "verify", "verify", run_id, mend, say)


@click.command()
@click.argument("run_id", metavar="RUN")
@click.option("--from", "stage", metavar="STAGE", help="Run it and all after it, though cached.")
@click.option(
    "--only-failed", is_flag=True, help="Run nothing that RUN had finished: restore it, or end."
)
@click.option(
    "--isolation",
    type=click.Choice(["auto", "docker", "process"]),
    default=None,
    help="Where stages run.  [default: as in RUN]",
)
@click.option("--budget", callback=check_budget, metavar="TIME", help="How long it may take.")
@as_json
def rerun(run_id: str, json_: bool, **asked: Any) -> None:
    """Repeat RUN from its own commit: code, params and data as they were.

    What is cached is restored, all else runs. The new run's record names RUN, and what ran is
    compared with it: the same to the byte, or which files differ.
    """
    answer(json_, "rerun", "rerun", run_id, asked, say)


@click.command()
@click.argument("what", metavar="WHAT")
@click.option("--picture", metavar="FILE.svg", type=click.Path(), help="Draw it, too.")
@as_json
def lineage(what: str, picture: str | None, json_: bool) -> None:
    """Trace WHAT back to data, code, params and images, and forward to all that was made from it.

    WHAT is a file or folder, wherever it lies (it is found by its bytes); a hash or its beginning
    (MD5, SHA-256, of git, of an image or a log); a path of an artifact; RUN:PATH; or a RUN.
    """
    answer(json_, "lineage", "lineage", what, picture, say)


@click.command()
@click.argument("run_id", metavar="[RUN]", default="latest")
@click.option("--trust", is_flag=True, help="Also a program that is not your branch's.")
@as_json
def reproduce(run_id: str, trust: bool, json_: bool) -> None:
    """Run RUN again from its tag, in a clean clone with empty caches, and compare all outputs.

    The raw data is all that its cache holds. 0: all identical, or equal within the tolerance that
    the run states; 1: some differ; 3: it broke.
    """
    answer(json_, "reproduce", "reproduce", run_id, say, trust)


@click.command()
@click.option("--keep", type=click.IntRange(min=0), metavar="N", help="The N newest of each case.")
@click.option("--keep-days", type=float, metavar="D", help="Those of D days.")
@click.option("--keep-run", "runs", multiple=True, metavar="RUN", help="This one; repeatable.")
@click.option("--dry-run", is_flag=True, help="Say what would go, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--alone", is_flag=True, help="No other workspace uses this one's cache.")
@as_json
def prune(json_: bool, **stated: Any) -> None:
    """Drop the runs that nothing names here, and what in the cache no kept run needs.

    Whatever is asked for, the last finished run of each case stays, and so do runs with a waiver
    that holds. Raw data is never dropped.
    """

    def ask(question: str) -> bool:
        return sys.stdin.isatty() and click.confirm(question, err=True)

    answer(json_, "prune", "prune", stated, ask, say)


_remotes = [
    click.option("--remote", metavar="NAME", help="The DVC remote.  [default: DVC's default]"),
    click.option("--git-remote", metavar="NAME", help="The git remote.  [default: origin]"),
]


@click.command()
@click.argument("run_id", metavar="[RUN]", default="latest")
@_remotes[0]
@_remotes[1]
@as_json
def push(run_id: str, remote: str | None, git_remote: str | None, json_: bool) -> None:
    """Take RUN to the remotes: its objects by DVC, then its tag and waivers by git.

    What is private (`pictures: none`) stays on this machine.
    """
    answer(json_, "remote", "push", run_id, remote, git_remote)


@click.command()
@click.argument("run_id", metavar="RUN")
@_remotes[0]
@_remotes[1]
@as_json
def pull(run_id: str, remote: str | None, git_remote: str | None, json_: bool) -> None:
    """Bring RUN that a colleague pushed: `assay report RUN` works here then.

    RUN is an id or its beginning, `latest`, CASE or CASE@previous.
    """
    answer(json_, "remote", "pull", run_id, remote, git_remote)


@click.command()
@click.argument("run_id", metavar="[RUN]", default="latest")
@click.option(
    "--format", "form", type=click.Choice(["ro-crate", "in-toto"]), default="ro-crate",
    show_default=True, help="A Workflow Run RO-Crate, or in-toto with SLSA's provenance.",
)  # fmt: skip
@click.option("--out", metavar="PATH", help="A folder or .zip for a crate, a file for a statement.")
@click.option("--check", "file", metavar="FILE", help="Check such a file instead: 0 true, 1 not.")
@as_json
def export(run_id: str, form: str, out: str | None, file: str | None, json_: bool) -> None:
    """Write RUN as other tools read it; needs no network.

    With --check, what a file says is computed again from this repository and compared.
    """
    if file is not None:
        answer(json_, "export", "check", file)
    answer(json_, "export", "export", run_id, form, out)


COMMANDS: tuple[click.Command, ...] = (lineage, verify, rerun, reproduce, export, push, pull, prune)

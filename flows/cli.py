"""The command line: only click is imported here, so that `--help` answers at once."""

import sys
from typing import Any

import click

from flows import cli_traced, cli_triggered
from flows.cli_words import USAGE, TellingGroup, answer, as_json, case_names, isolation, say
from flows.cli_words import budget as check_budget
from flows.scaffold.options import new_options


@click.group(
    cls=TellingGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="assay")
def main() -> None:
    """Find what the gap between simulation and the field is made of, and prove the fix.

    Exit status: 0 done, gate open; 1 gate closed or abstained, or a partial answer; 2 could not
    start; 3 broke on the way, resumable by the same command; 130 cancelled.
    """


@main.command()
@click.argument("case", shell_complete=lambda *_: case_names())
@isolation
@click.option(
    "--budget",
    callback=check_budget,
    metavar="TIME",
    help="How long it may take: 90s, 10m, 2h.  [default: `budget` of case.yaml, or else 2h]",
)
@click.option("--quiet", is_flag=True, help="No progress, only the answer.")
@as_json
def run(case: str, isolation: str, budget: str | None, quiet: bool, json_: bool) -> None:
    """Investigate CASE: what broke, how sure, what to do now, what proves it.

    Ctrl-C once: the answer from what is known so far. Twice: cancel.
    """
    answer(json_, "run", "run", case, isolation, budget, (lambda _: None) if quiet else say)


@main.command()
@click.argument("case", shell_complete=lambda *_: case_names())
@as_json
def check(case: str, json_: bool) -> None:
    """Check CASE without running it: every fault at once, and what a run would do."""
    answer(json_, "show", "check", case)


@main.command("list")
@as_json
def list_(json_: bool) -> None:
    """List the cases of this workspace."""
    answer(json_, "show", "list_cases")


@main.command()
@click.argument("case", required=False, shell_complete=lambda *_: case_names())
@click.option(
    "--last", type=click.IntRange(min=1), default=10, show_default=True, help="How many runs."
)
@as_json
def status(case: str | None, last: int, json_: bool) -> None:
    """Show the server and the latest runs, of CASE or of all."""
    answer(json_, "show", "status", case, last)


@main.command()
@click.argument("run_id", metavar="[RUN]", default="latest")
@click.option("--open", "open_", is_flag=True, help="Open it in a browser.")
@click.option("--text", "form", flag_value="text", help="Tell it in twelve lines.")
@click.option("--markdown", "form", flag_value="markdown", help="The same, for Slack and its like.")
@as_json
def report(run_id: str, open_: bool, form: str | None, json_: bool) -> None:
    """Bring the report of RUN (an id, CASE, CASE@previous, latest) out of the cache."""
    answer(json_, "show", "report", run_id, open_, form)


@main.command()
@click.argument("old", metavar="RUN")
@click.argument("new", metavar="RUN")
@as_json
def diff(old: str, new: str, json_: bool) -> None:
    """Say what differs between two runs: verdict and metrics, then what may have caused it.

    RUN is an id or its beginning, `latest`, CASE (its last finished) or CASE@previous. It takes
    about a second: tags and small files are read; nothing is checked out, and no stage runs.
    """
    answer(json_, "diff", "diff", old, new)


@main.command()
@as_json
def doctor(json_: bool) -> None:
    """Say what this host has, what is missing, and the command that mends it."""
    answer(json_, "show", "doctor")


@main.command()
@click.argument("case")
@new_options
@as_json
def new(case: str, json_: bool, **stated: Any) -> None:
    """Make CASE of your model and data as they are: converted, described, ready to run.

    SOURCE: a dataset folder, a folder of pictures (one folder a class, or a CSV of labels beside),
    a CSV or Parquet table, .npz or .npy, WebDataset tars, a folder of Hugging Face `datasets`
    (PATH#PART for one part), or dvc:URL#PATH[@REV] of another repository. What is missing is asked
    for at a terminal. More: docs/new-case.md.
    """
    answer(json_, "new", "new", case, stated, say)


@main.command()
@click.argument("case", shell_complete=lambda *_: case_names())
@click.option("--apply", "kind", metavar="KIND", help="Put this one into a new case and run it.")
@click.option("--run", "run_id", metavar="RUN", help="Whose offers; the last finished by default.")
@isolation
@as_json
def mitigate(case: str, kind: str | None, run_id: str | None, isolation: str, json_: bool) -> None:
    """List what restores service of CASE, or put one offer into a new case and hold it to the gate.

    The new case CASE-KIND stands beside CASE: the same data and reference, the mitigation in its
    candidate.
    """
    answer(json_, "mitigate", "mitigate", case, kind, run_id, isolation, say)


class _GateGroup(click.Group):
    """`assay gate RUN` shows; `assay gate waive RUN` waives."""

    def parse_args(self, context: click.Context, words: list[str]) -> list[str]:
        """Take what names no subcommand as a run."""
        named = bool(words) and (words[0] in self.commands or words[0] in {"-h", "--help"})
        return super().parse_args(context, words if named else ["show", *words])


@main.group(cls=_GateGroup, subcommand_metavar="[RUN] [--wait] [--event ID] | waive RUN ...")
def gate() -> None:
    """Tell whether the candidate of RUN may serve: 0 open, or waived and not expired; else 1.

    A step of CI: assay gate --wait --event ID, with the id that `assay deployed` told.
    """


@gate.command("show")
@click.argument("run_id", metavar="[RUN]", default="latest")
@click.option("--event", metavar="ID", help="The run that this deploy event started.")
@click.option("--wait", is_flag=True, help="Until it has ended.")
@click.option("--timeout", callback=check_budget, default="2h", metavar="TIME", show_default=True,
              help="How long to wait; 3 is the exit status then.")  # fmt: skip
@as_json
def gate_show(run_id: str, event: str | None, wait: bool, timeout: str, json_: bool) -> None:
    """Show the state of RUN's gate, its waivers, and which look at the held-out rows it was."""
    answer(json_, "gate_wait", "show", run_id, event, timeout if wait else None, say)


@gate.command("waive")
@click.argument("run_id", metavar="RUN")
@click.option("--reason", required=True, help="Why it may serve all the same.")
@click.option("--by", required=True, help="Who answers for it.")
@click.option("--until", required=True, metavar="DATE", help="The last day, as in 2027-01-31.")
@as_json
def gate_waive(run_id: str, reason: str, by: str, until: str, json_: bool) -> None:
    """Open RUN's closed gate until a day: a tag beside the run's own, which stays as it is."""
    answer(json_, "gate", "waive", run_id, reason, by, until)


@main.group()
def contract() -> None:
    """What data must be to enter an investigation."""


@contract.command("draft")
@click.argument("case", shell_complete=lambda *_: case_names())
@click.option("--write", is_flag=True, help="Write it; else it is printed.")
@click.option("--force", is_flag=True, help="Overwrite what is there.")
@as_json
def contract_draft(case: str, write: bool, force: bool, json_: bool) -> None:
    """Draft the data contract of CASE from its data, each bound with where it came from."""
    answer(json_, "contract", "draft_contract", case, write, force, say)


@main.command()
@click.option("--check", "check_", is_flag=True, help="Change nothing; fail when a file is stale.")
@click.option("--isolation", type=click.Choice(["auto", "docker", "process"]), default=None)
@as_json
def plan(check_: bool, isolation: str | None, json_: bool) -> None:
    """Write each case's dvc.yaml from the stages, params.yaml and case.yaml."""
    answer(json_, "graph", "plan", check_, isolation, say)


@main.command()
@click.argument("case")
@click.argument("name")
@as_json
def stage(case: str, name: str, json_: bool) -> None:
    """Run one stage of CASE here, as `dvc repro` does; DVC decides whether."""
    answer(json_, "graph", "stage", case, name, say)


@main.command()
@click.option("--write", "path", type=click.Path(), help="Also write it as JSON.")
@as_json
def overview(path: str | None, json_: bool) -> None:
    """Put the cases of this workspace side by side."""
    answer(json_, "graph", "overview", path)


@main.group()
def images() -> None:
    """Build and check the images that stages run in."""


@images.command("build")
@click.argument("family", nargs=-1)
@click.option("--force", is_flag=True, help="Build again what is current.")
@as_json
def images_build(family: tuple[str, ...], force: bool, json_: bool) -> None:
    """Build FAMILY (default: all)."""
    answer(json_, "images", "build", family, force, say)


@images.command("list")
@as_json
def images_list(json_: bool) -> None:
    """List the families and whether each is built."""
    answer(json_, "images", "list_images")


@images.command("verify")
@as_json
def images_verify(json_: bool) -> None:
    """Check that each image is what its key says."""
    answer(json_, "images", "verify")


@main.group()
def server() -> None:
    """The workspace's own Prefect server."""


@server.command("start")
@click.option("--host", help="Where it listens.  [default: as before, or else 127.0.0.1]")
@click.option("--port", type=click.IntRange(1, 65535), help="[default: as before, or a free one]")
@as_json
def server_start(host: str | None, port: int | None, json_: bool) -> None:
    """Start it, unless it runs. Where others can reach it, it asks for a name and a password.

    They are drawn once and stand in .assay/prefect/auth, which you alone can read.
    """
    answer(json_, "server", "start", host, port, say)


@server.command("stop")
@as_json
def server_stop(json_: bool) -> None:
    """Stop it. The next start listens where it did, unless told otherwise."""
    answer(json_, "server", "stop")


@server.command("status")
@as_json
def server_status(json_: bool) -> None:
    """Say whether and where it runs."""
    answer(json_, "server", "status")


@main.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of SHELL: eval "$(assay completion bash)"."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is None:  # click knows the three shells of the choice
        sys.exit(USAGE)
    click.echo(kind(main, {}, "assay", "_ASSAY_COMPLETE").source())


for _command in (*cli_traced.COMMANDS, *cli_triggered.COMMANDS):
    main.add_command(_command)

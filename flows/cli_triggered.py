"""The commands about runs that start by themselves."""

import click

from flows.cli_words import answer, as_json, case_names, say


@click.command()
@click.argument("case", nargs=-1, shell_complete=lambda *_: case_names())
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="How many runs at once; others wait.",
)
@as_json
def serve(case: tuple[str, ...], limit: int, json_: bool) -> None:
    """Start runs of CASE (default: all): on schedule, when it is deployed, by hand in Prefect's UI.

    It stays until Ctrl-C or SIGTERM. Runs go on without it; what came meanwhile is started when it
    is back.
    """
    answer(json_, "serve", "serve", case, limit, say)


def _install(context: click.Context, _option: click.Parameter, repository: str | None) -> None:
    if repository is not None:
        answer("--json" in context.args, "deployed", "install_hook", repository)


@click.command()
@click.option(
    "--install-hook",
    metavar="REPOSITORY",
    is_eager=True,
    expose_value=False,
    callback=_install,
    help="Instead: raise it whenever a tag deploy/CASE/MODEL is pushed to this repository.",
)
@click.argument("case", shell_complete=lambda *_: case_names())
@click.option("--model", required=True, metavar="VERSION", help="The model's, as in 1.4.2.")
@click.option("--digest", required=True, metavar="sha256:...", help="The image's.")
@click.option("--commit", required=True, metavar="COMMIT", help="What it was built from.")
@click.option("--again", is_flag=True, help="Examine it once more, though it has an answer.")
@as_json
def deployed(case: str, again: bool, json_: bool, **told: str) -> None:
    """Say that CASE's model is about to serve: the gate is asked, see `assay gate --wait`.

    The same words told twice start one run, unless they say --again. Exit status 3: the server did
    not take the event.
    """
    answer(json_, "deployed", "deployed", {"case": case, **told}, again)


@click.command()
@click.argument("case", shell_complete=lambda *_: case_names())
@click.argument("stage")
@click.option("--repository", required=True, help="What `git clone` is given in the cluster.")
@click.option("--revision", help="A commit or a tag, as run/ID.  [default: HEAD]")
@click.option("--tools", required=True, help="An image with git, and dvc for the remote.")
@click.option("--registry", help="Where the nodes pull assay's images from.")
@click.option("--image", help="The stage's image, where it is called otherwise there.")
@click.option("--secret", help="A Secret: its keys are variables of what pulls and pushes.")
@as_json
def kubernetes(case: str, stage: str, json_: bool, **stated: str | None) -> None:
    """Print STAGE of CASE as a Kubernetes Job, for `kubectl apply -f -`.

    Its inputs come from the DVC remote, its outputs go there. Checked against Kubernetes' schemas;
    not yet run on a cluster.
    """
    answer(json_, "kubernetes", "kubernetes", case, stage, stated)


COMMANDS: tuple[click.Command, ...] = (serve, deployed, kubernetes)

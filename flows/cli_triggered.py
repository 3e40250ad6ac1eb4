"""The commands about runs that start by themselves."""

import click

from flows.cli_words import answer, as_json, case_names


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


COMMANDS: tuple[click.Command, ...] = (kubernetes,)

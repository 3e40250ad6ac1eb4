"""The commands about kept runs: where a number is from, whether it is whole, how it travels."""

import click

from flows.cli_words import answer, as_json, say


@click.command()
@click.argument("run_id", metavar="[RUN]", required=False)
@click.option("--mend", is_flag=True, help="Take what is altered out of the cache.")
@as_json
def verify(run_id: str | None, mend: bool, json_: bool) -> None:
    """Read all that RUN has made, or every run, and say what is damaged: 0 whole, 1 damaged.

    Each object of the cache is read and hashed once; what DVC remembers of it is not asked.
    """
    answer(json_, "verify", "verify", run_id, mend, say)


COMMANDS: tuple[click.Command, ...] = (verify,)

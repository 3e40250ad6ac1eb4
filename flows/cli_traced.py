"""The commands about kept runs: where a number comes from, whether it is whole, and how it travels."""

import click

COMMANDS: tuple[click.Command, ...] = ()

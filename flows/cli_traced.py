"""The commands about kept runs: where a number is from, whether it is whole, how it travels."""

import click

COMMANDS: tuple[click.Command, ...] = ()

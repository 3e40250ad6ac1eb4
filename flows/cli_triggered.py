"""The commands about runs that start by themselves."""

import click

COMMANDS: tuple[click.Command, ...] = ()

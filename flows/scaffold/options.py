"""The flags of `assay new`; nothing heavy is imported here, so that `--help` answers at once."""

from collections.abc import Callable
from typing import Any

import click

SOURCE, CALL = "SOURCE", "NAME=MODULE:FUNCTION"

_OPTIONS = (
    click.option(
        "--task",
        type=click.Choice(["classification", "regression"]),
        default="classification",
        show_default=True,
    ),
    click.option("--sim", metavar=SOURCE, help="What the model was validated on."),
    click.option("--real", metavar=SOURCE, help="Samples of the field, with labels or without."),
    click.option("--train", metavar=SOURCE, help="What the model was trained on."),
    click.option("--weights", metavar="PATH", help="The model's file or folder."),
    click.option(
        "--model",
        metavar="MODEL",
        help="module:function that builds the model; or onnx, torchscript, exported.",
    ),
    click.option("--code", metavar="FOLDER", help="Your package or folder; it is copied."),
    click.option("--step", multiple=True, metavar=CALL, help="A step of the reference, in order."),
    click.option(
        "--candidate-step",
        multiple=True,
        metavar=CALL,
        help="A step of the deployment; under a name of the reference it replaces that one.",
    ),
    click.option("--image", help="A family (base, torch, onnx) or an image of your own."),
    click.option("--candidate-image", help="The same for the deployment."),
    click.option(
        "--recorded", metavar="FOLDER", help="What the deployment logged, where it cannot be run."
    ),
    click.option("--label-column", metavar="NAME"),
    click.option("--id-column", metavar="NAME"),
    click.option("--group-column", metavar="NAME", help="Session, device or writer of a sample."),
    click.option("--sample-column", metavar="NAME", help="Where several could be the sample."),
    click.option(
        "--classes", metavar="N|NAMES", help="How many, or their names in the model's order."
    ),
    click.option("--metric", type=click.Choice(["accuracy", "r2", "mae"])),
    click.option("--unit", help="Of a regression's target: MJ/kg."),
    click.option("--title"),
    click.option("--contract", metavar="NAME", help="Of the data contract; default: the case's."),
    click.option(
        "--private", is_flag=True, help="Samples stay on this machine: pictures: none, no push."
    ),
    click.option("--dry-run", is_flag=True, help="Look at everything, leave nothing."),
)


def new_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the flags of `assay new`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command

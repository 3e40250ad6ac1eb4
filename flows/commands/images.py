"""`assay images`: the images that stages run in."""

from dataclasses import asdict

from containers import images
from containers.engine import connect
from containers.keys import FAMILIES
from flows.cli_words import Answer
from flows.faults import Faults
from flows.investigation import Say


def build(families: tuple[str, ...], force: bool, say: Say) -> Answer:
    """Build what is not current."""
    unknown = [family for family in families if family not in FAMILIES]
    if unknown:
        raise Faults(f"Which image? One of: {', '.join(FAMILIES)}. Got: {', '.join(unknown)}.")
    return _told(images.build(connect(), families or FAMILIES, on_progress=say, force=force))


def list_images() -> Answer:
    """List every family."""
    return _told(images.listing(connect()))


def verify() -> Answer:
    """Fail unless every image is what its key says."""
    return _told(images.verify(connect()))


def _told(found: list[images.Image]) -> Answer:
    lines = [
        f"{image.family:<12} {image.state:<12} {image.name:<34} "
        f"{(image.size_bytes or 0) / 1e6:6.0f} MB  {image.next_step}".rstrip()
        for image in found
    ]
    return [asdict(image) for image in found], "\n".join(lines), 0

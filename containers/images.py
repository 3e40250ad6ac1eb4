"""Build, list and verify the project's images; every function takes a client of the engine."""

import tarfile
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Final, Literal

from containers import wheelhouse
from containers.engine import Client
from containers.job import RunnerError
from containers.keys import (
    BASE_VARIABLE,
    FAMILIES,
    base_name,
    build_key,
    dockerfile_text,
    image_name,
    requirements_text,
)

KEY_LABEL: Final = "assay.build-key"
FAMILY_LABEL: Final = "assay.family"
BASE_LABEL: Final = "assay.base"
DIGEST_LABEL: Final = "assay.base-digest"

Progress = Callable[[str], None]
State = Literal["current", "missing", "stale", "mislabelled"]


class ImageError(RunnerError):
    """An image is missing, not what it says it is, or could not be built."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """One family on this engine."""

    family: str
    name: str  # assay/<family>:<first 12 of the key>
    key: str
    state: State  # stale: only images of other keys are there
    image_id: str | None  # None when it is not there
    size_bytes: int | None
    base: str
    base_digest: str | None  # registry digest of the base, where it has one
    stale: tuple[str, ...]  # names of this family's images of other keys

    @property
    def next_step(self) -> str:
        """Return what brings the image to `current`; "" when it is."""
        if self.state == "current":
            return ""
        force = " --force" if self.state == "mislabelled" else ""
        return f"assay images build {self.family}{force}"


def listing(client: Client, families: Iterable[str] = FAMILIES) -> list[Image]:
    """Return the state of each family's image, by one call to the engine."""
    known = client.images(filters={"label": FAMILY_LABEL})
    return [_state(family, known) for family in families]


def verify(client: Client, families: Iterable[str] = FAMILIES) -> list[Image]:
    """Return the listing when every image is current.

    Raises:
        ImageError: one is not; the message names the next step.
    """
    images = listing(client, families)
    bad = [image for image in images if image.state != "current"]
    if bad:
        words = "; ".join(f"{image.name} is {image.state}" for image in bad)
        steps = " ".join(image.family for image in bad)
        force = " --force" if any(image.state == "mislabelled" for image in bad) else ""
        raise ImageError(f"{words}. Build with `assay images build {steps}{force}`.")
    return images


def build(
    client: Client,
    families: Iterable[str] = FAMILIES,
    *,
    on_progress: Progress,
    force: bool = False,
) -> list[Image]:
    """Build the families that are not current, in the order told; returns their listing.

    They install from the wheelhouse that `ASSAY_WHEELHOUSE` names, filled first where it lacks
    something, else from the package index.

    Args:
        client: the engine's client.
        families: which of `FAMILIES`.
        on_progress: takes one line of the engine's or pip's output at a time.
        force: build again what is current, without the engine's cache.

    Raises:
        ImageError: no base, a failed step; the message names the next step.
    """
    families = tuple(families)
    wheels = wheelhouse.told_folder()
    todo = [image.family for image in listing(client, families) if force or image.next_step]
    if todo:
        if wheels is not None:
            wheelhouse.fill(wheels, todo, on_progress)
        base = resolve_base(client, on_progress=on_progress)
    for family in todo:
        _build_one(client, family, base=base, wheels=wheels, force=force, on_progress=on_progress)
    return verify(client, families)


def resolve_base(client: Client, *, on_progress: Progress) -> tuple[str, str | None]:
    """Return the base as the build must name it, and its registry digest where it has one.

    Raises:
        ImageError: it is not here and no registry gives it.
    """
    import docker.errors
    import docker.utils

    name = base_name()
    if not _is_here(client, name):
        on_progress(f"pulling {name}")
        try:
            repository, tag = docker.utils.parse_repository_tag(name)
            for event in client.pull(repository, tag=tag or "latest", stream=True, decode=True):
                if "error" in event:
                    raise ImageError(_no_base(name, event["error"]))
        except docker.errors.APIError as error:
            raise ImageError(_no_base(name, error.explanation or str(error))) from error
    digests = client.inspect_image(name).get("RepoDigests") or []
    if not digests:
        return name, None  # built or imported here: a registry never saw it
    return digests[0], digests[0].partition("@")[2]


def registry_digest(image: dict[str, Any]) -> str | None:
    """Return an inspected image's digest in its registry: of one of ours that of its base.

    None: no registry ever saw it.
    """
    labels = image["Config"].get("Labels") or {}
    if FAMILY_LABEL in labels:
        return labels.get(DIGEST_LABEL) or None
    digests = image.get("RepoDigests") or []
    return digests[0].rpartition("@")[2] if digests else None


def _no_base(name: str, why: str) -> str:
    return (
        f"The base image {name} is not here and could not be pulled: {why.strip()}. Where no "
        f"registry can be reached, make one with `.ci/base_image.sh` and set {BASE_VARIABLE}."
    )


def _is_here(client: Client, name: str) -> bool:
    import docker

    try:
        client.inspect_image(name)
    except docker.errors.ImageNotFound:
        return False
    return True


def _state(family: str, known: list[dict[str, Any]]) -> Image:
    name, key = image_name(family), build_key(family)
    mine = next((image for image in known if name in (image["RepoTags"] or [])), None)
    others = [
        tag
        for image in known
        if image["Labels"].get(FAMILY_LABEL) == family
        for tag in image["RepoTags"] or []
        if tag != name and tag.startswith(f"assay/{family}:")
    ]
    state: State = "stale" if others else "missing"
    if mine is not None:
        state = "current" if mine["Labels"].get(KEY_LABEL) == key else "mislabelled"
    return Image(
        family=family,
        name=name,
        key=key,
        state=state,
        image_id=mine["Id"] if mine else None,
        size_bytes=mine["Size"] if mine else None,
        base=base_name(),
        base_digest=(mine["Labels"].get(DIGEST_LABEL) or None) if mine else None,
        stale=tuple(sorted(others)),
    )


def _build_one(
    client: Client,
    family: str,
    *,
    base: tuple[str, str | None],
    wheels: Path | None,
    force: bool,
    on_progress: Progress,
) -> None:
    reference, digest = base
    labels = {KEY_LABEL: build_key(family), FAMILY_LABEL: family, BASE_LABEL: base_name()}
    if digest:
        labels[DIGEST_LABEL] = digest
    with tempfile.TemporaryFile() as context:
        _write_context(context, family, wheels)
        context.seek(0)
        events = client.build(
            fileobj=context,
            custom_context=True,
            tag=image_name(family),
            buildargs={"BASE": reference},
            labels=labels,
            network_mode="none" if wheels else None,
            nocache=force,
            rm=True,
            forcerm=True,
            decode=True,
        )
        for event in events:
            if "error" in event:
                raise ImageError(_build_failed(family, event["error"].strip(), wheels))
            line = event.get("stream", "").strip()
            if line:
                on_progress(f"{family}: {line}")


def _build_failed(family: str, why: str, wheels: Path | None) -> str:
    step = (
        f"Empty {wheels}, and it is filled again"
        if wheels
        else f"Where no package index can be reached, name a wheelhouse by {wheelhouse.VARIABLE}"
    )
    return f"Image {family} could not be built: {why}. {step}; then `assay images build {family}`."


def _write_context(context: Any, family: str, wheels: Path | None) -> None:
    """Write a tar of Dockerfile, requirements and this family's wheels.

    Times and owners are zero, or the engine's cache would miss at every build.
    """
    found: list[Path] = []
    if wheels is not None:
        found, missing = wheelhouse.select(wheels, family)
        if missing:
            raise ImageError(_build_failed(family, f"{wheels} lacks {', '.join(missing)}", wheels))
    with tarfile.open(fileobj=context, mode="w") as tar:
        _add(tar, "Dockerfile", dockerfile_text().encode())
        _add(tar, "requirements.txt", requirements_text(family).encode())
        folder = tarfile.TarInfo("wheelhouse")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(folder)
        for wheel in found:
            entry = tarfile.TarInfo(f"wheelhouse/{wheel.name}")
            entry.size, entry.mode = wheel.stat().st_size, 0o644
            with wheel.open("rb") as source:
                tar.addfile(entry, source)


def _add(tar: tarfile.TarFile, name: str, text: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(text), 0o644
    tar.addfile(entry, BytesIO(text))

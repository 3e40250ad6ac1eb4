"""A run as an in-toto statement (v1) with SLSA's provenance (v1) as its predicate.

The subjects are the files that the run made. The build type is described in docs/how-to/export.md.
"""

from typing import Any

from containers.keys import is_family
from lineage.exports import Export, Made, digest_of
from lineage.provenance import Provenance

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://slsa.dev/provenance/v1"
BUILD_TYPE = "urn:assay:investigation:v1"


def statement(export: Export) -> dict[str, Any]:
    """Return the statement; a file that leaves no machine is told by its digest alone."""
    record = export.record
    return {
        "_type": STATEMENT,
        "subject": [_subject(one) for one in export.files],
        "predicateType": PREDICATE,
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {
                    "case": record.case,
                    "stated": export.yaml(f"{export.folder}/case.yaml"),
                    "params": export.yaml("params.yaml"),
                    "isolation": record.isolation,
                },
                "internalParameters": {
                    "stages": {stage.name: _stage(stage) for stage in export.stages}
                },
                "resolvedDependencies": _dependencies(export),
            },
            "runDetails": {
                "builder": {"id": f"urn:assay:builder:{record.isolation}"},
                "metadata": {
                    "invocationId": record.id,
                    "startedOn": record.started,
                    "finishedOn": record.ended,
                },
                "byproducts": [
                    {"name": name, "digest": {"sha256": digest_of(content)}}
                    for name, content in sorted(export.tagged.items())
                ]
                + [
                    {"name": f"logs/{stage.name}.log", "digest": {"sha256": stage.log_sha256}}
                    for stage in export.stages
                    if stage.log_sha256
                ],
            },
        },
    }


def _subject(made: Made) -> dict[str, Any]:
    digest = {"md5": made.md5}
    if made.sha256:
        digest["sha256"] = made.sha256
    return {"name": made.path, "digest": digest}


def _stage(stage: Provenance) -> dict[str, Any]:
    """Return what a stage ran with; what is not known is left out."""
    told = {
        "how": stage.how,
        "fromRun": stage.from_run,
        "params": stage.params,
        "environment": stage.environment,
        "isolation": stage.isolation,
        "image": stage.image,
        "imageId": stage.image_id,
        "threads": stage.limits.threads,
        "memoryBytes": stage.limits.memory_bytes,
        "timeoutSeconds": stage.limits.timeout_s,
        "exitReason": stage.exit_reason,
        "startedOn": stage.started,
        "finishedOn": stage.ended,
    }
    return {key: value for key, value in told.items() if value is not None}


def _dependencies(export: Export) -> list[dict[str, Any]]:
    record = export.record
    found: list[dict[str, Any]] = [{"name": "commit", "digest": {"gitCommit": record.commit}}]
    for path, md5 in export.sources().items():
        # A folder's digest is that of DVC's list of it.
        key = "dvcDirMd5" if md5.endswith(".dir") else "md5"
        found.append({"name": path, "digest": {key: md5.partition(".")[0]}})
    for name, digest in sorted(_images(export).items()):
        found.append({"name": name, "digest": {"sha256": digest}})
    return found


def _images(export: Export) -> dict[str, str]:
    """Return {image: digest} of the containers: their id, and that of a registry."""
    found = {}
    for stage in export.stages:
        pulled = "base of" if is_family(stage.image or "") else "in its registry"
        for what, digest in (("image", stage.image_id), (pulled, stage.base_digest)):
            if stage.image and digest and "sha256:" in digest:
                found[f"{what} {stage.image}"] = digest.rpartition("sha256:")[2]
    return found

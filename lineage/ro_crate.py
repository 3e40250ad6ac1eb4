"""A run as a Workflow Run RO-Crate: the profile Provenance Run Crate 0.5 over RO-Crate 1.1.

The workflow is the case's dvc.yaml, each stage a step with a tool, each execution an action. The
crate holds the files that the run made, but for those that never leave the machine that made them.
"""

import mimetypes
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from lineage.exports import Export, Made, digest_of
from lineage.provenance import Provenance

METADATA = "ro-crate-metadata.json"
CONTEXTS = [
    "https://w3id.org/ro/crate/1.1/context",
    "https://w3id.org/ro/terms/workflow-run/context",
]
CRATE = "https://w3id.org/ro/crate/1.1"
WORKFLOW_CRATE = "https://w3id.org/workflowhub/workflow-ro-crate/1.0"
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/ro/wfrun/provenance/0.5": "Provenance Run Crate",
    WORKFLOW_CRATE: "Workflow RO-Crate",
}
STATUS = {
    "done": "http://schema.org/CompletedActionStatus",
    "failed": "http://schema.org/FailedActionStatus",
    "cancelled": "http://schema.org/FailedActionStatus",
}
_TYPES = {
    ".yaml": "application/yaml",
    ".lock": "application/yaml",
    ".npy": "application/octet-stream",
}
Entity = dict[str, Any]


def metadata(export: Export) -> Entity:
    """Return the content of ro-crate-metadata.json."""
    return {"@context": CONTEXTS, "@graph": list(_graph(export))}


def write_files(export: Export, folder: Path) -> None:
    """Put the crate's files into a folder; those that the cache has lost stay away."""
    for name, content in export.tagged.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    for made in _held(export):
        target = folder / made.path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(made.source, target)


def digests(export: Export) -> dict[str, str]:
    """Return {path: SHA-256} of the files that the crate holds."""
    known = {name: digest_of(content) for name, content in export.tagged.items()}
    return known | {made.path: made.sha256 for made in _held(export) if made.sha256}


def _held(export: Export) -> list[Made]:
    return [made for made in export.files if made.sha256 and not made.private]


def _ref(*names: str) -> list[dict[str, str]]:
    return [{"@id": name} for name in names]


def _id(path: str) -> str:
    return quote(path)


def _graph(export: Export) -> Iterator[Entity]:
    record, workflow = export.record, _id(f"{export.folder}/dvc.yaml")
    yield {
        "@id": METADATA,
        "@type": "CreativeWork",
        "about": {"@id": "./"},
        "conformsTo": _ref(CRATE, WORKFLOW_CRATE),
    }
    actions = [f"#run-{record.id}", *(_action_id(export, one) for one in export.stages)]
    yield {
        "@id": "./",
        "@type": "Dataset",
        "name": f"Run {record.id}",
        "description": record.sentence,
        "datePublished": record.ended,
        "license": {"@id": "#licence"},
        "conformsTo": _ref(*PROFILES),
        "hasPart": _ref(
            *(_id(name) for name in sorted(export.tagged)),
            *(_id(made.path) for made in _held(export)),
        ),
        "mainEntity": {"@id": workflow},
        "mentions": _ref(*actions),
    }
    yield {
        "@id": "#licence",
        "@type": "CreativeWork",
        "name": "Not stated",
        "description": "What may be done with the data and the model is for their owner to say.",
    }
    for profile, name in PROFILES.items():
        version = profile.rpartition("/")[2]
        yield {"@id": profile, "@type": "CreativeWork", "name": name, "version": version}
    yield from _workflow(export, workflow)
    yield from _run(export, workflow)
    for stage in export.stages:
        yield from _executed(export, stage)
    yield from _files(export, workflow)


def _workflow(export: Export, workflow: str) -> Iterator[Entity]:
    stages = export.stages
    yield {
        "@id": workflow,
        "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"],
        "name": f"The stages of the case {export.record.case}",
        "version": export.record.commit,
        "programmingLanguage": {"@id": "#dvc"},
        "hasPart": _ref(*(f"#tool-{one.name}" for one in stages)),
        "step": _ref(*(f"#step-{one.name}" for one in stages)),
        **_sizes(export.tagged.get(f"{export.folder}/dvc.yaml", b"")),
    }
    yield {
        "@id": "#dvc",
        "@type": "ComputerLanguage",
        "name": "DVC",
        "alternateName": "dvc.yaml",
        "identifier": {"@id": "https://dvc.org"},
        "url": {"@id": "https://dvc.org"},
    }
    for position, stage in enumerate(stages):
        yield {
            "@id": f"#tool-{stage.name}",
            "@type": "SoftwareApplication",
            "name": stage.name,
            "description": stage.question,
            "softwareVersion": export.record.commit,
        }
        yield {
            "@id": f"#step-{stage.name}",
            "@type": "HowToStep",
            "name": stage.name,
            "position": str(position),
            "workExample": {"@id": f"#tool-{stage.name}"},
        }


def _run(export: Export, workflow: str) -> Iterator[Entity]:
    record = export.record
    yield {"@id": "#agent", "@type": "Person", "name": export.agent}
    yield {
        "@id": "#assay",
        "@type": "SoftwareApplication",
        "name": "assay",
        "softwareVersion": record.commit,
    }
    yield {
        "@id": f"#orchestration-{record.id}",
        "@type": "OrganizeAction",
        "name": f"assay run {record.case}",
        "agent": {"@id": "#agent"},
        "instrument": {"@id": "#assay"},
        "object": _ref(*(f"#control-{one.name}" for one in export.stages)),
        "result": {"@id": f"#run-{record.id}"},
        "startTime": record.started,
        "endTime": record.ended,
    }
    named = [
        _id(name) for name in sorted(export.tagged) if name.endswith(("case.yaml", "params.yaml"))
    ]
    yield {
        "@id": f"#run-{record.id}",
        "@type": "CreateAction",
        "name": f"Run {record.id}",
        "description": record.sentence,
        "identifier": record.id,
        "agent": {"@id": "#agent"},
        "instrument": {"@id": workflow},
        "object": _ref(*named, *_raw_ids(export)),
        "result": _ref(*(_id(made.path) for made in _held(export))),
        "startTime": record.started,
        "endTime": record.ended,
        "actionStatus": {"@id": STATUS[record.state]},
        **({"error": record.error or record.sentence} if record.state != "done" else {}),
    }
    for path, md5 in export.sources().items():
        yield {
            "@id": f"#source-{quote(path)}",
            "@type": "CreativeWork",
            "name": path,
            "md5": md5,
            "description": "Code or data that the run read; the commit or the DVC cache holds it.",
        }


def _raw_ids(export: Export) -> list[str]:
    return [f"#source-{quote(path)}" for path in export.sources()]


def _action_id(export: Export, stage: Provenance) -> str:
    return f"#run-{export.record.id}-{stage.name}"


def _executed(export: Export, stage: Provenance) -> Iterator[Entity]:
    made = {one.path: one for one in export.files}
    held = {one.path for one in _held(export)}
    inputs = []
    for path, hashes in sorted(stage.inputs.items()):
        if not hashes.before:
            continue
        inside = [name for name in made if name == path or name.startswith(f"{path}/")]
        inputs += [_file_id(name, held) for name in inside] or [f"#source-{quote(path)}"]
    results = [_file_id(one.path, held) for one in export.files if one.stage == stage.name]
    action = {
        "@id": _action_id(export, stage),
        "@type": "CreateAction",
        "name": f"{stage.name}: {stage.how}",
        "description": f"{stage.question} {_told(stage)}",
        "agent": {"@id": "#agent"},
        "instrument": {"@id": f"#tool-{stage.name}"},
        "object": _ref(*inputs, *(f"#param-{stage.name}-{key}" for key in stage.params)),
        "result": _ref(*results),
        "startTime": stage.started,
        "endTime": stage.ended,
        "actionStatus": {"@id": STATUS["done"]},
        "containerImage": {"@id": f"#image-{stage.name}"} if stage.image_id else None,
    }
    yield {key: value for key, value in action.items() if value is not None}
    for key, value in stage.params.items():
        yield {
            "@id": f"#param-{stage.name}-{key}",
            "@type": "PropertyValue",
            "name": f"{stage.name}.{key}",
            "value": value if isinstance(value, str | int | float | bool) else str(value),
        }
    if stage.image_id:
        yield {
            "@id": f"#image-{stage.name}",
            "@type": "ContainerImage",
            "additionalType": {"@id": "https://w3id.org/ro/terms/workflow-run#DockerImage"},
            "name": str(stage.image),
            "tag": str(stage.environment),
            "sha256": stage.image_id.rpartition("sha256:")[2],
        }
    yield {
        "@id": f"#control-{stage.name}",
        "@type": "ControlAction",
        "name": f"Bring {stage.name} up to date",
        "instrument": {"@id": f"#step-{stage.name}"},
        "object": {"@id": _action_id(export, stage)},
    }


def _told(stage: Provenance) -> str:
    where = f"in {stage.isolation or 'unknown isolation'}, environment {stage.environment}"
    came = f"; it ran in {stage.from_run}" if stage.from_run else ""
    return f"{where}, {stage.limits.threads} threads{came}."


def _file_id(path: str, held: set[str]) -> str:
    return _id(path) if path in held else f"#absent-{quote(path)}"


def _files(export: Export, workflow: str) -> Iterator[Entity]:
    for name, content in sorted(export.tagged.items()):
        if _id(name) != workflow:
            yield _file(name, "The tag of the run holds it.") | _sizes(content)
    held = {made.path for made in _held(export)}
    for made in export.files:
        digest = {"md5": made.md5, "sha256": made.sha256}
        known = {key: value for key, value in digest.items() if value}
        if made.path in held:
            size = {"contentSize": str(made.size_bytes)}
            yield _file(made.path, f"Made by {made.stage}.") | known | size
            continue
        why = (
            "never leaves the machine that made it"
            if made.private
            else "is lost or damaged in the cache"
        )
        yield {
            "@id": f"#absent-{quote(made.path)}",
            "@type": "CreativeWork",
            "name": made.path,
            "description": f"Made by {made.stage}; it {why}.",
            **known,
        }


def _file(path: str, told: str) -> Entity:
    suffix = Path(path).suffix
    kind = _TYPES.get(suffix) or mimetypes.guess_type(path)[0] or "application/octet-stream"
    return {
        "@id": _id(path),
        "@type": "File",
        "name": path,
        "description": told,
        "encodingFormat": kind,
    }


def _sizes(content: bytes) -> Entity:
    return {"contentSize": str(len(content)), "sha256": digest_of(content)}

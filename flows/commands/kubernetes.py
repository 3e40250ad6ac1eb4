"""`assay kubernetes CASE STAGE`: the stage as a Job, for `kubectl apply -f -`."""

import json
from pathlib import Path
from typing import Any

from containers.keys import build_key, image_name, is_family
from flows import workspace
from flows.case import load_case
from flows.cli_words import Answer
from flows.faults import Faults
from flows.plan import named
from flows.plan import plan as plan_case
from lineage import git
from lineage.dvc_yaml import param_key
from lineage.job_folder import job_json
from lineage.kubernetes_job import PodJob, as_text, manifests


def kubernetes(case: str, name: str, stated: dict[str, Any]) -> Answer:
    """Print the Job of one stage and the policy of its network."""
    root = workspace.find(Path.cwd())
    row = named(plan_case(load_case(root, case)), name)
    if not row.is_pushed:
        raise Faults(
            f"{name}: its outputs hold samples, and case.yaml says `pictures: none`: they never "
            "go to a remote. Run it on a machine that has the data."
        )
    job = PodJob(
        case=case,
        stage=name,
        repository=stated["repository"],
        revision=stated["revision"] or git.text(root, "rev-parse", "HEAD"),
        image=stated["image"] or _image(row.image, stated["registry"]),
        tools=stated["tools"],
        secret=stated["secret"] or "",
        job_json=job_json(row),
        environments=json.dumps({param_key(row.image): _key(row.image)}) + "\n",
        entry=row.entry,
        sources=row.sources,
        inputs=sorted({path for path in row.inputs.values() if path}),
        folder=row.folder,
        threads=row.threads,
        memory_bytes=row.memory_bytes,
        timeout_s=row.timeout_s,
    )
    made = manifests(job)
    return made, as_text(made).rstrip("\n"), 0


def _image(image: str, registry: str | None) -> str:
    if not is_family(image):
        return image
    return f"{registry.rstrip('/')}/{image_name(image)}" if registry else image_name(image)


def _key(image: str) -> str:
    return f"docker:{build_key(image)}" if is_family(image) else f"docker:{image}"

"""A stage as a Kubernetes Job: the posture of a container here, as a pod's security context.

Three containers, one after another, share volumes. `bring` clones the revision, pulls the inputs
and lays out what the stage may see; `stage` runs it, and has neither clone nor credentials; `keep`
commits its outputs to DVC and pushes them. All containers of a pod have one network, so that what
keeps a stage from it is the policy beside the Job: nothing but the names and hosts that are stated.
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from containers.docker_posture import FIXED_UID, SCRATCH, SCRATCH_LIMIT_BYTES
from containers.environment import scrubbed
from containers.job import ROOT, RunnerError

TREE: Final = "/tree"
CLONE: Final = f"{TREE}/clone"  # not the volume itself, which is root's: git would not trust it
OUT: Final = f"{ROOT}/out"
SLACK_S: Final = 1800
"""For clone, pull and push, beside the stage's own limit."""
VOLUME_BYTES: Final = 20 * 2**30
KEPT_S: Final = 86400
MOST_LETTERS: Final = 63
HTTPS, SSH, DNS = 443, 22, 53


@dataclass(frozen=True, slots=True, kw_only=True)
class PodJob:
    """What a Job needs to know; paths are relative to the workspace."""

    case: str
    stage: str
    repository: str  # what `git clone` is given
    revision: str  # a commit, or a tag as run/ID
    image: str  # of the stage, as the cluster's nodes pull it
    tools: str  # an image with git and dvc and what its remote needs
    secret: str  # whose keys become variables of `bring` and `keep`: the remote's credentials
    job_json: str
    environments: str  # environments.yaml, a param of each stage
    entry: str
    sources: Sequence[str]
    inputs: Sequence[str]
    folder: str
    threads: int
    memory_bytes: int
    timeout_s: float


def manifests(job: PodJob) -> list[dict[str, Any]]:
    """Return the Job and the policy of its network.

    Raises:
        RunnerError: a revision or a repository that git would take for an option.
    """
    for name, text in (("repository", job.repository), ("revision", job.revision)):
        if text.startswith("-") or not text.isprintable() or not text:
            raise RunnerError(f"--{name}: {text!r} is none.")
    labels = {
        "app.kubernetes.io/name": "assay",
        "assay/case": job.case,
        "assay/stage": job.stage,
    }
    return [_job(job, labels), _policy(job, labels)]


def name_of(job: PodJob) -> str:
    """Return a name that Kubernetes takes: small letters, digits, dashes, at most 63."""
    text = re.sub(r"[^a-z0-9-]", "-", f"assay-{job.case}-{job.stage}".lower())
    return text[:MOST_LETTERS].strip("-")


def _job(job: PodJob, labels: Mapping[str, str]) -> dict[str, Any]:
    work = {"name": "work", "mountPath": ROOT}
    out = {"name": "out", "mountPath": OUT}
    tree = {"name": "tree", "mountPath": TREE}
    secret = [{"secretRef": {"name": job.secret}}] if job.secret else []
    texts = {"JOB": job.job_json, "ENVIRONMENTS": job.environments}
    tools: dict[str, Any] = {
        "image": job.tools,
        "envFrom": secret,
        "resources": _resources(1, 2 * 2**30),
    }
    bring = _container("bring", _bring(job), [work, tree], texts) | tools
    stage = {
        **_container("stage", "", [work | {"readOnly": True}, out], {}),
        "image": job.image,
        "command": ["python", "-m", job.entry, "job.json"],
        "workingDir": ROOT,
        "env": _variables(scrubbed(threads=job.threads, scratch=SCRATCH, extra={})),
        "resources": _resources(job.threads, job.memory_bytes),
    }
    keep = _container("keep", _keep(job), [tree, out], {}) | tools
    pod = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "hostNetwork": False,
        "hostPID": False,
        "hostIPC": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": FIXED_UID,
            "runAsGroup": FIXED_UID,
            "fsGroup": FIXED_UID,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "initContainers": [bring, stage],
        "containers": [keep],
        "volumes": [
            {"name": "work", "emptyDir": {"sizeLimit": str(VOLUME_BYTES)}},
            {"name": "out", "emptyDir": {"sizeLimit": str(VOLUME_BYTES)}},
            {"name": "tree", "emptyDir": {"sizeLimit": str(VOLUME_BYTES)}},
            {
                "name": "scratch",
                "emptyDir": {
                    "medium": "Memory",
                    "sizeLimit": str(min(SCRATCH_LIMIT_BYTES, job.memory_bytes // 2)),
                },
            },
        ],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name_of(job), "labels": dict(labels)},
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": int(job.timeout_s) + SLACK_S,
            "ttlSecondsAfterFinished": KEPT_S,
            "template": {"metadata": {"labels": dict(labels)}, "spec": pod},
        },
    }


def _container(
    name: str, script: str, mounts: Sequence[Mapping[str, Any]], texts: Mapping[str, str]
) -> dict[str, Any]:
    home = {"HOME": SCRATCH, "TMPDIR": SCRATCH, **texts}
    return {
        "name": name,
        "command": ["sh", "-ceu", script],
        "env": _variables(home),
        "volumeMounts": [*(dict(one) for one in mounts), {"name": "scratch", "mountPath": SCRATCH}],
        "securityContext": {
            "runAsNonRoot": True,
            "readOnlyRootFilesystem": True,
            "allowPrivilegeEscalation": False,
            "privileged": False,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }


def _variables(texts: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": text} for name, text in sorted(texts.items())]


def _resources(threads: int, memory_bytes: int) -> dict[str, Any]:
    amounts = {
        "cpu": str(threads),
        "memory": str(memory_bytes),
        "ephemeral-storage": str(2 * VOLUME_BYTES),
    }
    return {"limits": amounts, "requests": dict(amounts)}


def _bring(job: PodJob) -> str:
    """Clone, pull the inputs, and copy what the stage may see into its own volume."""
    words = shlex.join
    return "\n".join(
        [
            words(["git", "clone", "--quiet", "--no-checkout", job.repository, CLONE]),
            words(["git", "-C", CLONE, "checkout", "--quiet", "--detach", job.revision]),
            f"cd {CLONE}",
            'printf %s "$ENVIRONMENTS" > environments.yaml',
            *([words(["dvc", "pull", "--quiet", *job.inputs])] if job.inputs else []),
            words(["cp", "-RL", "--parents", *job.sources, *job.inputs, ROOT]),
            f'printf %s "$JOB" > {ROOT}/job.json',
            f"mkdir -p {OUT}",
        ]
    )


def _keep(job: PodJob) -> str:
    """Put the outputs in place, let DVC take and push them, print the lock that names them."""
    words = shlex.join
    row = f"cases/{job.case}/dvc.yaml:{job.stage}"
    return "\n".join(
        [
            f"cd {CLONE}",
            f"rm -f {OUT}/inside.json {OUT}/error.json",
            f'test -z "$(find {OUT} -mindepth 1 ! -type f ! -type d)"',
            words(["rm", "-rf", job.folder]),
            words(["mkdir", "-p", job.folder]),
            f"cp -R {OUT}/. {shlex.quote(job.folder)}",
            words(["dvc", "commit", "--quiet", "--force", row]),
            words(["dvc", "push", "--quiet", row]),
            words(["cat", f"cases/{job.case}/dvc.lock"]),
        ]
    )


def _policy(job: PodJob, labels: Mapping[str, str]) -> dict[str, Any]:
    """Let the pod ask for names, git and the remote; nothing comes in, no metadata address."""
    ports = [{"protocol": "TCP", "port": port} for port in (HTTPS, SSH)]
    outside = {"ipBlock": {"cidr": "0.0.0.0/0", "except": ["169.254.0.0/16"]}}
    names = [{"protocol": kind, "port": DNS} for kind in ("UDP", "TCP")]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name_of(job), "labels": dict(labels)},
        "spec": {
            "podSelector": {"matchLabels": dict(labels)},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [],
            "egress": [{"to": [outside], "ports": ports}, {"ports": names}],
        },
    }


def as_text(documents: Sequence[Mapping[str, Any]]) -> str:
    """Write the documents for `kubectl apply -f -`: JSON is YAML, and quotes every text."""
    return "---\n".join(json.dumps(one, indent=2) + "\n" for one in documents)

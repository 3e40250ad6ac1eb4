"""The Job is what Kubernetes takes, as closed as a container here, and its scripts are shell."""

import copy
import json
import subprocess

import pytest

from containers.docker_posture import FIXED_UID
from containers.job import RunnerError
from lineage.kubernetes_job import PodJob, as_text, manifests

validate = pytest.importorskip("kubernetes_validate")
VERSION = "1.33"


def pod_job(**changes):
    stated = {
        "case": "digits",
        "stage": "parity",
        "repository": "git@git.example:team/cases.git",
        "revision": "run/20261201-digits-abc",
        "image": "registry.example/assay/base:0123",
        "tools": "registry.example/dvc:3",
        "secret": "remote",
        "job_json": '{"schema": 1, "name": "it\'s $HOME"}',
        "environments": '{"base": "docker:x"}\n',
        "entry": "stages.enter",
        "sources": ["stages/parity.py", "cases/digits/code"],
        "inputs": ["cases/digits/artifacts/a b"],
        "folder": "cases/digits/artifacts/parity",
        "threads": 2,
        "memory_bytes": 2**31,
        "timeout_s": 600.0,
    }
    return PodJob(**(stated | changes))


@pytest.fixture
def job():
    return manifests(pod_job())[0]


def pod(job):
    return job["spec"]["template"]["spec"]


def containers(job):
    return [*pod(job)["initContainers"], *pod(job)["containers"]]


@pytest.mark.filterwarnings("ignore")
def test_both_documents_are_strictly_valid():
    for document in manifests(pod_job()):
        validate.validate(document, VERSION, strict=True)


def drop(path):
    def change(job):
        here = job
        for key in path[:-1]:
            here = here[key]
        del here[path[-1]]

    return change


def put(path, value):
    def change(job):
        here = job
        for key in path[:-1]:
            here = here[key]
        here[path[-1]] = value

    return change


SPEC = ("spec", "template", "spec")
MUTATED = {
    "no template": drop(("spec", "template")),
    "no name of a container": drop((*SPEC, "containers", 0, "name")),
    "a misspelt field": put(
        (*SPEC, "containers", 0, "securityContext", "readOnlyRootFilesytem"), True
    ),
    "a text for a number": put(("spec", "backoffLimit"), "none"),
    "an unknown kind": put(("kind",), "Jobb"),
    "a list for a map": put((*SPEC, "securityContext"), []),
    "a number for a variable": put((*SPEC, "containers", 0, "env", 0, "value"), 1),
    "a volume of no kind": put((*SPEC, "volumes", 0, "emptyDirr"), {}),
}


@pytest.mark.parametrize("change", MUTATED.values(), ids=MUTATED.keys())
@pytest.mark.filterwarnings("ignore")
def test_a_mutated_job_is_rejected(job, change):
    mutated = copy.deepcopy(job)
    change(mutated)
    refused = (validate.ValidationError, validate.SchemaNotFoundError)
    with pytest.raises(refused):
        validate.validate(mutated, VERSION, strict=True)


def test_every_container_has_the_posture(job):
    assert job["spec"]["backoffLimit"] == 0
    assert job["spec"]["activeDeadlineSeconds"] == 600 + 1800
    assert pod(job)["automountServiceAccountToken"] is False
    assert pod(job)["restartPolicy"] == "Never"
    assert not any(pod(job)[key] for key in ("hostNetwork", "hostPID", "hostIPC"))
    assert pod(job)["securityContext"]["runAsUser"] == FIXED_UID
    assert all(volume["emptyDir"]["sizeLimit"] for volume in pod(job)["volumes"])
    for one in containers(job):
        context = one["securityContext"]
        assert context["runAsNonRoot"]
        assert context["readOnlyRootFilesystem"]
        assert context["allowPrivilegeEscalation"] is context["privileged"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}
        assert set(one["resources"]["limits"]) == {"cpu", "memory", "ephemeral-storage"}


def test_the_stage_has_no_credentials_no_clone_and_read_only_inputs(job):
    bring, stage, keep = containers(job)
    assert bring["envFrom"] == keep["envFrom"] == [{"secretRef": {"name": "remote"}}]
    assert "envFrom" not in stage
    places = {mount["name"]: mount for mount in stage["volumeMounts"]}
    assert set(places) == {"work", "out", "scratch"}
    assert places["work"]["readOnly"]
    assert stage["resources"]["limits"]["memory"] == str(2**31)


def test_the_policy_lets_nothing_in_and_no_metadata_out():
    spec = manifests(pod_job())[1]["spec"]
    assert spec["ingress"] == []
    assert spec["egress"][0]["to"][0]["ipBlock"]["except"] == ["169.254.0.0/16"]
    labels = manifests(pod_job())[0]["spec"]["template"]["metadata"]["labels"]
    assert spec["podSelector"]["matchLabels"] == labels


@pytest.mark.parametrize("odd", ["a; touch canary", "$(touch canary)", "`touch canary`", "a'b"])
def test_a_name_is_no_command(tmp_path, odd):
    job = manifests(pod_job(repository=odd, inputs=[odd], folder=odd, sources=[odd]))[0]
    for one in containers(job):
        script = one["command"][2] if one["command"][0] == "sh" else "true"
        # The programs are named, not run: what a shell itself would do shows.
        quiet = "git() { :; }; dvc() { :; }; cp() { :; }; rm() { :; }; mkdir() { :; }\n"
        quiet += "cat() { :; }; find() { :; }; cd() { :; }; printf() { :; }\n"
        script = script.replace("> ", "> /dev/null #")
        subprocess.run(["sh", "-cu", quiet + script], cwd=tmp_path, check=False)
    assert not (tmp_path / "canary").exists()


@pytest.mark.parametrize("key", ["repository", "revision"])
def test_what_git_would_take_for_an_option_is_refused(key):
    with pytest.raises(RunnerError, match=f"--{key}"):
        manifests(pod_job(**{key: "--upload-pack=x"}))


def test_the_text_is_documents_of_json():
    parts = as_text(manifests(pod_job())).split("---\n")
    assert [json.loads(part)["kind"] for part in parts] == ["Job", "NetworkPolicy"]

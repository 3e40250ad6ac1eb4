"""A run on its way to a colleague and from one: folders, a bare git repository, an S3 server."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from toy_repeat import toy_run
from toy_workspace import dvc, git

from lineage import remote
from lineage.artifacts import read_artifact
from lineage.cache_objects import place
from lineage.dvc_repo import cache_of
from lineage.objects import objects_of
from lineage.remote import ObjectsMissing, RemoteRefused, without_secrets
from lineage.run_tags import RunUnknown, list_ids, read_run
from lineage.verify import verify_run

REPORT = "cases/toy/artifacts/second/report.json"


def push(root: Path, which: str = "latest", **stated):
    return remote.push(root, which, **{"remote": None, "git_remote": None, **stated})


def pull(root: Path, which: str, **stated):
    return remote.pull(root, which, **{"remote": None, "git_remote": None, **stated})


@pytest.fixture
def shared(workspace: Path, tmp_path: Path) -> Path:
    """A workspace with remotes of its own."""
    git(tmp_path, "init", "-q", "--bare", "hub.git")
    git(workspace, "remote", "add", "origin", str(tmp_path / "hub.git"))
    config = workspace / ".dvc/config"
    named = config.read_text().replace("[core]\n", "[core]\n    remote = store\n")
    config.write_text(f"{named}['remote \"store\"']\n    url = {tmp_path / 'store'}\n")
    git(workspace, "commit", "-qam", "A remote")
    git(workspace, "push", "-q", "origin", "main")
    return workspace


def colleague(tmp_path: Path) -> Path:
    git(tmp_path, "clone", "-q", "-b", "main", "hub.git", "colleague")
    return tmp_path / "colleague"


def test_a_colleague_gets_a_run_whole_and_no_other(shared: Path, tmp_path: Path) -> None:
    first = toy_run(shared)
    second = toy_run(shared, verdict="closed")
    sent = push(shared, first.id)
    assert (sent.num_objects, sent.stays) == (len(objects_of(shared, first.id)), ())
    assert push(shared, first.id).num_objects == 0  # all is there
    there = colleague(tmp_path)
    assert list_ids(there) == [first.id]  # as a clone brings tags along
    git(there, "tag", "-d", f"run/{first.id}")
    got = pull(there, first.id[:20])
    assert (got.run_id, got.num_objects) == (first.id, sent.num_objects)
    assert read_run(there, first.id) == read_run(shared, first.id)
    assert read_artifact(there, first.id, REPORT) == b"second of 10"
    assert verify_run(there, first.id).is_whole
    assert pull(there, first.id).num_objects == 0

    with pytest.raises(RunUnknown, match=f"The remote origin has: {first.id}"):
        pull(there, second.id)
    push(shared)
    assert pull(there, "toy@latest").run_id == second.id


def test_what_a_remote_lost_is_named_and_the_rest_is_brought(shared: Path, tmp_path: Path) -> None:
    run = toy_run(shared)
    push(shared)
    md5 = run.stages[1].outputs[REPORT]
    place(tmp_path / "store", md5).unlink()
    there = colleague(tmp_path)
    with pytest.raises(ObjectsMissing, match=f"lacks what run {run.id} needs: {REPORT}"):
        pull(there, run.id)
    assert read_artifact(there, run.id, REPORT.replace("second", "first")) == b"10"
    # One that was altered on its way is brought anew once the remote has it.
    push(shared)
    pull(there, run.id)
    kept = place(cache_of(there), md5)
    kept.chmod(0o644)
    kept.write_text("altered")
    assert pull(there, run.id).num_objects == 1
    assert verify_run(there, run.id).is_whole

    place(cache_of(shared), md5).unlink()
    with pytest.raises(ObjectsMissing, match=f"not whole: {REPORT}.*assay verify {run.id}"):
        push(shared)


def test_what_is_private_never_leaves(shared: Path, tmp_path: Path) -> None:
    graph = shared / "cases/toy/dvc.yaml"
    text = graph.read_text()
    assert "    - artifacts/first\n" in text
    run = toy_run(shared)
    private = text.replace(
        "    - artifacts/first\n", "    - artifacts/first:\n        push: false\n"
    )
    graph.write_text(private)
    git(shared, "commit", "-qam", "Private")
    tree = git(shared, "rev-parse", f"run/{run.id}^{{commit}}")
    git(shared, "checkout", "-q", "--detach", tree)
    git(shared, "checkout", "main", "--", "cases/toy/dvc.yaml")
    git(shared, "commit", "-qm", "The run was private")
    git(shared, "tag", "-f", "-a", f"run/{run.id}", "-m", git_body(shared, run.id))
    git(shared, "checkout", "-q", "main")
    sent = push(shared, run.id)
    assert sent.stays == ("cases/toy/artifacts/first",)
    stored = {path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file()}
    assert b"second of 10" in stored
    assert not stored & {b"10", b"picture"}
    got = pull(colleague(tmp_path), run.id)
    assert got.stays == sent.stays


def git_body(root: Path, run_id: str) -> str:
    return git(root, "for-each-ref", "--format=%(contents)", f"refs/tags/run/{run_id}")


def test_what_is_not_named_is_asked_for(workspace: Path, tmp_path: Path) -> None:
    toy_run(workspace)
    with pytest.raises(RemoteRefused, match="git remote add origin URL"):
        push(workspace)
    git(workspace, "remote", "add", "origin", "https://me:hunter22@localhost:1/hub.git")
    with pytest.raises(RemoteRefused, match="dvc remote add --default NAME URL"):
        push(workspace)
    with pytest.raises(RemoteRefused, match=r"--git-remote one of origin\. Got: hub"):
        push(workspace, git_remote="hub")
    with pytest.raises(RemoteRefused, match="The git remote origin refused") as refused:
        pull(workspace, "latest")
    assert "hunter22" not in str(refused.value)


def test_no_credential_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary-of-a-secret")
    said = without_secrets("no: https://me:word@host/x with canary-of-a-secret")
    assert said == "no: https://***@host/x with ***"


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An S3-compatible server in this process, and its endpoint."""
    import boto3
    from moto.server import ThreadedMotoServer

    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "127.0.0.1,localhost")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "canary-of-a-key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary-of-a-secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    boto3.client("s3", endpoint_url=endpoint).create_bucket(Bucket="runs")
    yield endpoint
    server.stop()


@pytest.mark.filterwarnings("ignore")  # those of the server and its clients
def test_an_s3_bucket_is_a_remote_like_any_other(
    shared: Path, tmp_path: Path, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dvc(shared, "remote", "modify", "store", "url", "s3://runs/toy")
    dvc(shared, "remote", "modify", "store", "endpointurl", bucket)
    git(shared, "commit", "-qam", "A bucket")
    git(shared, "push", "-q", "origin", "main")
    run = toy_run(shared)
    assert push(shared).num_objects == len(objects_of(shared, run.id))
    there = colleague(tmp_path)
    assert pull(there, run.id).num_objects == len(objects_of(shared, run.id))
    assert read_artifact(there, run.id, REPORT) == b"second of 10"

    dvc(there, "remote", "modify", "store", "url", "s3://nobody/toy")
    place(cache_of(there), run.stages[1].outputs[REPORT]).unlink()
    with pytest.raises((RemoteRefused, ObjectsMissing), match=r"store") as refused:
        pull(there, run.id)
    assert "canary" not in str(refused.value)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    with pytest.raises(RemoteRefused, match="asks for credentials, and there are none"):
        pull(there, run.id)

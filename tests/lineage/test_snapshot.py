"""A dirty tree becomes a commit; the user's own git is as it was."""

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from toy_workspace import git

from lineage import runs
from lineage.snapshot import SnapshotRefused, snapshot

# Put together here, so that no scanner takes this file for a leak.
AWS = "AKIA" + "QWERTYUIOPASDFGH"
KEY = "-----BEGIN RSA " + "PRIVATE KEY-----"


def test_a_clean_tree_is_its_own_snapshot(workspace: Path):
    taken = snapshot(workspace, "x")
    assert taken.commit == taken.parent == git(workspace, "rev-parse", "HEAD")
    assert taken.dirty == ()


def test_all_that_is_not_ignored_is_taken(workspace: Path):
    (workspace / "cases/toy/data.txt").write_text("edited")
    (workspace / "new file ä.txt").write_text("new")
    (workspace / "params.yaml").unlink()
    (workspace / "__pycache__").mkdir()
    (workspace / "__pycache__/x.pyc").write_text("ignored")
    taken = snapshot(workspace, "Snapshot")
    assert taken.dirty == ("cases/toy/data.txt", "new file ä.txt", "params.yaml")
    assert git(workspace, "show", f"{taken.commit}:cases/toy/data.txt") == "edited"
    assert git(workspace, "show", f"{taken.commit}:new file ä.txt") == "new"
    assert "params.yaml" not in git(workspace, "ls-tree", "-r", "--name-only", taken.commit)
    assert git(workspace, "rev-parse", f"{taken.commit}^") == taken.parent


def test_an_edit_of_the_same_length_in_the_second_of_the_commit_is_taken(workspace: Path):
    """git tells such a file by the index's own time: a copy of the index has to keep it."""
    git(workspace, "config", "core.trustctime", "false")  # the one time that cannot be set back
    at = 1_700_000_000
    params = workspace / "params.yaml"
    os.utime(params, (at, at))
    git(workspace, "add", "params.yaml")
    os.utime(workspace / ".git/index", (at, at))
    params.write_text("first:\n  n: 3\n")
    os.utime(params, (at, at))
    taken = snapshot(workspace, "Snapshot")
    assert taken.dirty == ("params.yaml",)
    assert git(workspace, "show", f"{taken.commit}:params.yaml") == "first:\n  n: 3"


def test_index_branch_and_files_stay_as_they_were(workspace: Path):
    (workspace / "staged.txt").write_text("staged")
    git(workspace, "add", "staged.txt")
    (workspace / "staged.txt").write_text("and edited since")
    (workspace / "untracked.txt").write_text("untracked")
    index = (workspace / ".git/index").read_bytes()
    before = git(workspace, "status", "--porcelain"), git(workspace, "log", "--all", "--oneline")
    index = (workspace / ".git/index").read_bytes()
    taken = snapshot(workspace, "Snapshot")
    assert (workspace / ".git/index").read_bytes() == index
    after = git(workspace, "status", "--porcelain"), git(workspace, "log", "--all", "--oneline")
    assert after == before
    assert git(workspace, "show", f"{taken.commit}:staged.txt") == "and edited since"


def test_too_much_is_refused_and_the_largest_named(workspace: Path):
    (workspace / "large.bin").write_bytes(b"x" * 2**20)
    (workspace / "small.bin").write_bytes(b"x")
    with pytest.raises(SnapshotRefused, match=r"1\.0 MiB.*large\.bin \(1\.0 MiB\).*dvc add"):
        snapshot(workspace, "x", max_bytes=2**19)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (KEY, "a private key"),
        (f"key = {AWS}", "an AWS access key"),
        ("token: " + "ghp_" + "a1" * 18, "a GitHub token"),
        ("hf_" + "aB3" * 12, "a Hugging Face token"),
        ('db_password = "correct-horse-battery"', "a password"),
        ("SECRET_TOKEN=abcdefgh12345", "a password in an environment file"),
        ("postgres://me:hunter22@host/db", "a password in an address"),
    ],
)
def test_a_secret_is_refused_by_place_and_never_shown(workspace: Path, line: str, kind: str):
    (workspace / "settings.txt").write_text(f"first\n{line}\n")
    with pytest.raises(SnapshotRefused, match=f"settings.txt, line 2: {kind}") as refused:
        snapshot(workspace, "x")
    assert line not in str(refused.value)


@pytest.mark.parametrize(
    "line",
    [
        'password = "<your password>"',
        'password = os.environ["PASSWORD"]',
        "API_TOKEN=${API_TOKEN_FROM_CI}",
        f"key = {AWS}  # assay: allow-secret",
        "tokens = count_tokens(text)",
    ],
)
def test_what_only_looks_like_a_secret_is_let_through(workspace: Path, line: str):
    (workspace / "settings.py").write_text(line + "\n")
    assert snapshot(workspace, "x").dirty == ("settings.py",)


def test_an_allowed_file_is_let_through(workspace: Path):
    (workspace / "keys").mkdir()
    (workspace / "keys/test.pem").write_text(KEY)
    (workspace / ".assay-secrets-allow").write_text("# throwaway\nkeys/*.pem\n")
    assert "keys/test.pem" in snapshot(workspace, "x").dirty


def test_a_secret_that_is_committed_already_is_not_looked_for(workspace: Path):
    (workspace / "old.txt").write_text(KEY)
    git(workspace, "add", "-A")
    git(workspace, "commit", "-qm", "Leak")
    (workspace / "new.txt").write_text("harmless")
    assert snapshot(workspace, "x").dirty == ("new.txt",)


def test_a_folder_without_git_says_how_to_begin(tmp_path: Path):
    with pytest.raises(SnapshotRefused, match="git init"):
        snapshot(tmp_path, "x")


def test_a_repository_without_a_commit_says_so(tmp_path: Path):
    git(tmp_path, "init", "-q")
    with pytest.raises(SnapshotRefused, match=r"no commit yet.*git commit"):
        snapshot(tmp_path, "x")


def test_a_user_without_a_name_can_still_run(workspace: Path):
    git(workspace, "config", "--unset", "user.name")
    git(workspace, "config", "--unset", "user.email")
    git(workspace, "config", "user.useConfigOnly", "true")
    (workspace / "new.txt").write_text("x")
    taken = snapshot(workspace, "x")
    assert git(workspace, "log", "-1", "--format=%an", taken.commit) == "assay"


def test_a_repository_inside_is_named(workspace: Path):
    (workspace / "inner").mkdir()
    subprocess.run(["git", "init", "-q", str(workspace / "inner")], check=True)
    with pytest.raises(SnapshotRefused, match="inner/ is a git repository") as refused:
        snapshot(workspace, "x")
    assert "submodule" not in str(refused.value)


def add_submodule(workspace: Path, tmp_path: Path, path: str) -> Path:
    origin = tmp_path / "origin"
    subprocess.run(["git", "init", "-q", str(origin)], check=True)
    for key, value in (("name", "B"), ("email", "b@example.org")):
        git(origin, "config", f"user.{key}", value)
    (origin / "code.py").write_text("1")
    git(origin, "add", "-A")
    git(origin, "commit", "-qm", "Begin")
    allowed = ("-c", "protocol.file.allow=always")
    git(workspace, *allowed, "submodule", "--quiet", "add", str(origin), path)
    git(workspace, "commit", "-qm", "A submodule")
    return workspace / path


@pytest.mark.parametrize("change", ["code.py", "new.py"])
@pytest.mark.parametrize("ignore", ["none", "all"])
def test_a_submodule_with_changes_is_named(
    workspace: Path, tmp_path: Path, change: str, ignore: str
):
    inside = add_submodule(workspace, tmp_path, "lib two")
    git(workspace, "config", "submodule.lib two.ignore", ignore)
    assert snapshot(workspace, "x").dirty == ()
    (inside / change).write_text("2")
    with pytest.raises(SnapshotRefused, match="lib two is a submodule with changes") as refused:
        snapshot(workspace, "x")
    assert refused.value.exit_status == 2
    (inside / change).unlink()
    git(inside, "checkout", "-q", ".")
    assert snapshot(workspace, "x").dirty == ()


def test_a_submodule_in_the_case_is_refused_and_one_elsewhere_is_not(
    workspace: Path, tmp_path: Path
):
    add_submodule(workspace, tmp_path, "cases/other/lib")
    now = datetime(2026, 11, 30, tzinfo=UTC)
    runs.discard(runs.create(workspace, "toy", expose=["cases/toy"], now=now))
    with pytest.raises(SnapshotRefused, match="cases/other/lib is a submodule"):
        runs.create(workspace, "other", expose=["cases/other"], now=now)
    assert not list((workspace / ".assay/runs").iterdir())

"""All that a run's tag refers to in the cache is named, and nothing else."""

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_runs import run_toy
from toy_workspace import dvc, git

from lineage import lock_text
from lineage.cache_objects import place
from lineage.git_blobs import read_blobs
from lineage.objects import Named, lock_outs, objects_of, run_objects


@pytest.fixture(autouse=True)
def _stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path.cwd())


def in_cache(workspace: Path) -> set[str]:
    root = workspace / ".dvc/cache/files/md5"
    return {path.parent.name + path.name for path in root.glob("*/*")}


def md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def test_the_objects_of_the_only_run_are_the_whole_cache(workspace: Path):
    run = run_toy(workspace, 1)
    assert objects_of(workspace, run) == in_cache(workspace)
    found = run_objects(workspace, [run])[run]
    assert found.names[md5("picture")] == "cases/toy/artifacts/first/pictures/a.txt"
    assert {(one.stage, one.md5[-4:]) for one in found.named} == {
        ("first", ".dir"),
        ("second", ".dir"),
    }


def test_another_run_has_objects_of_its_own(workspace: Path):
    one = run_toy(workspace, 1)
    (workspace / "params.yaml").write_text("first:\n  n: 3\n")
    two = run_toy(workspace, 2, n=3)
    mine, others = objects_of(workspace, one), objects_of(workspace, two)
    assert mine | others == in_cache(workspace)
    assert md5("10") in mine - others
    assert md5("15") in others - mine
    assert md5("picture") in mine & others


def test_data_that_dvc_holds_is_of_the_runs_that_read_it(workspace: Path):
    git(workspace, "rm", "-q", "--cached", "cases/toy/data.txt")
    for name in ("cases/toy/data.txt", "cases/other/more.txt"):
        (workspace / name).write_text(f"big {name}")
        dvc(workspace, "add", "-q", name)
    git(workspace, "add", "-A")
    git(workspace, "commit", "-qm", "Data")
    run = run_toy(workspace, 1)
    found = run_objects(workspace, [run])[run]
    assert Named("cases/toy/data.txt", md5("big cases/toy/data.txt"), None) in found.named
    assert md5("big cases/other/more.txt") not in found.names


def test_a_folder_whose_list_is_lost_is_told(workspace: Path):
    run = run_toy(workspace, 1)
    found = run_objects(workspace, [run])[run]
    lost = next(one for one in found.named if one.stage == "first")
    path = place(workspace / ".dvc/cache", lost.md5)
    path.chmod(0o644)
    path.write_text("[1")
    again = run_objects(workspace, [run])[run]
    assert again.unlisted == {lost.md5: lost.path}
    assert lost.md5 in again.names
    assert md5("picture") not in again.names


def test_a_run_that_made_nothing_refers_to_nothing(workspace: Path):
    git(workspace, "tag", "-am", "mine", "run/20261130T160101-toy-0000")
    assert objects_of(workspace, "20261130T160101-toy-0000") == set()


WORDS = st.from_regex(r"[a-z][a-z0-9_]{0,5}(?:/[a-z0-9_.-]{1,4}[a-z])?", fullmatch=True)
ODD = st.one_of(WORDS, st.sampled_from(["a b", "1e5", "no", "a: b", "ü", "'q"]))


@settings(deadline=None)
@given(
    st.dictionaries(
        st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True),
        st.lists(st.tuples(ODD, st.booleans()), min_size=1, max_size=3, unique_by=lambda it: it[0]),
        min_size=1,
        max_size=4,
    )
)
def test_the_outputs_of_any_lock_that_is_written_here_are_read_back(made: dict[str, list]):
    text, wanted = "", []
    for name, outs in made.items():
        entry: dict = {"cmd": "x", "deps": [{"path": "d", "hash": "md5", "md5": "0" * 32}]}
        entry["outs"] = []
        for path, is_folder in outs:
            digest = md5(path) + (".dir" if is_folder else "")
            entry["outs"].append({"path": path, "hash": "md5", "md5": digest, "size": 1})
            wanted.append((name, f"cases/c/{path}", digest))
        text = lock_text.splice(text, name, entry)
    found = lock_outs(text, "cases/c")
    assert sorted((one.stage, one.path, one.md5) for one in found) == sorted(wanted)


@pytest.mark.parametrize("text", ["", "stages: 3", "]", "stages:\n  a:\n    outs: no\n"])
def test_a_lock_that_is_none_names_nothing(text: str):
    assert lock_outs(text, "cases/c") == []


def test_files_of_history_come_in_the_order_of_their_names(workspace: Path):
    (workspace / "lines.json").write_text(json.dumps([*range(3000)], indent=1))
    git(workspace, "add", "-A")
    git(workspace, "commit", "-qm", "Lines")
    names = ["HEAD:lines.json", "HEAD:nowhere", "HEAD:cases", "HEAD:toys/__init__.py"] * 40
    found = list(read_blobs(workspace, names))
    assert found == [(workspace / "lines.json").read_bytes(), None, None, b""] * 40

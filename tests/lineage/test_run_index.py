"""The index of runs follows the tags, whatever becomes of its file."""

import subprocess
import sys
from pathlib import Path

import pytest
from toy_runs import run_toy
from toy_workspace import git

from lineage.run_index import FILE, Place, opened

DATA = "cases/toy/data.txt"
FOLDER = "cases/toy/artifacts/first"
ASK = """
import sys
from pathlib import Path
from lineage.run_index import opened
with opened(Path(sys.argv[1]), Path(sys.argv[1]) / ".dvc/cache") as index:
    print(index.counts()["runs"], len(index.at("cases/toy/data.txt")))
"""


@pytest.fixture(autouse=True)
def _stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path.cwd())


def asked(workspace: Path) -> tuple[dict, list[Place], list]:
    with opened(workspace, workspace / ".dvc/cache") as index:
        (data,) = index.at(DATA)
        return index.counts(), index.at(DATA), index.made_from(data)


def test_a_run_that_restored_all_shares_what_the_first_made(workspace: Path):
    first, second = run_toy(workspace, 1), run_toy(workspace, 2)
    _, _, made = asked(workspace)
    assert [(one.stage, one.ran_in, one.runs) for one in made] == [
        ("first", first, (second, first)),
        ("second", first, (second, first)),
    ]


def test_a_tag_that_is_gone_is_forgotten_and_a_new_one_is_read(workspace: Path):
    first = run_toy(workspace, 1)
    before = asked(workspace)
    (workspace / "params.yaml").write_text("first:\n  n: 3\n")
    second = run_toy(workspace, 2, n=3)
    assert {one.ran_in for one in asked(workspace)[2]} == {first, second}
    git(workspace, "tag", "-d", f"run/{second}")
    assert asked(workspace)[2] == before[2]


def test_a_tag_that_was_moved_is_read_anew(workspace: Path):
    first = run_toy(workspace, 1)
    asked(workspace)
    git(workspace, "tag", "-f", "-am", "emptied", f"run/{first}", "main")
    with opened(workspace, workspace / ".dvc/cache") as index:
        assert index.counts()["runs"] == 1
        assert all(not index.made_from(place) for place in index.at(DATA))


@pytest.mark.parametrize(
    "left", [b"", b"no database at all" * 99, None], ids=["empty", "other", "cut"]
)
def test_a_broken_file_is_built_anew(workspace: Path, left: bytes | None):
    run_toy(workspace, 1)
    before = asked(workspace)
    path = workspace / FILE
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if left is None else left)
    assert asked(workspace) == before
    path.unlink()
    assert asked(workspace) == before


def test_a_page_that_was_overwritten_is_seen(workspace: Path):
    run_toy(workspace, 1)
    before = asked(workspace)
    path = workspace / FILE
    whole = bytearray(path.read_bytes())
    whole[8192:12288] = b"\xff" * 4096
    path.write_bytes(whole)
    assert asked(workspace) == before


def test_an_index_of_another_version_is_built_anew(workspace: Path):
    import sqlite3

    run_toy(workspace, 1)
    before = asked(workspace)
    base = sqlite3.connect(workspace / FILE)
    base.executescript("DROP TABLE place; PRAGMA user_version = 99;")
    base.close()
    assert asked(workspace) == before


def test_where_no_file_can_be_written_it_is_kept_in_memory(workspace: Path):
    run_toy(workspace, 1)
    before = asked(workspace)
    path = workspace / FILE
    path.unlink()
    path.mkdir()
    assert asked(workspace) == before


def test_several_processes_at_once_get_the_same_answer(workspace: Path):
    run_toy(workspace, 1)
    begun = [
        subprocess.Popen(
            [sys.executable, "-c", ASK, str(workspace)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        for _ in range(3)
    ]
    said = [one.communicate()[0].strip() for one in begun]
    assert said == ["1 1"] * 3


def test_a_folder_within_a_stages_folder_is_listed_though_the_cache_has_no_list_of_it(
    workspace: Path,
):
    run_toy(workspace, 1)
    with opened(workspace, workspace / ".dvc/cache") as index:
        (picture,) = index.inside(f"{FOLDER}/pictures", f"{FOLDER}/pictures/a.txt")
        assert index.inside(FOLDER, f"{FOLDER}/pictures/a.txt") == [picture]


def test_a_folder_that_was_away_is_listed_once_it_is_brought(workspace: Path):
    run_toy(workspace, 1)
    cache = workspace / ".dvc/cache"
    hidden = workspace / "elsewhere"
    cache.rename(hidden)
    with opened(workspace, cache) as index:
        assert not index.inside(
            "cases/toy/artifacts/first", "cases/toy/artifacts/first/pictures/a.txt"
        )
    hidden.rename(cache)
    with opened(workspace, cache) as index:
        assert index.inside(FOLDER, f"{FOLDER}/pictures/a.txt")


def test_what_reads_a_part_of_a_folder_was_made_from_the_folder(workspace: Path):
    """Stages read `artifacts/data/train`; a person asks for `artifacts/data`."""
    own = "cases/toy/artifacts"
    data = {f"{own}/data": "a.dir", f"{own}/data/train": "b.dir", f"{own}/data2": "c.dir"}
    train = {f"{own}/data/train": {"before": "b.dir"}}
    other = {f"{own}/data2": {"before": "c.dir"}}
    with opened(workspace, workspace / ".dvc/cache") as index:
        index.add(
            "20261130T160101-toy-abcd",
            "a tag",
            [
                {"name": "data", "inputs": {}, "outputs": data},
                {"name": "train", "inputs": train, "outputs": {f"{own}/train": "d.dir"}},
                {"name": "other", "inputs": other, "outputs": {}},
            ],
        )
        whole = Place(f"{own}/data", "a.dir")
        assert [one.stage for one in index.made_from(whole)] == ["train"]
        assert index.runs_that("read", whole) == ["20261130T160101-toy-abcd"]
        assert [one.stage for one in index.made_from(Place(f"{own}/data/train", "b.dir"))] == [
            "train"
        ]

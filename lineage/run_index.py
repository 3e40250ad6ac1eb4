"""Which runs made, read or hold a hash: an index of all runs' records, derived and safe to delete.

The tags are the truth. At each use the index is held against the list of them: what is new is read,
what is gone is dropped; a file that is broken is built anew. One process at a time works on it.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lineage import git
from lineage.fence import fence
from lineage.git_blobs import read_blobs
from lineage.objects import case_of, members
from lineage.provenance import DONE
from lineage.run_tables import DOWN, HOLDING, MAKERS, PARTS, READERS, TABLES, VERSION
from lineage.run_tags import PREFIX

FILE = ".assay/lineage.sqlite"
AT_ONCE = 32  # records read in one go: a quarter of a megabyte each
MARKS = ("environment", "image_id", "base_digest", "log_sha256")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A path from the root of the repository, and the hash of what stood there."""

    path: str
    hash: str


@dataclass(frozen=True, slots=True)
class Made:
    """One time that a stage ran, and the runs whose answer it is part of."""

    case: str
    stage: str
    ran_in: str
    folder: str  # hash of its output folder; "": unknown
    runs: tuple[str, ...]  # newest first


@contextmanager
def opened(workspace: Path, cache: Path) -> Iterator["RunIndex"]:
    """Open the index of a workspace, brought up to date; kept in memory where no file can be."""
    with ExitStack() as stack:
        try:
            lock = (workspace / FILE).with_suffix(".lock")
            stack.enter_context(fence(lock, on_wait=lambda: None))
            base = _from_file(workspace, cache)
        except (sqlite3.OperationalError, OSError):  # a disk that is full or read-only
            base = _current(None, workspace, cache)
        stack.callback(base.close)
        yield RunIndex(workspace, cache, base)


def _from_file(workspace: Path, cache: Path) -> sqlite3.Connection:
    path = workspace / FILE
    try:
        return _current(path, workspace, cache)
    except sqlite3.DatabaseError:  # half a file, another version, something else
        for name in (path, path.with_name(f"{path.name}-journal")):
            name.unlink(missing_ok=True)
        return _current(path, workspace, cache)


def _current(path: Path | None, workspace: Path, cache: Path) -> sqlite3.Connection:
    base = sqlite3.connect(path or ":memory:", isolation_level=None)
    try:
        base.execute("PRAGMA synchronous = OFF")  # a power cut may break it: it is built anew
        base.execute("PRAGMA cache_size = -65536")
        _check(base)
        RunIndex(workspace, cache, base).refresh()
    except BaseException:
        base.close()
        raise
    return base


def in_memory(workspace: Path, cache: Path) -> "RunIndex":
    """Return an empty index that no file keeps."""
    base = sqlite3.connect(":memory:", isolation_level=None)
    _check(base)
    return RunIndex(workspace, cache, base)


def _check(base: sqlite3.Connection) -> None:
    """Make the tables of a new file; refuse one that is broken or of another version."""
    version = base.execute("PRAGMA user_version").fetchone()[0]
    if version == 0:
        base.executescript(f"BEGIN; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;")
    elif version != VERSION or base.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
        raise sqlite3.DatabaseError("not this version's index")


class RunIndex:
    """Answers from the index; comes from `opened`."""

    def __init__(self, workspace: Path, cache: Path, base: sqlite3.Connection) -> None:
        self.workspace = workspace
        self.cache = cache
        self._base = base
        self._places: dict[tuple[str, str], int] = {}

    def refresh(self) -> None:
        """Read what runs are new, and forget those that are gone."""
        listed = git.text(
            self.workspace, "for-each-ref", "--format=%(refname:lstrip=3) %(objectname)", PREFIX
        )
        tags = dict(line.split(" ") for line in listed.splitlines())
        known = dict(self._base.execute("SELECT id, tag FROM run").fetchall())
        looked = self._base.execute("SELECT at FROM looked").fetchone()
        if tags == known and looked == (_state(self.cache),):
            return
        self._base.execute("BEGIN IMMEDIATE")
        try:
            for run_id in sorted(
                run_id for run_id, tag in known.items() if tags.get(run_id) != tag
            ):
                self._forget(run_id)
            fresh = sorted(run_id for run_id, tag in tags.items() if known.get(run_id) != tag)
            for start in range(0, len(fresh), AT_ONCE):
                self._take(fresh[start : start + AT_ONCE], tags)
            self._list_folders(from_git=tags != known)  # else a pull may have brought some
            self._base.execute("DELETE FROM looked")
            self._base.execute("INSERT INTO looked VALUES (?)", (_state(self.cache),))
        except BaseException:
            self._base.execute("ROLLBACK")
            raise
        self._base.execute("COMMIT")

    def _forget(self, run_id: str) -> None:
        """Drop a run, and what no other run has restored."""
        (run,) = self._base.execute("SELECT n FROM run WHERE id = ?", (run_id,)).fetchone()
        self._base.execute("DELETE FROM did WHERE run = ?", (run,))
        self._base.execute("DELETE FROM run WHERE n = ?", (run,))
        lost = "(SELECT n FROM made WHERE n NOT IN (SELECT made FROM did))"
        for table in ("used", "gave"):
            self._base.execute(f"DELETE FROM {table} WHERE made IN {lost}")  # noqa: S608
        self._base.execute(f"DELETE FROM made WHERE n IN {lost}")  # noqa: S608

    def _take(self, run_ids: Sequence[str], tags: Mapping[str, str]) -> None:
        names = [f"{tags[run_id]}:cases/{case_of(run_id)}/run.json" for run_id in run_ids]
        for run_id, blob in zip(run_ids, read_blobs(self.workspace, names), strict=True):
            self.add(run_id, tags[run_id], _stages(blob))

    def add(self, run_id: str, tag: str, stages: Iterable[Mapping[str, Any]]) -> None:
        """Take one run in, with its stages as its record has them."""
        run = self._insert("run", id=run_id, tag=tag)
        for stage in stages:
            made = self._made(run_id, stage)
            self._base.execute("INSERT OR IGNORE INTO did VALUES (?, ?)", (run, made))

    def _made(self, run_id: str, stage: Mapping[str, Any]) -> int:
        """Return the number of one execution; the runs that restored it share it."""
        case, name = case_of(run_id), stage["name"]
        ran_in = stage.get("from_run") or run_id
        key = json.dumps([case, name, ran_in, sorted(stage["outputs"].items())])
        known = self._base.execute("SELECT n FROM made WHERE key = ?", (key,)).fetchone()
        if known:
            return int(known[0])
        inputs = {path: it["before"] for path, it in stage["inputs"].items() if it["before"]}
        own = f"cases/{case}/artifacts/"
        fixed = {path: md5 for path, md5 in inputs.items() if not path.startswith(own)}
        made = self._insert(
            "made",
            key=key,
            case=case,
            stage=name,
            ran_in=ran_in,
            folder=stage["outputs"].get(f"{own}{name}", ""),
            sources=self._sources(fixed),
            marks=" ".join(str(stage[mark]) for mark in MARKS if stage.get(mark)),
        )
        self._fill("used", made, [one for one in inputs.items() if one[0] not in fixed])
        self._fill("gave", made, stage["outputs"].items())
        return made

    def _sources(self, files: Mapping[str, str]) -> int:
        """Return the number of a set of files that stood there before; most stages share one."""
        key = json.dumps(sorted(files.items()))
        known = self._base.execute("SELECT n FROM sources WHERE key = ?", (key,)).fetchone()
        if known:
            return int(known[0])
        number = self._insert("sources", key=key)
        self._fill("source", number, files.items())
        return number

    def _insert(self, table: str, **values: Any) -> int:
        columns, marks = ", ".join(f'"{name}"' for name in values), ", ".join("?" * len(values))
        text = f"INSERT INTO {table} ({columns}) VALUES ({marks})"  # noqa: S608
        return int(self._base.execute(text, tuple(values.values())).lastrowid or 0)

    def _fill(self, table: str, number: int, places: Iterable[tuple[str, str]]) -> None:
        self._base.executemany(
            f"INSERT INTO {table} VALUES (?, ?)",  # noqa: S608
            [(number, self._place(path, value)) for path, value in places],
        )

    def _place(self, path: str, value: str) -> int:
        known = self._places.get((path, value))
        if known is None:
            asked = "SELECT n FROM place WHERE hash = ? AND path = ?"
            row = self._base.execute(asked, (value, path)).fetchone()
            known = int(row[0]) if row else self._insert("place", path=path, hash=value)
            self._places[path, value] = known
        return known

    def _list_folders(self, *, from_git: bool) -> None:
        """List the members of folders that are new: from the cache, or else from git's history."""
        fresh = self._base.execute(
            "SELECT n, path, hash FROM place WHERE hash LIKE '%.dir' "
            "AND n NOT IN (SELECT folder FROM listed)"
        ).fetchall()
        for number, path, value in fresh:
            inside = members(self.cache, value) or {}
            if not inside and path.split("/")[2:3] == ["artifacts"]:
                inside = self._in_parent(number, path)
            elif not inside and from_git:
                inside = self._in_git(number, path)
            if inside:
                self._base.execute("INSERT INTO listed VALUES (?)", (number,))
                self._base.executemany(
                    "INSERT INTO member VALUES (?, ?, ?)",
                    [(number, name, md5) for name, md5 in inside.items()],
                )

    def _in_parent(self, folder: int, path: str) -> dict[str, str]:
        """Return the members of a folder within a stage's own, which alone DVC lists."""
        row = self._base.execute(
            "SELECT place.path, place.hash FROM gave AS own JOIN gave ON gave.made = own.made "
            "JOIN place ON place.n = gave.place WHERE own.place = ? "
            "AND place.hash LIKE '%.dir' ORDER BY length(place.path) LIMIT 1",
            (folder,),
        ).fetchone()
        if row is None or not path.startswith(f"{row[0]}/"):
            return {}
        start = f"{path[len(row[0]) + 1 :]}/"
        listed = members(self.cache, row[1]) or {}
        return {name[len(start) :]: md5 for name, md5 in listed.items() if name.startswith(start)}

    def _in_git(self, folder: int, path: str) -> dict[str, str]:
        """Return the members of a folder that git holds, with git's own hashes of them."""
        tag = self._base.execute(
            f"SELECT tag FROM ({READERS}) AS reads CROSS JOIN did ON did.made = reads.made "  # noqa: S608
            "CROSS JOIN run ON run.n = did.run LIMIT 1",
            {"places": json.dumps([folder])},
        ).fetchone()
        with suppress(git.GitError):
            said = git.run(self.workspace, "ls-tree", "-r", "-z", *(tag or ("",)), f"{path}/")
            lines = [one.split("\t", 1) for one in said.decode(errors="replace").split("\0") if one]
            return {name[len(path) + 1 :]: facts.split()[2] for facts, name in lines}
        return {}

    def counts(self) -> dict[str, int]:
        """Return how much is searched."""
        asked = {"runs": "run", "places": "place", "members": "member"}
        return {
            name: int(self._base.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0])  # noqa: S608
            for name, table in asked.items()
        }

    def hashes_like(self, start: str, limit: int) -> list[str]:
        """Return known hashes that begin so."""
        said = self._base.execute(
            "SELECT hash FROM place WHERE hash >= :start AND hash < :end UNION "
            "SELECT hash FROM member WHERE hash >= :start AND hash < :end "
            "ORDER BY hash LIMIT :most",
            {"start": start, "end": f"{start}~", "most": limit},
        )
        return [value for (value,) in said]

    def places_of(self, value: str) -> list[Place]:
        """Return where a hash stands or stood, in a folder too."""
        said = self._base.execute(
            "SELECT path, hash FROM place WHERE hash = :value UNION "
            "SELECT place.path || '/' || member.name, member.hash FROM member "
            "JOIN place ON place.n = member.folder WHERE member.hash = :value",
            {"value": value},
        )
        return sorted(Place(*row) for row in said)

    def at(self, path: str) -> list[Place]:
        """Return what stood at a path in any run."""
        said = self._base.execute("SELECT path, hash FROM place WHERE path = ?", (path,))
        return sorted(Place(*row) for row in said)

    def inside(self, folder: str, path: str) -> list[Place]:
        """Return what stood at a path within a folder in any run."""
        said = self._base.execute(
            "SELECT member.hash FROM place JOIN member ON member.folder = place.n "
            "WHERE place.path = ? AND member.name = ?",
            (folder, path[len(folder) + 1 :]),
        )
        return sorted({Place(path, value) for (value,) in said})

    def _holding(self, place: Place, *, parts: bool = False) -> str:
        """Return the numbers of a place and of the folders that hold it there, as JSON.

        With `parts`, of what else its stage made within it too: a stage may read that alone.
        """
        said = self._base.execute(
            HOLDING + (PARTS if parts else ""), {"value": place.hash, "path": place.path}
        )
        return json.dumps([number for (number,) in said])

    def runs_that(self, how: str, place: Place) -> list[str]:
        """Return the runs that `made` a place or `read` it, newest first."""
        said = self._base.execute(
            f"SELECT DISTINCT run.id FROM ({MAKERS if how == 'made' else READERS}) AS some "  # noqa: S608
            "CROSS JOIN did ON did.made = some.made CROSS JOIN run ON run.n = did.run "
            "ORDER BY run.id DESC",
            {"places": self._holding(place, parts=how == "read")},
        )
        return [run_id for (run_id,) in said]

    def made_from(self, place: Place) -> list[Made]:
        """Return all that was made from a place, in any run: what read it, what read that, ...

        A thing is the same one where the same bytes stood at the same path.
        """
        return _made(self._base.execute(DOWN, {"places": self._holding(place, parts=True)}))

    def marked(self, text: str) -> list[Made]:
        """Return the executions whose environment, image, digest or log it is."""
        said = self._base.execute(
            'SELECT "case", stage, ran_in, folder, group_concat(run.id) FROM made '
            "JOIN did ON did.made = made.n JOIN run ON run.n = did.run "
            "WHERE instr(marks, ?) GROUP BY made.n ORDER BY ran_in DESC, made.n",
            (text,),
        )
        return _made(said)

    def unhashed(self) -> list[str]:
        """Return the hashes of files whose SHA-256 nobody has asked for yet."""
        said = self._base.execute(
            "SELECT hash FROM (SELECT hash FROM place UNION SELECT hash FROM member) "
            "WHERE length(hash) = 32 AND hash NOT IN (SELECT md5 FROM content)"
        )
        return [value for (value,) in said]

    def add_sha256(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Keep the SHA-256 of files by their MD5."""
        self._base.executemany("INSERT OR REPLACE INTO content VALUES (?, ?)", pairs)

    def by_sha256(self, value: str) -> list[str]:
        """Return the MD5 of the files of a SHA-256."""
        said = self._base.execute("SELECT md5 FROM content WHERE sha256 = ?", (value,))
        return [md5 for (md5,) in said]


def _made(rows: Iterable[tuple[str, str, str, str, str]]) -> list[Made]:
    return [
        Made(case, stage, ran_in, folder, tuple(sorted(run_ids.split(","), reverse=True)))
        for case, stage, ran_in, folder, run_ids in rows
    ]


def _state(cache: Path) -> str:
    """Return what changes when the cache is given an object, or loses one."""
    folders = sorted((cache / "files/md5").glob("??"))
    return str(max((folder.stat().st_mtime_ns for folder in folders), default=0))


def _stages(blob: bytes | None) -> list[Mapping[str, Any]]:
    """Return the finished stages of a record; none of one that no run wrote."""
    try:
        found = json.loads(blob or b"{}").get("stages", [])
        return [stage for stage in found if stage["how"] in DONE]
    except (ValueError, AttributeError, TypeError, KeyError):
        return []

"""`pictures: none`: nothing of a sample leaves this machine, in a run that ends or one that breaks.

The canaries stand in samples, ids, groups, free columns, labels, prints and exceptions. They are
spelt backwards in the case's code, which may leave.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from clone import Clone

pytestmark = pytest.mark.slow

KINDS = ("id", "group", "note", "label", "pixel")
FIRST = ord("c") / 255  # what the reference makes of the canary's first pixel

DATA = """
        words = {kind: "DROW"[::-1] + kind for kind in KINDS}
        if name == "real":
            samples[17] = np.frombuffer((words["pixel"] * 6).encode()[:36], np.uint8).reshape(6, 6)
        folder = out / name
        folder.mkdir(parents=True)
        np.save(folder / "samples.npy", samples)
        with (folder / "manifest.csv").open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["id", "row", "label", "group", "note"])
            for row, label in enumerate(labels):
                shown = words["label"] if (name, row) == ("real", 18) else int(label)
                group = words["group"] + f"{row // 10:02d}"
                name_of_row = f"{words['id']}-{name}-{row:03d}"
                table.writerow([name_of_row, row, shown, group, words["note"]])
        print(words)
"""
STEPS = """

def tell(raw):
    pixels = raw.astype(np.uint8).tobytes().decode()
    print(pixels, raw.ravel()[0] / 255)
    return ValueError(f"cannot take {pixels}, which begins with {float(raw.ravel()[0]) / 255}")

def scale_strictly(picture, by):
    # The candidate's own `decode` turns the picture, which is then fine: only the exchange fails.
    if picture[0, 0] == ord("c") and picture[0, 1] == ord("a"):
        raise tell(picture)
    return picture / np.float32(by)

def break_off(raw):
    if raw[0, 0] == ord("c"):
        raise tell(raw)
    return from_buffer(raw)
"""


@dataclass(frozen=True)
class Private:
    """A toy case full of canaries."""

    clone: Clone
    word: str

    @property
    def canaries(self) -> dict[str, bytes]:
        text = {kind: f"{self.word}{kind}".encode() for kind in KINDS}
        tensor = np.float32([ord(letter) for letter in self.word[:4]]) / np.float32(255)
        return text | {"value": f"{FIRST:.6f}".encode(), "tensor": tensor.tobytes()}

    def found(self, places: dict[str, bytes]) -> set[tuple[str, str]]:
        return {
            (kind, place)
            for place, content in places.items()
            for kind, canary in self.canaries.items()
            if canary in content
        }

    def leaves(self, run: str) -> Iterator[tuple[str, bytes]]:
        """All that a push of git's tags or of DVC's outputs would take, and all logs."""
        clone = self.clone
        for name in clone.git("ls-tree", "-r", "--name-only", f"run/{run}").splitlines():
            yield f"git {name}", clone.blob(f"run/{run}:{name}")
        yield "git tag", clone.git("cat-file", "tag", f"run/{run}").encode()
        for path in (clone.root / ".assay/logs").rglob("*"):
            if path.is_file():
                yield f"log {path.name}", path.read_bytes()
        clone.call("dvc", "push", "--all-tags", "--run-cache", status=0)
        for path in (clone.root.parent / "remote").rglob("*"):
            if path.is_file():
                yield f"remote {path.name}", path.read_bytes()


def make(clone: Clone, word: str, pictures: str) -> Private:
    code = clone.root / "cases/toy/code"
    head = (code / "toy_data.py").read_text().partition("        folder = out / name")[0]
    data = DATA.replace("DROW", word[::-1]).replace("KINDS", str(KINDS))
    (code / "toy_data.py").write_text(head + data)
    with (code / "toy_steps.py").open("a") as file:
        file.write(STEPS)
    clone.edit("cases/toy/case.yaml", "classes: 2", f"classes: 2\npictures: {pictures}")
    clone.edit(
        "cases/toy/case.yaml",
        "toy_steps:from_buffer}\n    - {name: scale, call: toy_steps:scale,",
        "toy_steps:from_buffer}\n    - {name: scale, call: toy_steps:scale_strictly,",
    )
    clone.call("dvc", "remote", "add", "-d", "near", str(clone.root.parent / "remote"), status=0)
    clone.assay("plan", status=0)
    return Private(clone, word)


def test_a_private_case_leaves_nothing_of_its_samples(clone: Clone, tmp_path_factory) -> None:
    case = make(clone, "canarynone", "none")
    answer = clone.run()
    said = clone.assay("report", answer["run"], status=0).stdout
    page = Path(said.strip())
    places = dict(case.leaves(answer["run"]))
    places |= {"page": page.read_bytes(), "answer": clone.report(answer["run"])}
    assert any(name.startswith("remote") for name in places)
    assert case.found(places) == set()

    # Broken off by an exception that tells all: the message goes to the record, the tag, the log.
    clone.edit("cases/toy/case.yaml", "toy_steps:from_buffer", "toy_steps:break_off")
    done = clone.assay("run", "toy", "--isolation", "process", status=3)
    failed = clone.git("tag", "--sort=-refname").split()[0].removeprefix("run/")
    assert failed != answer["run"]
    assert "ValueError (its message is withheld" in done.stdout + done.stderr
    assert "toy_steps.py" in done.stdout + done.stderr, "the line of code is told"
    words = {"said": (done.stdout + done.stderr).encode()}
    assert case.found(dict(case.leaves(failed)) | words) == set()
    servers = tmp_path_factory.getbasetemp().glob("server*/**/*")
    kept = {f"server {path.name}": path.read_bytes() for path in servers if path.is_file()}
    texts = {kind: content for kind, content in case.canaries.items() if kind in KINDS}
    assert not [one for one in kept.values() for canary in texts.values() if canary in one]


def test_the_same_case_leaves_them_where_pictures_are_shown(clone: Clone) -> None:
    case = make(clone, "canaryfull", "full")
    answer = clone.run()
    found = case.found(dict(case.leaves(answer["run"])))
    assert {kind for kind, _ in found} == {*KINDS, "value", "tensor"}
    assert {place.split()[0] for _, place in found} >= {"log", "remote"}

    clone.edit("cases/toy/case.yaml", "toy_steps:from_buffer", "toy_steps:break_off")
    clone.assay("run", "toy", "--isolation", "process", status=3)
    failed = clone.git("tag", "--sort=-refname").split()[0].removeprefix("run/")
    held = {(kind, place) for kind, place in case.found(dict(case.leaves(failed)))}
    assert {("pixel", "git tag"), ("id", "git tag"), ("value", "git tag")} <= held
    assert ("pixel", "git cases/toy/run.json") in held

"""What one run's things are made of: data, code, params and images, by stages, into outputs."""

import hashlib
import json
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml

from lineage import yaml12
from lineage.git_blobs import read_blobs
from lineage.provenance import DONE, Provenance, RunRecord
from lineage.run_tags import PREFIX

PLANNED = "graph.json"
"""What is generated of the plan beside a case's dvc.yaml, for the page to draw."""

Kind = Literal["data", "code", "contract", "params", "image", "stage", "output"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One thing of a run. Its id is its kind and its name, `output:cases/digits/artifacts/gate`."""

    kind: Kind
    name: str  # a path, a stage, or the family of an image
    hash: str | None = None  # MD5 of a file, `.dir` of a folder; a key of an image
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Return what edges call it by."""
        return f"{self.kind}:{self.name}"


@dataclass(frozen=True, slots=True)
class Graph:
    """Things and what is made of them: an edge leads from what was there first."""

    run: str
    nodes: Mapping[str, Node]
    edges: frozenset[tuple[str, str]]

    def back(self, start: Iterable[str]) -> "Graph":
        """Return some things and all that they are made of."""
        return self._part(start, {(after, before) for before, after in self.edges})

    def forward(self, start: Iterable[str]) -> "Graph":
        """Return some things and all that is made of them."""
        return self._part(start, self.edges)

    def before(self, node: str) -> list[Node]:
        """Return what one thing is made of directly."""
        return sorted(
            (self.nodes[first] for first, after in self.edges if after == node),
            key=lambda one: (one.kind, one.name),
        )

    def of(self, *kinds: Kind) -> list[Node]:
        """Return the things of some kinds, by name."""
        return sorted((it for it in self.nodes.values() if it.kind in kinds), key=lambda it: it.id)

    def _part(self, start: Iterable[str], edges: Iterable[tuple[str, str]]) -> "Graph":
        following: dict[str, list[str]] = {}
        for one, other in edges:
            following.setdefault(one, []).append(other)
        seen: set[str] = set()
        waiting = [one for one in start if one in self.nodes]
        while waiting:
            here = waiting.pop()
            if here not in seen:
                seen.add(here)
                waiting += following.get(here, [])
        kept = frozenset(edge for edge in self.edges if seen.issuperset(edge))
        return Graph(self.run, {name: it for name, it in self.nodes.items() if name in seen}, kept)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "run": self.run,
            "nodes": [
                {"id": it.id, "kind": it.kind, "name": it.name, "hash": it.hash, **it.about}
                for it in self.nodes.values()
            ],
            "edges": sorted(map(list, self.edges)),
        }


def code_roots(workspace: Path, record: RunRecord) -> tuple[str, ...]:
    """Return the folders of a run's case that hold code, as its case.yaml said then."""
    folder = f"cases/{record.case}"
    (blob,) = read_blobs(workspace, [f"{PREFIX}{record.id}:{folder}/case.yaml"])
    try:
        content = yaml12.load((blob or b"").decode())
    except (yaml.YAMLError, UnicodeDecodeError):
        content = None
    stated = content.get("code") if isinstance(content, dict) else None
    roots = stated if isinstance(stated, list) else ["code"]
    return tuple(posixpath.normpath(f"{folder}/{root}") for root in roots)


def kind_of(path: str, roots: Sequence[str]) -> Kind:
    """Tell what a dependency is by where it stands; `roots` are the case's folders of code."""
    if path.startswith("data_contracts/"):
        return "contract"
    ours = not path.startswith("cases/") or path.split("/")[2:] == [PLANNED]
    if ours or any(f"{path}/".startswith(f"{one}/") for one in roots):
        return "code"
    return "output" if path.split("/")[2:3] == ["artifacts"] else "data"


def graph_of(record: RunRecord, roots: Sequence[str]) -> Graph:
    """Return the graph of one run from its record; a stage that did not finish has no outputs.

    Args:
        record: the run, with its stages.
        roots: as `code_roots` returns them.
    """
    nodes: dict[str, Node] = {}
    edges: set[tuple[str, str]] = set()

    def add(node: Node) -> str:
        nodes.setdefault(node.id, node)
        return node.id

    for stage in record.stages:
        here = add(Node(kind="stage", name=stage.name, hash=None, about=_about(stage)))
        for path, hashes in stage.inputs.items():
            edges.add((add(_input(path, hashes.before, roots)), here))
        if stage.params:
            edges.add((add(_params(stage)), here))
        if stage.image and stage.how in DONE:
            edges.add((add(_image(stage)), here))
        for path, md5 in stage.outputs.items():
            edges.add((here, add(Node(kind="output", name=path, hash=md5))))
    edges |= _inside(nodes, edges)
    return Graph(record.id, nodes, frozenset(edges))


def _input(path: str, md5: str | None, roots: Sequence[str]) -> Node:
    return Node(kind=kind_of(path, roots), name=path, hash=md5)


def _params(stage: Provenance) -> Node:
    text = json.dumps(stage.params, sort_keys=True)
    digest = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
    return Node(kind="params", name=stage.name, hash=digest, about={"values": stage.params})


def _image(stage: Provenance) -> Node:
    about = {"image": stage.image, "image_id": stage.image_id, "base_digest": stage.base_digest}
    name = f"{stage.image}" if stage.image_id is None else f"{stage.image}@{stage.image_id}"
    return Node(kind="image", name=name, hash=stage.environment, about=about)


def _about(stage: Provenance) -> dict[str, Any]:
    return {
        "how": stage.how,
        "question": stage.question,
        "ran_in": stage.from_run or stage.run_id,
        "commit": stage.commit,
        "isolation": stage.isolation,
        "started": stage.started,
        "wall_s": stage.wall_s,
    }


def _inside(nodes: Mapping[str, Node], edges: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Link what stands in a stage's folder with the folder: who reads that, reads it too.

    A file that is read but was not declared by itself came to be with its folder.
    """
    outputs = {it.name: it.id for it in nodes.values() if it.kind == "output"}
    makers = {after: first for first, after in edges if first.startswith("stage:")}
    found = set()
    for path, node in outputs.items():
        parent = posixpath.dirname(path)
        while parent:
            if parent in outputs:
                found.add((node, outputs[parent]))
                if node not in makers and outputs[parent] in makers:
                    found.add((makers[outputs[parent]], node))
            parent = posixpath.dirname(parent)
    return found

"""The tasks: which data, which call of ours, which peers, and what was promised."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Rows = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A function of `bench.speed.peers` and where it runs."""

    name: str
    function: str
    environment: str | None  # None: our own has it (scipy)
    package: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One number, made by us and by its peers of the same rows."""

    name: str
    shape: tuple[int, int]  # rows a side, features
    kind: type[np.floating]
    ours: Mapping[str, str]  # what is said of it -> a function of `bench.speed.ours`
    peers: tuple[Peer, ...]
    words: Mapping[str, Any] = field(default_factory=dict)  # given to every contestant
    compared: str  # the key of what both made
    ratio: str | None = None  # the target of the CPU seconds, theirs over ours
    memory: str | None = None  # of the memory that a call adds, ours over theirs
    differs: str | None = None  # of the largest relative difference
    rounds: int = 2  # processes a contestant
    repeats: int = 1  # calls a process, of which the one that took least counts


ALIBI = Peer(name="alibi-detect", function="alibi", environment="drift", package="alibi-detect")
TORCHDRIFT = Peer(
    name="TorchDrift", function="torchdrift", environment="drift", package="torchdrift"
)
FIDELITY_FRECHET = Peer(
    name="torch-fidelity",
    function="fidelity_frechet",
    environment="generative",
    package="torch-fidelity",
)
FIDELITY_KID = Peer(
    name="torch-fidelity",
    function="fidelity_kid",
    environment="generative",
    package="torch-fidelity",
)
PRDC = Peer(name="prdc", function="prdc", environment="generative", package="prdc")
SCIPY = (
    Peer(name="scipy, one call", function="scipy_axis", environment=None, package="scipy"),
    Peer(name="scipy, each column", function="scipy_loop", environment=None, package="scipy"),
)
MMD = {"three bandwidths": "mmd_all", "the peers' one bandwidth": "mmd_one"}

TASKS: tuple[Task, ...] = (
    *(
        Task(
            name=f"MMD, {arrangements} arrangements",
            shape=(1000, 512),
            kind=np.float32,
            ours=MMD,
            peers=(ALIBI, TORCHDRIFT),
            words={"arrangements": arrangements},
            compared="mmd2",
            ratio=ratio,
            rounds=rounds,
            repeats=2 * rounds - 1,
        )
        for arrangements, ratio, rounds in ((100, ">= 20", 2), (1000, ">= 100", 1))
    ),
    Task(
        name="Frechet",
        shape=(500, 2048),
        kind=np.float64,
        ours={"": "frechet"},
        peers=(FIDELITY_FRECHET,),
        compared="distance",
        ratio=">= 50",
        differs="<= 6e-8",
        repeats=3,
    ),
    Task(
        name="KID, 100 subsets against all pairs",  # whose variance is not larger: Blom 1976
        shape=(5000, 2048),
        kind=np.float32,
        ours={"": "kid"},
        peers=(FIDELITY_KID,),
        words={"subsets": 100, "size": 1000},
        compared="distance",
        ratio=">= 3",
        rounds=1,
    ),
    Task(
        name="KID, the same pairs",
        shape=(1000, 2048),
        kind=np.float64,
        ours={"": "kid"},
        peers=(FIDELITY_KID,),
        words={"subsets": 1, "size": 1000},
        compared="distance",
        differs="<= 1e-9",
        rounds=1,
    ),
    Task(
        name="PRDC",
        shape=(5000, 512),
        kind=np.float32,
        ours={"": "overlap"},
        peers=(PRDC,),
        words={"nearest": 5},
        compared="density",
        ratio=">= 2",
        memory="<= 0.2",
        differs="<= 1e-4",
    ),
    Task(
        name="KS, 200 columns",
        shape=(10_000, 200),
        kind=np.float64,
        ours={"": "ks"},
        peers=SCIPY,
        compared="distances",
        ratio=">= 2",
        differs="<= 1e-12",
        repeats=3,
    ),
)


def make(task: Task) -> tuple[Rows, Rows, Mapping[str, Any]]:
    """Draw both sides, which differ a little, and what every contestant is told."""
    generator = np.random.default_rng(0)
    left = generator.standard_normal(task.shape)
    right = 1.02 * generator.standard_normal(task.shape) + 0.02
    words = dict(task.words)
    if "arrangements" in words:  # the peers are given the median that ours finds for itself
        both = np.concatenate([left, right])
        norms = (both**2).sum(axis=1)
        squared = norms[:, None] + norms - 2 * both @ both.T
        words["bandwidth"] = float(np.sqrt(np.median(squared[np.triu_indices(len(both), 1)])))
    return left.astype(task.kind), right.astype(task.kind), words

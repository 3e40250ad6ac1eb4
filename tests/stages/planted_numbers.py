"""A small world of numbers with planted faults: a regression's answers as files."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from planted_world import NO_LAYERS, NO_PROBE, ROLES, _parity, _predicted, _swap
from planted_world import World as Classes

MEAN, DEVIATION = 20.0, 4.0  # MJ/kg


@dataclass
class Numbers:
    """Errors in MJ/kg, each the deviation of a normal one."""

    sim: float = 0.4
    real: float = 0.4  # of the reference on real rows
    steps: tuple[tuple[str, float], ...] = ()  # name, what the step alone adds to each answer
    model: float | None = None  # what the candidate's model adds; None: the same model
    rows: int = 900
    num_groups: int = 45
    labelled: bool = True
    narrow: float = 1.0  # by what the targets of real rows spread less
    not_finite: int = 0  # first rows to which the candidate answers NaN
    seed: int = 0


def build_numbers(world: Numbers, folder: Path) -> dict[str, object]:
    """Write roles and outputs; return the inputs of diagnose as a mapping."""
    generator = np.random.default_rng(world.seed)

    def normal(deviation):
        return generator.normal(scale=deviation, size=world.rows)

    targets = {"sim": MEAN + normal(DEVIATION), "real": MEAN + normal(DEVIATION * world.narrow)}
    _write_roles(folder / "roles.csv", world, targets)
    clean, added = targets["real"] + normal(world.real), dict(world.steps)
    shown = {
        "sim": targets["sim"] + normal(world.sim),
        "real-reference": clean,
        "real-candidate": clean + sum(added.values()),
    }
    more = {name: world.model or 0.0 for name in shown if name != "sim"}
    theirs = {name: said + more.get(name, 0.0) for name, said in shown.items()}
    for name in more:
        theirs[name][: world.not_finite] = np.nan
    keys = {name: f"{at:02d}_{name}" for at, name in enumerate(added)}
    ours = shown | {f"swap-{keys[name]}": clean + shift for name, shift in added.items()}
    for side, sets in (("reference", ours), ("candidate", theirs)):
        (folder / side).mkdir()
        for name, said in sets.items():
            np.save(folder / side / f"{name}.npy", said.astype(np.float32)[:, None])
            np.save(folder / side / f"{name}.labels.npy", said.astype(np.float64))
    like = Classes(steps={name: (shift, "shift") for name, shift in added.items()})
    return {
        "roles": folder / "roles.csv",
        "reference": _predicted("reference", ours, ()),
        "candidate": _predicted("candidate", theirs, ()),
        "reference_outputs": folder / "reference",
        "candidate_outputs": folder / "candidate",
        "parity": _parity(like, keys),
        "swap": _swap(keys),
        "features": NO_LAYERS,
        "probe": NO_PROBE,
    }


def _write_roles(path, world, targets):
    lines = ["dataset,id,row,path,label,group,role"]
    for name, found in targets.items():
        for at, target in enumerate(found):
            group = at % world.num_groups
            role = "validation" if name == "sim" else ROLES[group % 3]
            known = world.labelled or name == "sim"
            label, role = (f"{target:.6f}", role) if known else ("", "unlabelled")
            lines.append(
                f"{name},{name}_{at},{at},,{label},g{group},{role if known else 'unlabelled'}"
            )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")

"""A small world with planted faults: who is right where, as files that the late stages read."""

import base64
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from stages.reports.contract import Check, ContractReport
from stages.reports.data import DataReport, DatasetSummary
from stages.reports.features import FeaturesReport, LayerGap
from stages.reports.parity import OwnDifference, ParityReport, StepDifference, Transform
from stages.reports.predict import PredictReport
from stages.reports.probe import ProbePoint, ProbeReport
from stages.reports.split import SplitReport
from stages.reports.swap import SwappedStep, SwapReport
from stages.reports.train import TrainReport
from stages.stage import Estimate, NotApplicable

CLASSES = 10
NO_LAYERS = NotApplicable(not_applicable="The case names no layers.")
NO_PROBE = NotApplicable(not_applicable="Parity is broken: a probe would repair the fault unseen.")
# One grey pixel.
TINY_PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="
)
ROLES = ("diagnose", "fit", "prove")


@dataclass
class World:
    """Shares of right answers; a fault breaks the same rows in every cell that holds it."""

    sim: float = 0.97
    real: float = 0.97  # the reference on real rows
    steps: dict[str, tuple[float, str | None]] = field(default_factory=dict)  # share broken, kind
    model: float | None = None  # share broken by the candidate's model; None: the same model
    only_labels: bool = False  # ... by its postprocessing, from equal raw outputs
    refuses: tuple[str, ...] = ()  # sets that the candidate's model cannot take
    rows: int = 900
    num_groups: int = 45
    labelled: bool | int = True  # a number: of so many real rows
    recorded: tuple[str, ...] | None = None  # the candidate is: tensors, predictions
    last_good: float | None = None  # share of right answers of what worked before
    features: FeaturesReport | NotApplicable = NO_LAYERS
    probe: ProbeReport | NotApplicable = NO_PROBE
    seed: int = 0


def estimate(value: float, half: float, n: int = 300) -> Estimate:
    return Estimate(value=value, low=value - half, high=value + half, n=n)


def build(world: World, folder: Path) -> dict[str, object]:
    """Write roles and outputs; return the inputs of diagnose as a mapping."""
    generator = np.random.default_rng(world.seed)
    labels = {name: generator.integers(CLASSES, size=world.rows) for name in ("sim", "real")}
    _write_roles(folder / "roles.csv", world, labels)

    def say(truth, share_right):
        """Answer: a share right, and beyond that what a broken row says."""
        return np.where(generator.random(len(truth)) < share_right, truth, (truth + 1) % CLASSES)

    def broken(answers, share, by):
        return np.where(
            generator.random(len(answers)) < share, (labels["real"] + by) % CLASSES, answers
        )

    clean = say(labels["real"], world.real)
    hits = {name: broken(clean, share, 2) for name, (share, _) in world.steps.items()}
    through = clean
    for hit in hits.values():
        through = np.where(hit != clean, hit, through)
    shown = {
        "sim": say(labels["sim"], world.sim),
        "real-reference": clean,
        "real-candidate": through,
    }
    keys = {name: f"{at:02d}_{name}" for at, name in enumerate(world.steps)}
    theirs = dict(shown)
    if world.model is not None:
        mask = generator.random(world.rows) < world.model
        for name in ("real-reference", "real-candidate"):
            theirs[name] = np.where(mask, (labels["real"] + 3) % CLASSES, shown[name])
    ours = shown | {f"swap-{keys[name]}": hit for name, hit in hits.items()}
    sides = {"reference": ours, "candidate": theirs}
    _forget(world.recorded, ours, theirs)
    if world.last_good is not None:
        sides["last_good"] = {"real-last_good": say(labels["real"], world.last_good)}
    _write_answers(folder, world, shown, sides)
    return _before(sides, folder) | {
        "roles": folder / "roles.csv",
        "reference": _predicted("reference", ours, (), world.recorded),
        "candidate": _predicted("candidate", theirs, world.refuses, world.recorded),
        "reference_outputs": folder / "reference",
        "candidate_outputs": folder / "candidate",
        "parity": _parity(world, keys),
        "swap": _swap(keys),
        "features": world.features,
        "probe": world.probe,
    }


def _write_answers(folder, world, shown, sides):
    for side, sets in sides.items():
        (folder / side).mkdir()
        for name, said in sets.items():
            if side == "candidate" and name in world.refuses:
                continue
            raw = shown[name] if world.only_labels and name in shown else said
            np.save(folder / side / f"{name}.npy", np.eye(CLASSES, dtype=np.float32)[raw])
            np.save(folder / side / f"{name}.labels.npy", said.astype(np.int64))


def _before(sides, folder):
    if "last_good" not in sides:
        return {}
    report = _predicted("last_good", sides["last_good"], ())
    return {"last_good": report, "last_good_outputs": folder / "last_good"}


def _forget(recorded, ours, theirs):
    """Leave what a recording tells: its tensors to the reference, its answers to them."""
    if recorded is None:
        return
    kept = {"real-candidate"} if "predictions" in recorded else set()
    for name in set(theirs) - kept:
        del theirs[name]
    if "tensors" not in recorded:
        del ours["real-candidate"]


def _write_roles(path, world, labels):
    lines = ["dataset,id,row,path,label,group,role"]
    for name, found in labels.items():
        for at, label in enumerate(found):
            group = at % world.num_groups
            role = "validation" if name == "sim" else ROLES[group % 3]
            few = world.labelled is not True and at >= world.labelled
            shown = "" if few and name == "real" else label
            role = role if shown != "" else "unlabelled"
            lines.append(f"{name},{name}_{at},{at},,{shown},g{group},{role}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _predicted(side, sets, refuses, recorded=None):
    absent = {}
    if recorded is not None:
        asked = {"sim", "real-reference", "real-candidate"}
        absent = dict.fromkeys(asked - set(sets), "it was not logged.")
    return PredictReport(
        side=side,
        model="recorded" if recorded is not None and side == "candidate" else "model:Net",
        sets={name: len(said) for name, said in sets.items() if name not in refuses},
        errors=dict.fromkeys(refuses, "expected 1 channel, got 3"),
        absent=absent,
    )


def _swap(keys):
    if not keys:
        return NotApplicable(not_applicable="both sides declare the same steps")
    return SwapReport(
        steps=[
            SwappedStep(
                key=key,
                name=name,
                reference_call=f"code:{name}",
                candidate_call=f"served:{name}",
                error=None,
            )
            for name, key in keys.items()
        ]
    )


def _parity(world, keys):
    chain = [_chained(name, name not in world.steps) for name in ["load", *world.steps]]
    names = {"transpose": "rows and columns exchanged (transposed)", "scale": "multiplied by 255"}
    own = [
        OwnDifference(
            key=keys[name],
            step=name,
            equal=False,
            max_abs=1.0,
            transform=kind
            and Transform(
                kind=kind, name=names.get(kind, kind), parameters={}, explained=1.0, alternatives=[]
            ),
        )
        for name, (_, kind) in world.steps.items()
    ]
    first = next(iter(world.steps), None)
    return ParityReport(
        chain=chain,
        first_differing_step=first,
        own=own,
        passed=first is None,
        atol=1e-6,
        rows=[f"real_{at}" for at in range(32)],
        worst=["real_3", "real_4"] if first else [],
    )


def _chained(name, equal):
    return StepDifference(
        step=name,
        equal=equal,
        max_abs=0.0 if equal else 1.0,
        mean_abs=0.0 if equal else 0.21,
        share_differing=0.0 if equal else 0.4,
        shape_reference=[32, 8, 8],
        shape_candidate=[32, 8, 8],
        dtype_reference="float32",
        dtype_candidate="float32",
        note=None,
    )


def gap_in_features() -> FeaturesReport:
    sizes = {"input": 0.52, "conv1": 0.61, "conv2": 0.83, "pool": 0.88, "fc1": 0.97, "logits": 0.96}
    return FeaturesReport(
        layers=[
            LayerGap(
                layer=name,
                width=64,
                mmd2=effect / 10,
                p_value=0.001 if effect > 0.55 else 0.2,
                p_holm=0.006 if effect > 0.55 else 0.2,
                effect=effect,
                permuted="groups",
            )
            for name, effect in sizes.items()
        ],
        begins_at="conv1",
        alpha=0.05,
        effect_means="chance that a simulated row is told from a real one",
        num_sim=400,
        num_real=400,
        projected_layer="fc1",
        projected_explained=[0.41, 0.17],
    )


def scratch_wins() -> ProbeReport:
    figures = {
        "last_layer": (0.55, 0.61, 0.66),
        "whole_model": (0.80, 0.88, 0.93),
        "scratch": (0.85, 0.91, 0.95),
    }
    return ProbeReport(
        baseline=estimate(0.32, 0.05),
        points=[
            ProbePoint(kind=kind, labels=labels, level=estimate(value, 0.03), resamples=5)
            for kind, values in figures.items()
            for labels, value in zip((50, 100, 200), values, strict=True)
        ],
        pretraining="hurts",
        pretraining_effect=estimate(-0.05, 0.02),
    )


def report_inputs(folder: Path, *, rich: bool = False, **planted: object) -> dict[str, object]:
    """Run diagnose, gate and evaluate on a world; return the inputs of report as a mapping.

    Rich: the stages beside them found something too.
    """
    import planted_mitigations
    import planted_runtime
    import planted_sections as beside

    from stages import diagnose, gate

    made = build(World(**planted), folder)
    found = diagnose.run(diagnose.DiagnoseParams(resamples=400), diagnose.Inputs(**made), folder)
    shared = {
        name: made[name]
        for name in ("parity", "features", "roles", "reference_outputs", "candidate_outputs")
    }
    shared |= {"diagnose": found.report, "contract": contract()}
    before = made.get("last_good_outputs")
    held = gate.Inputs(**shared, candidate=made["candidate"], last_good_outputs=before)
    gated = gate.run(gate.GateParams(resamples=400), held, folder)
    evaluated = beside.evaluated(made, folder)
    (folder / "predicted.csv").write_text(evaluated.predicted, encoding="utf-8")
    _write_projection(folder / "projection.csv")
    (folder / "worst.png").write_bytes(TINY_PNG)
    kept = ("contract", "parity", "features", "diagnose")
    return {name: shared[name] for name in kept} | {
        "environments": beside.other_environment() if rich else beside.one_environment(),
        "inputs": beside.brighter() if rich else beside.NO_INPUTS,
        "mitigate": planted_mitigations.mitigated(made, folder),
        "runtime": planted_runtime.halves() if rich else planted_runtime.EQUAL,
        "replay": planted_runtime.leaky() if rich else planted_runtime.CLEAN,
        "field": beside.NO_FIELD,
        "since": beside.broke_in_between() if rich else beside.NO_SINCE,
        "evaluate": evaluated.report,
        "predicted": folder / "predicted.csv",
        "graph": Path(__file__).parents[2] / "cases/digits/graph.json",
        "data": _data(),
        "train": TrainReport(
            origin="trained",
            files={"weights.safetensors": "3f8a" * 16},
            metrics={"validation_accuracy": 0.999},
        ),
        "split": SplitReport(
            rows={"validation": 900, "diagnose": 300, "fit": 300, "prove": 300, "unlabelled": 0},
            groups={"validation": 45, "diagnose": 15, "fit": 15, "prove": 15, "unlabelled": 0},
            seed=0,
        ),
        "probe": made["probe"],
        "gate": gated.report,
        "projection": folder / "projection.csv",
        "worst": folder / "worst.png",
    }


def contract() -> ContractReport:
    rows = [f"real_{at}" for at in (17, 230, 411)]
    checks = [
        _check("real", "expect_column_values_to_be_between", "sample_max", rows),
        _check("sim", "expect_column_values_to_be_unique", "id", []),
        _check("real", "expect_column_values_to_be_unique", "id", []),
        _check("sim", "expect_column_values_to_be_in_set", "label", []),
        _check("real", "expect_column_values_to_be_in_set", "label", []),
    ]
    return ContractReport(
        checks=checks, rows={"sim": 900, "real": 900}, left_out={"sim": 0, "real": 3}, passed=False
    )


def _check(dataset, name, column, rows):
    says = {"sample_max": "the largest value of a sample lies between 0 and 16"}
    return Check(
        dataset=dataset,
        name=name,
        column=column,
        says=says.get(column, f"{column} is what it should be"),
        passed=not rows,
        observed="largest 17.0" if rows else "all",
        num_breaches=len(rows),
        rows=rows,
    )


def _data():
    def summary(source):
        return DatasetSummary(rows=900, labelled=900, groups=45, source=source)

    return DataReport(
        datasets={"sim": summary("digits_data:make"), "real": summary("digits_data:make")}
    )


def _write_projection(path):
    generator = np.random.default_rng(1)
    lines = ["domain,label,x,y"]
    for name, shift in (("sim", 0.0), ("real", 1.6)):
        for x, y in generator.normal(size=(300, 2)):
            lines.append(f"{name},3,{x * 1.3 + shift:.5f},{y + shift / 2:.5f}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")

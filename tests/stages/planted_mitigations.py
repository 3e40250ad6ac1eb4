"""What the stage `mitigate` finds in a planted world, whose model nobody can ask."""

from pathlib import Path

from planted_world import CLASSES

from stages.mitigate import Inputs, MitigateParams, run
from stages.reports.mitigate import MitigateAnswer

READ = ("roles", "parity", "candidate", "reference_outputs", "candidate_outputs")


def mitigation_inputs(made: dict, folder: Path) -> Inputs:
    """The stage's inputs; no tensors stand anywhere."""
    return Inputs(
        model=folder,
        weights=None,
        reference_sim=folder / "none.npy",
        reference_real=folder / "none.npy",
        candidate_sim=folder / "none.npy",
        candidate_real=folder / "none.npy",
        last_good_outputs=made.get("last_good_outputs"),
        **{name: made[name] for name in READ},
    )


def mitigated(made: dict, folder: Path) -> MitigateAnswer:
    into = folder / "mitigate"
    into.mkdir()
    params = MitigateParams(model="onnx", image="onnx", classes=CLASSES, resamples=200)
    return run(params, mitigation_inputs(made, folder), into).report

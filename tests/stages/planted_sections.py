"""Reports of the stages beside the diagnosis, planted: what the page tells below the verdict."""

from pathlib import Path

import numpy as np
from planted_facts import facts, step

from stages import environments, evaluate
from stages.reports.inputs import Histogram, InputsReport, Statistic
from stages.reports.since import SinceReport
from stages.stage import Estimate, NotApplicable

NO_INPUTS = NotApplicable(not_applicable="The samples are neither pictures nor signals.")
NO_FIELD = NotApplicable(not_applicable="The reference does as well on real rows.")
NO_SINCE = NotApplicable(not_applicable="The case states no last_good.")


def evaluated(made: dict, folder: Path, **params) -> evaluate.Outputs:
    """Evaluate a planted world, its answers neither all equally nor all wholly sure."""
    made = made | {
        f"{side}_outputs": _unsure(made[f"{side}_outputs"], folder / f"unsure-{side}")
        for side in ("reference", "candidate")
    }
    names = ("roles", "reference", "candidate", "reference_outputs", "candidate_outputs")
    given = evaluate.Inputs(
        **{name: made[name] for name in names}, last_good=None, last_good_outputs=None
    )
    return evaluate.run(evaluate.EvaluateParams(resamples=200, **params), given, folder)


def _unsure(outputs: Path, folder: Path) -> Path:
    generator = np.random.default_rng(0)
    folder.mkdir()
    for path in sorted(outputs.glob("*.npy")):
        found = np.load(path)
        if not path.stem.endswith(".labels"):
            sharp = generator.uniform(1.5, 6, (len(found), 1))
            found = (sharp * found).astype(np.float32)
        np.save(folder / path.name, found)
    return folder


def other_environment() -> environments.EnvironmentsReport:
    """A deployment with another numpy, half precision and a step of its own."""
    served = facts(
        "candidate",
        image="registry.example/serve:3",
        python="3.9.2",
        packages={"numpy": "1.26.4", "pip": "23", "onnxruntime": "1.20"},
        steps=[step("decode", "served:decode"), step("scale")],
    )
    return _compared(served)


def one_environment() -> environments.EnvironmentsReport:
    """Both sides in one image."""
    return _compared(facts("candidate"))


def _compared(served) -> environments.EnvironmentsReport:
    given = environments.Inputs(reference=facts(), candidate=served, last_good=None)
    return environments.run(environments.EnvironmentsParams(), given, Path()).report


def brighter() -> InputsReport:
    """Real pictures are brighter, in another mode; nothing else is sure."""
    generator = np.random.default_rng(0)
    effects = {"brightness": 0.93, "red mean": 0.9, "fast detail": 0.24, "noise": 0.7}
    found = [_statistic(name, effect, generator) for name, effect in effects.items()]
    found.insert(1, _mode())
    found += [_statistic(f"figure {at}", 0.5, generator) for at in range(8)]
    return InputsReport(
        kind="pictures",
        statistics=found,
        num_sim=400,
        num_real=300,
        groups_sim=20,
        groups_real=15,
        alpha=0.05,
        can_tell=True,
        num_unreadable=2,
        summary=False,
    )


def _statistic(name, effect, generator):
    edges = np.linspace(0, 255, 17)
    shift = 130 * (effect - 0.5)
    sim, real = (
        np.histogram(np.clip(generator.normal(at, 30, 500), 0, 255), edges)[0] / 500
        for at in (110 - shift / 2, 110 + shift / 2)
    )
    far = abs(effect - 0.5) > 0.1
    return Statistic(
        name=name,
        mean_sim=110 - shift / 2,
        mean_real=110 + shift / 2,
        std_sim=30.0,
        std_real=30.0,
        effect=Estimate(value=effect, low=effect - 0.06, high=effect + 0.06, n=300, groups=15),
        distance=abs(effect - 0.5) * 1.6,
        p_value=0.0001 if far else 0.4,
        p_adjusted=0.0006 if far else 1.0,
        differs=far,
        histogram=Histogram(edges=list(edges), words=[], sim=list(sim), real=list(real)),
    )


def _mode():
    shares = Histogram(edges=[], words=["L", "RGB"], sim=[1.0, 0.0], real=[0.2, 0.8])
    return Statistic(
        name="mode",
        mean_sim=None,
        mean_real=None,
        std_sim=None,
        std_real=None,
        effect=None,
        distance=0.8,
        p_value=0.0001,
        p_adjusted=0.0006,
        differs=True,
        histogram=shares,
    )


def broke_in_between() -> SinceReport:
    """A step was replaced since it worked; what scales differently always did."""

    def about(value, half=0.04):
        return Estimate(value=value, low=value - half, high=value + half, n=600, groups=30)

    return SinceReport(
        changes=_compared(facts("candidate", steps=[step("decode", "served:decode"), step("scale")],
                                packages={"numpy": "1.26.4", "pip": "20"}, python="3.9.2"))
        .pairs[0].differences,
        not_compared=[],
        chain=[],
        first_differing_step="turn",
        why_no_chain=None,
        metric="accuracy",
        before=about(0.62),
        after=about(0.26),
        loss=about(0.36),
        agreement=about(0.41),
        why_no_metric=None,
        old=["step scale, its arguments"],
        new=["step turn"],
        summary="Since it worked, what changes numbers: numpy, step decode. The first step with "
        "another output: `turn`. On the same rows it loses 36.0 points (95 % CI 32.0 to 40.0, "
        "n = 600 in 30 groups).",
    )  # fmt: skip

"""Two sides' facts, one against the other: what differs, what changes numbers first."""

from collections.abc import Iterator, Mapping, Sequence

from stages.reports.collect import CollectReport, StepCode
from stages.reports.environments import WEIGHTS, Compared, Difference, Topic, Weight

COMPUTE = frozenset(
    [
        "numpy",
        "scipy",
        "pillow",
        "pillow-simd",
        "opencv-python",
        "opencv-python-headless",
        "opencv-contrib-python",
        "opencv-contrib-python-headless",
        "imageio",
        "scikit-image",
        "pywavelets",
        "torch",
        "torchvision",
        "torchaudio",
        "timm",
        "kornia",
        "albumentations",
        "onnxruntime",
        "onnxruntime-gpu",
        "onnx",
        "tensorflow",
        "tensorflow-cpu",
        "tflite-runtime",
        "keras",
        "jax",
        "jaxlib",
        "openvino",
        "tensorrt",
        "cupy",
        "numba",
        "mkl",
        "librosa",
        "soundfile",
        "soxr",
        "resampy",
        "pandas",
        "polars",
        "scikit-learn",
        "xgboost",
        "lightgbm",
        "catboost",
        "tokenizers",
        "transformers",
    ]
)
"""Packages that decode, resample, normalise or multiply: other versions may round otherwise."""
TOOLS = frozenset(["pip", "setuptools", "wheel", "pytest", "ruff", "mypy", "coverage", "uv"])
DIGITS = 12  # of a hash: enough to tell apart, short enough to read


def compare(left: CollectReport, right: CollectReport) -> Compared:
    """Return what differs between two sides, and what could not be compared."""
    not_compared: list[str] = []
    found = [
        *_environment(left, right, not_compared),
        *_weights(left, right, not_compared),
        *_precision(left, right, not_compared),
        *_model(left, right, not_compared),
        *_steps(left.steps, right.steps),
    ]
    order = {weight: at for at, weight in enumerate(WEIGHTS)}
    found.sort(key=lambda one: (order[one.weight], one.topic == "package", one.topic, one.what))
    return Compared(left=left.side, right=right.side, differences=found, not_compared=not_compared)


def _environment(
    left: CollectReport, right: CollectReport, not_compared: list[str]
) -> Iterator[Difference]:
    if left.packages is None or right.packages is None:
        lacking = next(one for one in (left, right) if one.packages is None)
        not_compared.append(f"packages: {lacking.side}: {lacking.why_no_packages}")
    elif _host(left) == _host(right) and left.packages == right.packages:
        image = f" `{left.image}`" if left.image == right.image else ""
        not_compared.append(
            f"environments: both sides ran in one{image}: the same Python, the same packages"
        )
    else:
        yield from _packages(left.packages, right.packages)
    if left.python and right.python and left.python != right.python:
        yield _differs("python", "python", left.python, right.python, "unlikely")
    for what, ours, theirs in (
        ("platform", left.platform, right.platform),
        ("machine", left.machine, right.machine),
    ):
        if ours and theirs and ours != theirs:
            yield _differs("platform", what, ours, theirs, "perhaps")


def _host(side: CollectReport) -> tuple[str | None, ...]:
    return side.python, side.platform, side.machine


def _packages(ours: Mapping[str, str], theirs: Mapping[str, str]) -> Iterator[Difference]:
    for name in sorted({*ours, *theirs}):
        left, right = ours.get(name), theirs.get(name)
        if left != right:
            yield _differs("package", name, left, right, _weight(name))


def _weight(package: str) -> Weight:
    if package in COMPUTE:
        return "numbers"
    return "unlikely" if package in TOOLS else "perhaps"


def _weights(
    left: CollectReport, right: CollectReport, not_compared: list[str]
) -> Iterator[Difference]:
    if not left.weights or not right.weights:
        lacking = next(one for one in (left, right) if not one.weights)
        why = "recorded" if lacking.recorded else "it has no files of weights"
        not_compared.append(f"weights: {lacking.side}: {why}")
        return
    if left.weights == right.weights:
        return
    if sorted(left.weights.values()) == sorted(right.weights.values()):
        ours, theirs = ", ".join(left.weights), ", ".join(right.weights)
        yield _differs("weights", "weights, renamed", ours, theirs, "unlikely")
        return
    for name in sorted({*left.weights, *right.weights}):
        mine, other = left.weights.get(name), right.weights.get(name)
        if mine != other:
            yield _differs("weights", f"weights {name}", _short(mine), _short(other), "numbers")


def _precision(
    left: CollectReport, right: CollectReport, not_compared: list[str]
) -> Iterator[Difference]:
    if left.parameters is None or right.parameters is None:
        lacking = next(one for one in (left, right) if one.parameters is None)
        not_compared.append(f"precision: {lacking.side}: {lacking.why_no_parameters}")
        return
    ours, theirs = left.parameters, right.parameters
    if set(ours.dtypes) != set(theirs.dtypes):
        yield _differs(
            "precision",
            "types of weights",
            ", ".join(ours.dtypes),
            ", ".join(theirs.dtypes),
            "numbers",
        )
    if ours.values != theirs.values:
        yield _differs(
            "precision", "number of parameters", f"{ours.values}", f"{theirs.values}", "numbers"
        )


def _model(
    left: CollectReport, right: CollectReport, not_compared: list[str]
) -> Iterator[Difference]:
    for part in sorted({*left.code, *right.code}):
        mine, other = left.code.get(part), right.code.get(part)
        says = (mine.says if mine else None, other.says if other else None)
        if says[0] != says[1]:
            yield _differs("model", part, *says, "numbers")
        elif mine and other and mine.sha256 != other.sha256:
            yield _differs(
                "model", f"{part}, its code", _short(mine.sha256), _short(other.sha256), "perhaps"
            )
    ours, theirs = left.model, right.model
    if ours is None or theirs is None:
        lacking = next(one for one in (left, right) if one.model is None)
        not_compared.append(f"the model's object: {lacking.side}: {lacking.why_no_model}")
        return
    if ours.class_name != theirs.class_name:
        yield _differs("model", "class", ours.class_name, theirs.class_name, "perhaps")
    if ours.training != theirs.training:
        yield _differs(
            "model", "training mode as built", f"{ours.training}", f"{theirs.training}", "perhaps"
        )
    settings = (ours.config or {}, theirs.config or {})
    for key in sorted({*settings[0], *settings[1]}):
        if settings[0].get(key) != settings[1].get(key):
            yield _differs(
                "model", f"config {key}", settings[0].get(key), settings[1].get(key), "perhaps"
            )


def _steps(ours: Sequence[StepCode], theirs: Sequence[StepCode]) -> Iterator[Difference]:
    """Pair steps by name; of those alone on one side, by equal code."""
    left, right = ({step.name: step for step in steps} for steps in (ours, theirs))
    for name in [step.name for step in ours if step.name in right]:
        yield from _step(left[name], right[name])
    alone = [step for step in theirs if step.name not in left]
    for step in (step for step in ours if step.name not in right):
        twin = next((one for one in alone if _content(one) == _content(step)), None)
        if twin is not None:
            alone.remove(twin)
            yield _differs("step", f"step {step.name}, renamed", step.name, twin.name, "unlikely")
        else:
            yield _differs("step", f"step {step.name}", step.says, None, "numbers")
    for step in alone:
        yield _differs("step", f"step {step.name}", None, step.says, "numbers")


def _step(ours: StepCode, theirs: StepCode) -> Iterator[Difference]:
    what = f"step {ours.name}"
    if ours.says != theirs.says:
        yield _differs("step", what, ours.says, theirs.says, "numbers")
    elif ours.sha256 != theirs.sha256:
        yield _differs(
            "step", f"{what}, its code", _short(ours.sha256), _short(theirs.sha256), "perhaps"
        )
    if ours.args != theirs.args:
        yield _differs("step", f"{what}, its arguments", ours.args, theirs.args, "numbers")


def _content(step: StepCode) -> tuple[str, str, str | None]:
    return step.says, step.args, step.sha256


def _short(digest: str | None) -> str | None:
    return None if digest is None else digest[:DIGITS]


def _differs(
    topic: Topic, what: str, left: str | None, right: str | None, weight: Weight
) -> Difference:
    return Difference(topic=topic, what=what, left=left, right=right, weight=weight)

"""Facts of a side as `collect` would report them, and what the late stages make of them."""

from stages.reports.collect import Code, CollectReport, ModelFacts, Parameters, StepCode

HASH = "ab" * 32


def facts(side="reference", **change):
    given = {
        "side": side,
        "image": "torch",
        "recorded": False,
        "python": "3.11.2",
        "platform": "Linux, glibc 2.36",
        "machine": "x86_64",
        "packages": {"numpy": "2.4.6", "rich": "15", "pip": "26"},
        "why_no_packages": None,
        "weights": {"weights.safetensors": HASH},
        "parameters": Parameters(tensors=2, values=100, dtypes={"float32": 100}),
        "why_no_parameters": None,
        "model": ModelFacts(class_name="net.Net", training=True, config={"width": "8"}),
        "why_no_model": None,
        "code": {"model": code("net:build")},
        "steps": [step("decode"), step("scale")],
    }
    return CollectReport(**(given | change))


def code(says):
    return Code(says=says, file="net.py", sha256=HASH)


def step(name, says=None, args="{}", sha256=HASH):
    return StepCode(
        name=name, says=says or f"steps:{name}", args=args, file="steps.py", sha256=sha256
    )

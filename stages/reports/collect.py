"""What a side's environment, weights, model and steps are."""

from pydantic import Field

from stages.stage import At, Report, Share

COLLECT = At("artifacts/collect-{side}/report.json")


class Parameters(Report):
    """The numbers of a model's weights."""

    tensors: int
    values: int
    dtypes: dict[str, int]  # type -> how many of the values
    digest: str | None = None  # of the numbers, whatever file or order they come in
    samples: list[list[float]] = Field(default_factory=list)  # of some tensors, some numbers
    sizes: list[int] = Field(default_factory=list)  # of these tensors
    on_grid: Share | None = None  # of the weights: in tensors of few, evenly spaced levels
    from_file: Share | None = None  # of the built model's numbers: in the files of weights too


class ModelFacts(Report):
    """The object that the case's code built."""

    class_name: str
    training: bool | None  # as it was built, before we set it; None where it has no such flag
    config: dict[str, str] | None  # key -> its value as JSON; None where it has none


class Code(Report):
    """What is called, and the file that defines it; helpers that the file imports count apart."""

    says: str  # module:function, or the words of the command
    file: str | None  # relative to its code folder; None where it is not the case's
    sha256: str | None


class StepCode(Code):
    """One step with its code."""

    name: str
    args: str  # as JSON, keys sorted


class CollectReport(Report):
    """Facts of one side; what is not known says why."""

    side: str
    image: str
    recorded: bool
    python: str | None
    platform: str | None
    machine: str | None
    packages: dict[str, str] | None
    why_no_packages: str | None
    weights: dict[str, str]  # file -> sha256
    parameters: Parameters | None
    why_no_parameters: str | None
    model: ModelFacts | None
    why_no_model: str | None
    code: dict[str, Code]  # model, postprocess
    steps: list[StepCode]

"""All mitigations that a case lets be tried: of outputs, of the model, of what is served."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.calibration import taken_as
from sides.case_code import CaseCodeError, calling, load
from sides.model import as_function, build
from stages import mitigate_model, mitigate_outputs
from stages.answers import Side
from stages.dataset import UNLABELLED
from stages.mitigate_outputs import Given
from stages.mitigate_rows import Answers, CannotTry, Judging, Tried, loading, text
from stages.mitigate_served import Other, Safe
from stages.probe_targets import Classes, Numbers, classes, numbers
from stages.reports.mitigate import ABSTAIN, Kind
from stages.reports.parity import ParityReport
from stages.reports.runtime import RuntimeReport

PRECISION = ("half_precision_overflow", "reduced_precision", "quantised_weights")
ASKED_HERE = ("torch", "base")  # images whose models run in this stage's own


class Stated(Protocol):
    """The params and inputs of the stage, see there."""

    def __getattr__(self, name: str) -> Any:
        """Any of them."""


@dataclass(frozen=True, kw_only=True)
class Attempts:
    """What can be tried, and what each answers."""

    params: Stated | Any
    inputs: Stated | Any
    judging: Judging

    @cached_property
    def candidate(self) -> Side:
        """What the candidate answered."""
        return Side(self.inputs.candidate_outputs)

    @cached_property
    def reference(self) -> Side:
        """What the reference answered."""
        return Side(self.inputs.reference_outputs)

    @cached_property
    def labels(self) -> Answers:
        """What the candidate answers as it is deployed; tensors that it refuses are all wrong."""
        nothing = UNLABELLED if self.params.classes else np.nan
        found = self.judging.of(self.candidate, "real-candidate", "sim")
        return self.judging.each(
            lambda name: (
                np.full(len(self.judging.rows[name]), nothing)
                if found[name] is None and name != "sim"
                else found[name]
            )
        )

    @cached_property
    def given(self) -> Given:
        """What maps of outputs are fitted to."""
        return Given(
            judging=self.judging,
            labels=self.labels,
            raw=self.judging.of(self.candidate, "real-candidate", "sim", raw=True),
            columns=getattr(self._targets(), "columns", None),
            classes=self.params.classes,
        )

    def tried(self) -> tuple[list[Tried], dict[Kind, str]]:
        """Try all; what cannot be tried says why."""
        made, failed = list[Tried](), dict[Kind, str]()
        for kind, attempt in self._all():
            try:
                made.append(attempt())
            except (CannotTry, CaseCodeError) as error:
                failed[kind] = str(error).splitlines()[0]
        return made, failed

    def _all(self) -> Iterator[tuple[Kind, Callable[[], Tried]]]:
        """Yield what changes least first: of two that answer alike, the first is told."""
        steps, *others = self._others()
        yield steps.kind, steps.tried
        for kind, of_model in mitigate_model.attempts():
            yield kind, lambda of_model=of_model: of_model(self.built)  # type: ignore[misc]
        for kind, of_outputs in mitigate_outputs.attempts(self.given):
            yield kind, lambda of_outputs=of_outputs: of_outputs(self.given)  # type: ignore[misc]
        for other in others:
            yield other.kind, other.tried

    @cached_property
    def built(self) -> mitigate_model.Built:
        """The candidate's model, asked here."""
        params, inputs = self.params, self.inputs
        if params.model is None or not isinstance(params.model, str):
            raise CannotTry("The candidate's model is no function or file that can be asked here.")
        if params.image not in ASKED_HERE or params.model == "onnx":
            raise CannotTry(f"The candidate's model runs in the image {params.image}, not here.")
        own = {"sim": inputs.candidate_sim, "real": inputs.candidate_real}
        if not len(np.load(own["real"], mmap_mode="r")):
            raise CannotTry("No tensors of the candidate were logged.")
        weights = inputs.weights or inputs.model
        model = build(params.model, "candidate.model", weights)
        return mitigate_model.Built(
            judging=self.judging,
            model=model,
            ask=as_function(model, "candidate.model", "cpu"),
            labels=self._labels_of(),
            targets=self._targets(),
            own=own,
            reference={"sim": inputs.reference_sim, "real": inputs.reference_real},
            parity=self._difference(),
            accept=params.accept,
        )

    def _labels_of(self) -> Callable[[NDArray[Any]], NDArray[Any]]:
        stated = self.params.postprocess
        if not stated:
            numbered = self.params.classes is None
            return lambda raw: raw[:, 0] if numbered else raw.argmax(axis=1)
        function = load(stated, "candidate.postprocess")

        def labels(raw: NDArray[Any]) -> NDArray[Any]:
            with calling("candidate.postprocess"):
                return np.asarray(function(raw.copy()))

        return labels

    def _targets(self) -> Classes | Numbers | None:
        metric, stated = self.judging.metric, self.params.postprocess
        if self.params.model is None:  # a recording: its largest output, if it says so itself
            return None
        if self.params.classes:
            return classes(metric, self.params.classes, stated)
        return numbers(metric, stated)

    def _difference(self) -> str | None:
        parity = self.inputs.parity
        if not isinstance(parity, ParityReport):
            return ""
        if parity.passed:
            return None
        named = (one.transform.name for one in parity.own if one.transform and not one.equal)
        return next(named, "")

    def _others(self) -> Iterator[Other]:
        """Tell what could be served in the candidate's place: its parts first."""
        steps = [step.model_dump(mode="json") for step in self.params.reference_steps]
        yield Other(
            kind="reference_steps",
            title="The reference's preprocessing in front of the candidate's model",
            acts_on="steps",
            answers={
                **self.judging.of(self.candidate, "real-reference", None),
                "sim": self._on_reference_sim(),
            },
            what={"serve": "reference", "part": "steps", "steps": steps},
        )
        yield Other(
            kind="reference_model",
            title=f"{self._forced()}The reference's model behind the candidate's preprocessing",
            acts_on="model",
            answers=self.judging.of(self.reference, "real-candidate", self._sim_if_alike()),
            what={"serve": "reference", "part": "model"},
        )
        yield Other(
            kind="reference_side",
            title="The reference in the candidate's place",
            acts_on="deployment",
            answers=self.judging.of(self.reference, "real-reference", "sim"),
            what={"serve": "reference"},
        )
        if self.inputs.last_good_outputs is not None:
            yield Other(
                kind="last_good",
                title="Back to what worked before",
                acts_on="deployment",
                answers=self._last_good(),
                what={"serve": "last_good"},
            )

    def _forced(self) -> str:
        """Say that it is the precision that is restored, where that is what broke."""
        runtime = self.inputs.runtime
        seen = runtime.suspects if isinstance(runtime, RuntimeReport) else []
        return "FP32 forced. " if any(one.kind in PRECISION for one in seen) else ""

    def _last_good(self) -> Answers:
        return self.judging.of(Side(self.inputs.last_good_outputs), "real-last_good", "sim")

    def _sim_if_alike(self) -> str | None:
        """Name the reference's answers to simulation where both sides prepare it alike."""
        return "sim" if self._difference() is None else None

    def _on_reference_sim(self) -> NDArray[Any] | None:
        """Return what the candidate's model answers to simulation as the reference prepares it."""
        every = self.judging.rows["sim"]
        ours, theirs = (
            self.judging.of(side, "real-reference", None)
            for side in (self.reference, self.candidate)
        )
        same = all(
            ours[name] is not None and np.array_equal(ours[name], theirs[name])  # type: ignore[arg-type]
            for name in ("fit", "prove")
        )
        if same:  # the same model, on all that is known
            return self.reference.labels("sim", every)
        try:
            return self.built.on_reference("sim")
        except (CannotTry, CaseCodeError):
            return None

    def confidence(self) -> Answers:
        """Return the candidate's confidence; None where nobody knows it."""
        nothing: Answers = {"fit": None, "prove": None, "sim": None}
        if self.params.classes is None or self.given.raw["fit"] is None:
            return nothing
        try:
            return mitigate_outputs.confidence(self.given)
        except CannotTry:
            return nothing

    def safe(self) -> Safe:
        """Return the ways to serve right now."""
        others = {}
        if self.inputs.last_good_outputs is not None:
            others["what worked before"] = self._last_good()
        reference = self.judging.of(self.reference, "real-reference", "sim")
        if not np.array_equal(reference["prove"], self.labels["prove"]):  # type: ignore[arg-type]
            others["the reference"] = reference
        return Safe(
            judging=self.judging,
            labels=self.labels,
            confidence=dict(self.confidence()),
            others=others,
            wanted=self.params.answered_accuracy,
            num_draws=self.params.resamples,
            seed=self.params.seed,
        )

    def abstain_files(self, threshold: float | None) -> dict[str, dict[str, Any]]:
        """Write the confidence below which a person decides."""
        if threshold is None:
            return {}
        raw = self.given.raw["fit"]
        lines = loading("abstain.json", 'answer = confidence >= made["threshold"]')
        read = "" if raw is None else taken_as(np.asarray(raw))
        return {
            ABSTAIN: {
                "abstain.json": text(threshold=threshold, confidence=f"the largest of: {read}"),
                "load.txt": "\n".join([*lines, ""]).encode(),
            }
        }

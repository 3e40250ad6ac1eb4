"""Both sides' raw outputs and labels of the same tensors, and what each part of the side costs."""

from typing import TYPE_CHECKING, Any

import numpy as np

from assay.intervals import bootstrap_difference
from assay.label_map import label_map, right_once_renamed
from assay.output_relation import Relation, relation
from assay.runtime_parity import narrowed
from assay.scores import LOSSES, scores
from stages.answers import Rows, Side, rows_of
from stages.figures import estimate
from stages.metric import Metric
from stages.reports.runtime import OutputPair, SideInvariance
from stages.reports.suspect import Suspect
from stages.rule_suspects import ACTIONS, form_suspects, read_probe, rule_suspects
from stages.runtime_facts import Layers
from stages.runtime_suspects import Seen, model_suspects
from stages.runtime_weights import Weights, halves
from stages.stage import Estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stages.runtime import Inputs, RuntimeParams

SHARED, OWN = "real-reference", "real-candidate"
ROLES = ("diagnose", "unlabelled")
LEAST_LABELS = 20  # to match names by what is right
GAINS = 0.3  # of the rows, by other names: then the rest is another fault


class Answers:
    """Read once; every figure is of rows of role diagnose, or without a label."""

    def __init__(self, inputs: "Inputs", params: "RuntimeParams") -> None:
        self._params, self._inputs = params, inputs
        self._metric = Metric(params.metric)
        task = self._metric.task
        self._rows = rows_of(inputs.roles, "real", ROLES, labelled=False, task=task)
        self._labelled = rows_of(inputs.roles, "real", "diagnose", task=task)
        self._reference = Side(inputs.reference_outputs)
        self._candidate = Side(inputs.candidate_outputs)
        ours = self._reference.raw(SHARED, self._rows)
        theirs = self._candidate.raw(SHARED, self._rows)
        self.why_not: str | None = None
        self.pair: OutputPair | None = None
        self._relation: Relation | None = None
        self._not_finite = (0, 0)
        if ours is None or theirs is None or not len(ours):
            told = inputs.candidate if theirs is None else inputs.reference
            self.why_not = told.absent.get(SHARED) or told.errors.get(SHARED) or "There are none."
            return
        self._not_finite = _not_finite(ours), _not_finite(theirs)
        self._relation = relation(ours, theirs, boxes=task == "regression")
        self.pair = self._paired(ours, theirs, self._relation)

    def _paired(self, ours: "NDArray[Any]", theirs: "NDArray[Any]", found: Relation) -> OutputPair:
        labels = (
            self._reference.labels(SHARED, self._rows),
            self._candidate.labels(SHARED, self._rows),
        )
        share = None
        if labels[0] is not None and labels[1] is not None and labels[0].dtype.kind != "f":
            share = float(np.mean(labels[0] != labels[1]))
        return OutputPair(
            rows=len(ours),
            relative_error=found.before,
            share_labels=share,
            relation=found.name,
            says=found.says,
            precision=narrowed(ours, theirs),
        )

    def suspects(
        self,
        layers: Layers,
        sides: tuple[SideInvariance, SideInvariance],
        weights: Weights,
    ) -> list[Suspect]:
        """Suspect the model, the form of its outputs, and the rule."""
        seen = Seen(
            steps=layers.steps,
            pairs=layers.pairs,
            sides=sides,
            outputs=self.pair,
            weights=weights,
            half_types=[
                one
                for one in halves(self._inputs.candidate_facts)
                if one not in halves(self._inputs.reference_facts)
            ],
            hidden_norms=layers.hidden_norms,
            not_finite=self._not_finite,
            beyond_chance=self._beyond_chance(),
            tolerance=self._params.tolerance,
            moves=self._params.moves,
            cost=self._cost_of_model(),
        )
        found = model_suspects(seen)
        if self._relation is not None and not found:
            found += form_suspects(self._relation, self._cost_of_model(), len(self._rows))
        return found + self._rules()

    def _rules(self) -> list[Suspect]:
        """Compare the rules on raw outputs that both were given; else labels with what is right."""
        reference_made = Side(self._inputs.reference_labels)
        candidate_made = Side(self._inputs.candidate_labels)
        for name in (SHARED, OWN):
            for ours, theirs in (
                (self._reference.labels(name, self._rows), candidate_made.labels(name, self._rows)),
                (reference_made.labels(name, self._rows), self._candidate.labels(name, self._rows)),
            ):
                if ours is not None and theirs is not None:
                    probes = (
                        read_probe(self._inputs.reference_labels),
                        read_probe(self._inputs.candidate_labels),
                    )
                    found = rule_suspects(ours, theirs, probes, self._cost_of_rule())
                    if found:
                        return found
        return self._recorded_names()

    def _recorded_names(self) -> list[Suspect]:
        """Match a recording's labels with what is right: its rule cannot be asked."""
        rows = self._labelled
        if self._inputs.candidate.model != "recorded" or self._metric.task != "classification":
            return []
        given = self._candidate.labels(OWN, rows)
        if given is None or len(rows) < LEAST_LABELS:
            return []
        known = given >= 0
        found = label_map(rows.labels[known], given[known], least=0.0)
        if found is None:
            return []
        renamed = right_once_renamed(rows.labels[known], given[known], rows.groups[known])
        if renamed - found.agreement < GAINS:
            return []
        share = f"{100 * found.agreement:.3g} % of {int(known.sum())} recorded labels are right, "
        lines = [share + f"{100 * renamed:.3g} % once they are renamed as other rows ask for."]
        return [
            Suspect(
                component="postprocessing",
                kind="label_map",
                title=f"The recorded labels name classes otherwise: {found.says}.",
                where="postprocess",
                explained=renamed,
                evidence=lines,
                action=ACTIONS["label_map"],
            )
        ]

    def _beyond_chance(self) -> float | None:
        """Return Cohen's kappa of both sides' labels on the shared tensors."""
        ours = self._reference.labels(SHARED, self._rows)
        theirs = self._candidate.labels(SHARED, self._rows)
        if ours is None or theirs is None or ours.dtype.kind == "f" or not len(ours):
            return None
        classes = np.unique(np.concatenate([ours, theirs]))
        chance = float(sum(np.mean(ours == one) * np.mean(theirs == one) for one in classes))
        return None if chance >= 1 else (float(np.mean(ours == theirs)) - chance) / (1 - chance)

    def _cost_of_model(self) -> Estimate | None:
        """Exchange the model alone, on the candidate's tensors under the candidate's rule."""
        made = Side(self._inputs.candidate_labels)
        exchanged = made.labels(OWN, self._labelled)
        given = self._candidate.labels(OWN, self._labelled)
        if exchanged is None or given is None:
            exchanged = self._reference.labels(SHARED, self._labelled)
            given = self._candidate.labels(SHARED, self._labelled)
        return self._cost(exchanged, given, self._labelled)

    def _cost_of_rule(self) -> Estimate | None:
        """Exchange the rule alone, on the candidate's own outputs."""
        exchanged = Side(self._inputs.reference_labels).labels(OWN, self._labelled)
        given = self._candidate.labels(OWN, self._labelled)
        if exchanged is None or given is None:
            exchanged = self._reference.labels(SHARED, self._labelled)
            given = Side(self._inputs.candidate_labels).labels(SHARED, self._labelled)
        return self._cost(exchanged, given, self._labelled)

    def _cost(self, exchanged: Any, given: Any, rows: Rows) -> Estimate | None:
        if exchanged is None or given is None or not len(rows):
            return None
        metric = self._params.metric
        found = bootstrap_difference(
            scores(metric, given, rows.labels),
            scores(metric, exchanged, rows.labels),
            rows.groups,
            self._params.resamples,
            self._params.seed,
        )
        return estimate(found.within(*LOSSES[metric]))


def _not_finite(raw: "NDArray[Any]") -> int:
    return int((~np.isfinite(raw).all(axis=1)).sum())

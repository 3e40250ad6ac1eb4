"""What is suspected of a model: from its layers, arrangements, weights and outputs."""

from dataclasses import dataclass

from assay.runtime_parity import ROUNDED, Step, beyond_half, first_difference, overflow
from stages.reports.runtime import LayerPair, OutputPair, SideInvariance
from stages.reports.suspect import Suspect
from stages.runtime_facts import moved
from stages.runtime_weights import Weights
from stages.stage import Estimate

CHANCE = 0.05  # agreement beyond chance, below which a model has learned nothing
FAR = 0.3  # of a layer's size: other weights, not another rounding
HEAVY = ("Conv", "Linear", "Gemm", "MatMul", "LSTM", "GRU", "Embedding", "Norm")
"""Operators that hold weights: where one of these differs first, its weights may."""

RESTORE = "serve the reference's file of weights through the reference's runtime"


@dataclass(frozen=True, kw_only=True)
class Seen:
    """Everything that speaks about the candidate's model."""

    steps: list[Step]
    pairs: list[LayerPair]
    sides: tuple[SideInvariance, SideInvariance]
    outputs: OutputPair | None
    weights: Weights
    half_types: list[str]
    hidden_norms: bool
    not_finite: tuple[int, int]  # rows of the shared set, reference and candidate
    beyond_chance: float | None  # agreement of the labels beyond chance; None: not known
    tolerance: float
    moves: float
    cost: Estimate | None

    @property
    def first(self) -> Step | None:
        """The first layer that differs."""
        return first_difference(self.steps, self.tolerance)

    def suspect(self, kind: str, title: str, evidence: list[str], action: str) -> Suspect:
        """Tell one suspicion with the model's cost."""
        first = self.first
        told = [*evidence, *([_first_line(first)] if first else [])]
        fact = kind in ("train_mode", "weights_not_loaded", "wrong_weights")
        return Suspect(
            component="model",
            kind=kind,
            title=title,
            where=None if first is None else first.name,
            cost=self.cost,
            explained=1.0 if fact and self.weights.state != "unknown" else None,
            evidence=told,
            action=action,
        )


def _first_line(first: Step) -> str:
    if first.error is None:
        return f"`{first.name}` is the first layer that differs: not finite, or of another shape."
    text = f"`{first.name}` is the first layer that differs"
    return f"{text}: by {100 * first.error:.2g} % of its size, given the same tensors."


def model_suspects(seen: Seen) -> list[Suspect]:
    """Suspect what the model does otherwise; the first that fits, as the others would follow."""
    found = _arrangement(seen) or _overflow(seen)
    if found:
        return [found]
    if seen.outputs is None or seen.outputs.relation not in ("close", "unknown", "unlike"):
        return []  # equal, or the outputs' form says it all
    narrow = _precision(seen)
    return [narrow or _other_weights(seen) or _operator(seen) or _unknown(seen)]


def _arrangement(seen: Seen) -> Suspect | None:
    """Suspect a layer left in training mode, or answers that depend on the batch."""
    reference, candidate = seen.sides
    if not candidate.moved or reference.moved:
        return None
    names = {one.name for one in candidate.arrangements if moved(one, seen.moves)}
    errors = [one.error for one in candidate.arrangements if one.error]
    lines = [_moved_line(candidate, seen.moves), *errors]
    added = [one for one in candidate.training if one not in reference.training]
    in_training = bool(added) or "twice" in names or any("training" in one for one in errors)
    if seen.weights.state == "quantised" and not in_training:
        return None  # quantisers of activations take their scale from the batch: by design
    if in_training or seen.hidden_norms:
        what = added[0] if added else "dropout or batch norm"
        title = f"The candidate answers in training mode: {what}."
        lines += [f"In training mode: {', '.join(added)}."] if added else []
        return seen.suspect("train_mode", title, lines, "put the model into evaluation mode")
    title = "The candidate's answer to a sample depends on what else is in the batch."
    return seen.suspect("batch_dependent", title, lines, "serve one sample at a time")


def _moved_line(side: SideInvariance, moves: float) -> str:
    told = [
        f"{one.name}: {100 * one.largest:.0f} % of the rows' spread, "
        f"{100 * (one.changed or 0):.0f} % other labels"
        for one in side.arrangements
        if one.largest is not None and moved(one, moves)
    ]
    return f"The same {side.rows} rows asked again ({'; '.join(told) or 'they fail'})."


def _overflow(seen: Seen) -> Suspect | None:
    """Suspect numbers that a half cannot hold."""
    layer = overflow(seen.steps)
    if layer is None and seen.not_finite[1] <= seen.not_finite[0]:
        return None
    large = beyond_half(seen.steps)
    halved = seen.half_types or seen.weights.state == "rounded"
    halved = halved or (seen.outputs is not None and seen.outputs.precision == "float16")
    lines = []
    if seen.not_finite[1]:
        lines.append(f"The candidate's outputs are not finite on {seen.not_finite[1]} rows.")
    if layer is not None:
        ours = layer.max_abs[0]
        size = f"; the reference's reach {ours:.3g} there" if ours is not None else ""
        lines.append(
            f"`{layer.name}` holds {layer.not_finite[1]} values that are no numbers{size}."
        )
    if large is not None:
        lines.append(f"`{large.name}` exceeds 65504 in the reference: float16 cannot hold it.")
    if not (large or halved):
        title = "The candidate's numbers overflow where the reference's do not."
        return seen.suspect("unknown", title, lines, RESTORE)
    title = "The candidate's layers overflow in half precision."
    action = "run the model in float32, or in bfloat16, whose range is that of float32"
    return seen.suspect("half_precision_overflow", title, lines, action)


def _precision(seen: Seen) -> Suspect | None:
    """Suspect a narrower number format: only where the error is of the size that it makes."""
    outputs = seen.outputs
    error = outputs.relative_error if outputs else None
    if outputs is None or error is None or seen.weights.state in ("different", "not_loaded"):
        return None
    if seen.weights.state == "quantised":
        title = f"The candidate's weights are quantised: outputs differ by {100 * error:.2g} %."
        lines = [seen.weights.says]
        return seen.suspect("quantised_weights", title, lines, "serve the weights in float32")
    kind = outputs.precision or next(iter(seen.half_types), None)
    # Outputs may be too few to tell, or stand behind a sum in float32: then the layer speaks.
    kind = kind or (seen.first.narrow if seen.first else None)
    if kind is None and seen.weights.state == "rounded":
        kind = "bfloat16" if "bfloat16" in seen.weights.says else "float16"
    # So few bits are no chance whatever they cost; a whole format may be what a fault leaves.
    if kind is None or error > ROUNDED.get(kind, error):
        return None
    title = f"The candidate computes in {kind}: outputs differ by {100 * error:.2g} %."
    return seen.suspect("reduced_precision", title, [seen.weights.says], "run it in float32")


def _other_weights(seen: Seen) -> Suspect | None:
    """Suspect weights that are others, or were never loaded."""
    lines = [seen.weights.says]
    lost = seen.beyond_chance is not None and seen.beyond_chance < CHANCE
    if lost:
        lines.append("Its labels agree with the reference's no better than chance.")
    if seen.weights.state == "not_loaded":
        title = "The candidate's weights were not loaded: it answers as an untrained model."
        return seen.suspect("weights_not_loaded", title, lines, RESTORE)
    if seen.weights.state == "different":
        title = "The candidate serves other weights."
        return seen.suspect("wrong_weights", title, lines, RESTORE)
    first = seen.first
    if seen.weights.state == "same" or first is None:
        return None
    heavy = any(word in operator for operator in _operators(seen, first) for word in HEAVY)
    if heavy and first.error is not None and first.error > FAR and not _variant(seen):
        kind = "weights_not_loaded" if lost else "wrong_weights"
        title = f"The candidate's weights are others from `{first.name}` on."
        return seen.suspect(kind, title, lines, RESTORE)
    return None


def _operators(seen: Seen, first: Step) -> list[str]:
    return next((pair.operator for pair in seen.pairs if pair.layer == first.name), [])


def _variant(seen: Seen) -> LayerPair | None:
    """Return the first layer that the runtimes write differently, up to the first that differs."""
    first = seen.first
    for pair in seen.pairs:
        ours, theirs = pair.operator
        if ours and theirs and ours != theirs and not _same_call(ours, theirs):
            return pair
        if first is not None and pair.layer == first.name:
            return None
    return None


def _same_call(ours: str, theirs: str) -> bool:
    """Tell whether only the wrapping differs: an export names its modules otherwise."""
    return "(" not in ours or "(" not in theirs or "InterpreterModule" in ours + theirs


def _operator(seen: Seen) -> Suspect | None:
    """Suspect another operator: the weights are the same, and one layer differs first."""
    variant, first = _variant(seen), seen.first
    if variant is not None:
        ours, theirs = variant.operator
        title = f"`{variant.layer}` is another operator in the candidate."
        lines = [f"Reference: {ours}. Candidate: {theirs}.", seen.weights.says]
        return seen.suspect("operator_variant", title, lines, RESTORE)
    if first is None and seen.weights.state != "same":
        return None
    if first is not None and first.moved:
        title = f"The values of `{first.name}` stand in other places in the candidate."
        return seen.suspect("unknown", title, [seen.weights.says], RESTORE)
    where = f" from `{first.name}` on" if first else ""
    title = f"The candidate computes otherwise{where}."
    return seen.suspect("operator_variant", title, [seen.weights.says], RESTORE)


def _unknown(seen: Seen) -> Suspect:
    error = seen.outputs.relative_error if seen.outputs else None
    by = "" if error is None else f" by {100 * error:.2g} % of the outputs' spread"
    title = f"The candidate's model answers otherwise to the same tensors{by}."
    return seen.suspect("unknown", title, [seen.weights.says], RESTORE)

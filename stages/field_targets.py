"""Wrong targets of a regression: a few far outside, or all of them moved."""

import numpy as np

from assay.gains import paired_gain
from assay.label_noise import doubt_targets, median_of_neighbours
from assay.scores import scores
from stages.answers import Side, rows_of
from stages.field_experiments import Experiments
from stages.field_labels import Answers, features_of
from stages.field_suspects import ACTIONS
from stages.figures import estimate
from stages.reports.suspect import Suspect

MOVED = 1.0  # in simulation's spread of the misses
AS_NARROW = 1.5  # ratio of the spreads, real over simulated
LEAST = 10


def targets(found: Answers, experiments: Experiments, least: float) -> Suspect | None:
    """Suspect the targets where the answers' misses are as in simulation but for that."""
    side = Side(found.outputs)
    rows = rows_of(found.roles, "real", ("diagnose", "fit"), task="regression")
    features, rows = features_of(found, "real", rows)
    sim = rows_of(found.roles, "sim", None, task="regression")
    said, ours = side.labels("real-reference", rows), side.labels("sim", sim)
    if said is None or ours is None or len(rows) < LEAST:
        return None
    neighbours = median_of_neighbours(features, rows.labels, rows.groups)
    doubted = doubt_targets(sim.labels - ours, rows.labels - said, neighbours, rows.labels)
    if doubted.spread_ratio > AS_NARROW:
        return None
    judged = experiments.base["real"]
    metric = experiments.metric
    moved = abs(doubted.offset_share) > MOVED
    if moved:
        mended = scores(metric.name, judged.answers + doubted.offset, judged.rows.labels)
        title = f"targets of real rows lie {doubted.offset:.3g} from where simulation has them"
    else:
        outlying = np.isin(judged.rows.positions, rows.positions[doubted.outlying])
        wanted = np.where(outlying, judged.answers, judged.rows.labels)
        mended = np.where(outlying, scores(metric.name, wanted, wanted), judged.scores)
        title = f"{int(doubted.outlying.sum())} of {len(rows)} targets of real rows are outlying"
    gain = paired_gain(judged.scores, mended, judged.rows.groups, is_share=False)
    if gain.interval.low <= 0 or gain.interval.value < least:
        return None
    return Suspect(
        component="data",
        kind="label_noise",
        title=title,
        where="targets",
        cost=estimate(gain.interval),
        # Targets that are put where the answers are regain in any case: chance has no say in it.
        p_value=gain.p_value if moved else None,
        explained=0.8 if moved else 0.9,
        evidence=[f"But for that, misses spread {doubted.spread_ratio:.2g} times as wide."],
        action=ACTIONS["label_noise"],
        questions=["Who measured the targets of real rows, and with what?"],
    )

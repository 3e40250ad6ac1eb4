"""How many labelled real rows would decide, given how rows come in groups."""

from typing import TYPE_CHECKING

import numpy as np

from assay.power import Clusters, Needed, clusters_of, rows_to_reach, rows_to_see

FAR = 100  # times the rows at hand: nobody collects so many

if TYPE_CHECKING:
    from assay.intervals import Interval
    from assay.scores import Scores
    from stages.answers import Rows
    from stages.metric import Metric


def clusters(like: "Scores | None", like_rows: "Rows", real: "Rows") -> Clusters | None:
    """Take how alike rows of one group are from rows with labels, how large groups are from real.

    Returns:
        None where real rows are no groups, or nothing shows how alike their rows are.
    """
    num_groups = len(np.unique(real.groups))
    if like is None or not 1 < num_groups < len(real):
        return None
    found = clusters_of(like, like_rows.groups)
    return found and Clusters(size=len(real) / num_groups, icc=found.icc)


def at_least_rows(needed: Needed | None, fewest: int) -> Needed | None:
    """Ask for no fewer rows than a criterion does.

    >>> str(at_least_rows(Needed(rows=39), 50))
    '50 rows'
    """
    if needed is None or needed.rows >= fewest:
        return needed
    groups = needed.groups and -(-needed.groups * fewest // needed.rows)
    return Needed(rows=fewest, groups=groups)


def would(needed: Needed | None, does: str, at_hand: int, rows: str = " with labels") -> str:
    """Say what labels would answer one question; nothing where nobody knows.

    >>> would(Needed(rows=207), "show it", 40), would(Needed(rows=83601), "show it", 440)[:29]
    ('About 207 rows with labels would show it.', 'Far more rows than can be had')
    """
    if needed is None:
        return ""
    # One question, one number: the gate and the verdict both ask here.
    if needed.rows > FAR * max(at_hand, 1):
        return f"Far more rows than can be had would {does}: the difference is too small to see."
    return f"About {needed}{rows} would {does}."


def to_see(
    drop: float,
    metric: "Metric",
    sim: "tuple[Interval, Scores, Rows] | None",
    real: "Rows",
) -> Needed | None:
    """Say what would show a drop below validation.

    Args:
        drop: in the metric.
        metric: of the levels.
        sim: the level on validation, its scores and its rows.
        real: rows as they come in the field.
    """
    if sim is None:
        return None
    level, scores, rows = sim
    deviation = None if metric.is_share else float(np.std(scores))
    return rows_to_see(drop, level, deviation, clusters(scores, rows, real))


def to_reach(
    threshold: float,
    metric: "Metric",
    sim: "tuple[Interval, Scores, Rows] | None",
    real: "Rows",
) -> Needed | None:
    """Say what would show that the field reaches a threshold, if it is as good as validation.

    Args:
        threshold: a mean score.
        metric: of the levels.
        sim: the level on validation, its scores and its rows.
        real: rows as they come in the field.
    """
    if sim is None or sim[0].value <= threshold:
        return None
    level, scores, rows = sim
    deviation = None if metric.is_share else float(np.std(scores))
    return rows_to_reach(level.value, threshold, deviation, clusters(scores, rows, real))

"""Why the gate is not open, in few words: the criteria that failed, or those nobody could tell."""

from collections.abc import Callable, Sequence

from stages.figures import percent
from stages.metric import Metric
from stages.reports.gate import Criterion

NAMED = {
    "drop": "the drop",
    "agreement": "agreement with the reference",
    "what worked": "what is lost to what worked",
    "simulation": "what is lost on simulation",
    "groups": "harm to groups",
    "calibration": "the calibration error",
}
WHICH = {"agreement": "", "simulation": " of validation"}
LOSSES = ("drop", "what worked", "simulation", "groups")
SHARES = ("agreement", "calibration")
ROUND = {1e-3: "a thousand", 1e-6: "a million", 1e-9: "a billion"}


def because(verdict: str, criteria: Sequence[Criterion], metric: Metric) -> str:
    """Name what keeps it shut; nothing where it is open."""
    wanted = {"closed": False, "abstained": None}
    if verdict not in wanted:
        return ""
    kept = [one for one in criteria if one.passed is wanted[verdict]]
    return "; ".join(_brief(one, metric) for one in kept)


def within_says(atol: float, rtol: float) -> str:
    """Say how near numbers are that agree.

    >>> within_says(1e-6, 1e-6), within_says(0.0, 0.0)
    ('within 1e-06, or one part in a million', 'exactly equal')
    """
    relative = f"one part in {ROUND.get(rtol, f'{1 / rtol:.4g}')}" if rtol else ""
    absolute = f"within {atol:g}" if atol else ""
    if absolute and relative:
        return f"{absolute}, or {relative}"
    return absolute or (f"within {relative}" if relative else "exactly equal")


def _brief(one: Criterion, metric: Metric) -> str:
    if one.name == "contract":
        return f"the data contract ({one.why.removeprefix('Broken: ').rstrip('.')})"
    if one.name == "parity":
        return f"preprocessing parity ({_first(one.why)})"
    name = NAMED.get(one.name, metric.word)
    if one.name == "groups":
        return f"{name} ({_first(one.why)})"
    if one.figure is None or one.threshold is None or one.low is None or one.high is None:
        return _with_more(f"{name} ({_first(one.why)})", one)
    write, own = _words(one, metric)
    over = one.bound == "at most"
    fails = ("is" if one.passed is False else "could be") + (" above" if over else " below")
    rows = WHICH.get(one.name, " that prove")
    held = f"{own.bare(one.low)} to {own.bare(one.high)}, {one.n} rows{rows}"
    text = f"{name} {write(one.figure)} (CI {held}) {fails} {write(one.threshold)}"
    straddles = one.low <= one.threshold <= one.high
    if one.passed is None and not straddles:
        text = f"{name} {write(one.figure)} (CI {held}): too few rows to pass"
    return _with_more(text, one)


def _with_more(text: str, one: Criterion) -> str:
    return f"{text}; {_small(one.more).rstrip('.')}" if one.more else text


def _words(one: Criterion, metric: Metric) -> tuple[Callable[[float], str], Metric]:
    if one.name in SHARES:
        return percent, Metric("agreement")
    return (metric.signed_loss if one.name in LOSSES else metric.level), metric


def _first(text: str) -> str:
    return _small(text.partition(". ")[0].rstrip("."))


def _small(text: str) -> str:
    return text[:1].lower() + text[1:]

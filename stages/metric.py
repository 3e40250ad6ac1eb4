"""A metric in words: what its levels and losses are called, each in its own unit."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from stages.figures import Bounded, counted, interval, percent, points, tenths, turned
from stages.stage import MetricName, Task

if TYPE_CHECKING:
    from assay.intervals import Interval

CLASSES: tuple[MetricName, ...] = ("accuracy", "agreement")
WORDS: dict[MetricName, str] = {
    "accuracy": "accuracy",
    "agreement": "agreement with the reference",
    "r2": "R²",
    "mae": "mean absolute error",
}


@dataclass(frozen=True, slots=True)
class Metric:
    """What is measured. Of its levels more may be worse; a loss is always worse."""

    name: MetricName
    unit: str | None = None

    @property
    def word(self) -> str:
        """What it is called."""
        return WORDS[self.name]

    @property
    def task(self) -> Task:
        """What labels are: classes, or numbers."""
        return "classification" if self.name in CLASSES else "regression"

    @property
    def is_share(self) -> bool:
        """Whether it is a share of rows."""
        return self.name in CLASSES

    @property
    def less_is_better(self) -> bool:
        """Whether its levels are errors."""
        return self.name == "mae"

    def shown(self, mean_score: "Interval") -> "Interval":
        """Turn a mean score, of which more is better, into the level that people know.

        >>> from assay.intervals import Interval
        >>> Metric("mae").shown(Interval(value=-2.0, low=-3.0, high=-1.5, n=9)).high
        3.0
        """
        if not self.less_is_better:
            return mean_score
        low, high = -mean_score.high, -mean_score.low
        return replace(mean_score, value=-mean_score.value, low=low, high=high)

    def level(self, shown: float) -> str:
        """Write a level.

        >>> Metric("accuracy").level(0.4519), Metric("r2").level(0.4519)
        ('45.2 %', '0.452')
        >>> Metric("r2").level(145.8721)
        '145.9'
        >>> Metric("mae", "MJ/kg").level(1.2345)
        '1.23 MJ/kg'
        """
        if self.is_share:
            return percent(shown)
        return self._number(shown) + (f" {self.unit}" if self.less_is_better and self.unit else "")

    def bare(self, shown: float) -> str:
        """Write a level without its unit, which an axis names.

        >>> Metric("accuracy").bare(0.4519), Metric("mae", "K").bare(0.5)
        ('45.2', '0.5')
        """
        return tenths(shown) if self.is_share else self._number(shown)

    def loss(self, loss: float) -> str:
        """Write a difference of two levels without its sign.

        >>> Metric("accuracy").loss(-0.349), Metric("r2").loss(-0.349)
        ('34.9 points', '0.349 of R²')
        """
        if self.is_share:
            return points(loss)
        return self.level(abs(loss)) + (" of R²" if self.name == "r2" else "")

    def signed_loss(self, loss: float) -> str:
        """Write a difference of two levels, with a minus where it is a gain."""
        return ("\N{MINUS SIGN}" if loss < 0 else "") + self.loss(loss)

    def signed(self, loss: float) -> str:
        """Write a loss with its sign, to stand before or after a level in a chart.

        >>> Metric("accuracy").signed(-0.05), Metric("mae", "K").signed(0.5)
        ('+5.0', '+0.5')
        """
        change = loss if self.less_is_better else -loss
        if self.is_share:
            return tenths(change, sign=True)
        number = self._number(change)
        return number if number.startswith(("\N{MINUS SIGN}", "0.000")) else f"+{number}"

    def interval(self, shown: Bounded, *, rows: bool = True) -> str:
        """Write the bounds of a shown level or of a loss, and what they rest on unless told.

        >>> from assay.intervals import Interval
        >>> Metric("r2").interval(Interval(value=0.5, low=0.4, high=0.6, n=50))
        '95 % CI 0.400 to 0.600, n = 50'
        """
        if self.is_share:
            return interval(shown, rows=rows)
        n = f", {counted(shown.n, shown.groups)}" if rows else ""
        return f"95 % CI {self._number(shown.low)} to {self._number(shown.high)}{n}"

    def change(self, found: Bounded, *, rows: bool = True) -> str:
        """Write the bounds of a loss beside its figure without a sign: both in one direction.

        >>> from assay.intervals import Interval
        >>> Metric("accuracy").change(Interval(value=-0.01, low=-0.06, high=-0.002, n=50))
        '95 % CI 0.2 to 6.0, n = 50'
        """
        return self.interval(turned(found), rows=rows)

    def beside(self, found: Bounded, what: str) -> str:
        """Say how far a level lies from the one that the loss is counted from.

        >>> from assay.intervals import Interval
        >>> Metric("accuracy").beside(Interval(value=-0.01, low=-0.06, high=-0.002, n=50), "it")
        '1.0 points above it (95 % CI 0.2 to 6.0, n = 50)'
        """
        word = "above" if self.less_is_better == (found.value >= 0) else "below"
        return f"{self.loss(found.value)} {word} {what} ({self.change(found)})"

    def moves(self, loss: float) -> str:
        """Say what becomes of the metric.

        >>> Metric("accuracy").moves(0.2), Metric("mae").moves(-0.2)
        ('loses 20.0 points', 'errs by 0.2 less')
        """
        if self.less_is_better:
            return f"errs by {self.loss(loss)} {'more' if loss >= 0 else 'less'}"
        return f"{'loses' if loss >= 0 else 'gains'} {self.loss(loss)}"

    def stands(self, shown: float) -> str:
        """Say where a model stands; the rows are to follow.

        >>> Metric("accuracy").stands(0.9), Metric("r2").stands(0.9), Metric("mae", "K").stands(2)
        ('is right on 90.0 % of', 'has an R² of 0.900 on', 'errs by 2 K on')
        """
        if self.name == "agreement":
            return f"agrees with the reference on {self.level(shown)} of"
        if self.is_share:
            return f"is right on {self.level(shown)} of"
        if self.name == "r2":
            return f"has an R² of {self.level(shown)} on"
        return f"errs by {self.level(shown)} on"

    def _number(self, value: float) -> str:
        small = self.name == "r2" and abs(value) < 10  # noqa: PLR2004  0.873, but 146.5
        text = f"{value:.3f}" if small else f"{value:.4g}" if self.name == "r2" else f"{value:.3g}"
        text = "0.000" if text == "-0.000" else text
        return text.replace("-", "\N{MINUS SIGN}") if text.startswith("-") else text

"""What a selection comes to: a row for every candidate, the choice, and what can be said of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mpu_bench.models.evaluation import METRICS, MIN_OF_CLASS, resampled_scores
from mpu_bench.selection.candidates import CONSTANT
from mpu_bench.selection.schedule import Course, Fitted
from mpu_bench.selection.worker import Evaluated, Tested

if TYPE_CHECKING:
    from mpu_bench.models.export.footprint import Footprint
    from mpu_bench.selection.target import Form, Target

SIGNIFICANT = 0.05

_DRAWS = 2000  # of a bootstrap
_NORMAL = 1.96  # standard errors to either side of 95%


@dataclass
class Row(Tested):
    """A candidate by now; seconds are those of training on ``rows``.

    ``choosing_error`` is 1 - the metric on the validation set, ``drawn`` its values on resamples of that, and
    ``validation_chance`` the p that it is no better there than a constant.
    """

    name: str
    kind: str
    setting: Mapping[str, Any] = field(default_factory=dict)
    rows: int = 0
    seconds: float | None = None
    choosing_error: float | None = None
    drawn: tuple[float, ...] = ()
    validation_chance: float = 1.0
    threshold: float = 0.0
    footprint: Footprint | None = None  #: on the device, if there is one, ...
    form: Form = "floats"  #: ... of a C file in this form
    fits: bool = True  #: whether it is small enough to be chosen
    is_cut: bool = False  #: whether its training was ended by the seconds
    reason: str = ""

    @property
    def is_own(self) -> bool:
        """Whether it is of this project, and no reference."""
        return self.kind != "reference"

    @property
    def labels(self) -> NDArray[np.int32]:
        """The classes of the test rows, (n,)."""
        return np.frombuffer(self.truth, np.int32)

    @property
    def answers(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The classes predicted for them, and their scores, (n, c)."""
        scores = np.frombuffer(self.scores, np.float32).astype(np.float64)
        return np.frombuffer(self.predicted, np.int32), scores.reshape(self.tested, -1)

    @property
    def error(self) -> float | None:
        """The share of wrong labels on the test set."""
        return round((1 - self.metrics["accuracy"]) * self.tested) / self.tested if self.metrics else None

    @property
    def standard_error(self) -> float | None:
        """That of the error, of so many test rows."""
        return None if self.error is None else math.sqrt(self.error * (1 - self.error) / self.tested)

    @property
    def settings(self) -> str:
        """The values of the parameters that were tried, and the threshold, in words."""
        values = {**self.setting, **({"threshold": self.threshold} if self.threshold else {})}
        return " ".join(f"{name}={value:.3g}" for name, value in values.items())


@dataclass(frozen=True)
class Difference:
    """By how much a metric of one candidate is above that of another on the test set.

    ``low`` and ``high`` bound it with a probability of 95%; ``p`` is that of such a difference by chance, NaN where the
    test set is too small to know; ``test`` names how.
    """

    by: float
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    test: str = ""


@dataclass
class Outcome:
    """All candidates, the choice, and how many training rows there are.

    Attributes
    ----------
    metric : str
        Which chooses; one of `METRICS`.
    refused : Row or None
        The candidate that would be the choice, were it better than a constant.
    note : str
        Why the choice is not trained on all rows.
    target : Target or None
        The device that it must fit.
    with_references : bool
        Whether references may be chosen, too.
    """

    rows: list[Row]
    chosen: Row | None
    all_rows: int
    metric: str = "accuracy"
    refused: Row | None = None
    note: str = ""
    target: Target | None = None
    with_references: bool = False

    @property
    def front(self) -> list[Row]:
        """The models of which none other is both smaller and better on the test set, the smallest first."""
        return self.front_of(self.models)

    def front_of(self, models: Sequence[Row]) -> list[Row]:
        """Return those of which none other of them is both smaller and better on the test set, the smallest first."""
        front: list[Row] = []
        for model in sorted(models, key=lambda row: (row.size, -self.score(row))):
            if not front or self.score(model) > self.score(front[-1]):
                front.append(model)
        return front

    @property
    def known(self) -> list[Row]:
        """The candidates with a score on the test set, the best first."""
        known = [row for row in self.rows if self.metric in row.metrics and row.size is not None]
        return sorted(known, key=self.score, reverse=True)

    @property
    def models(self) -> list[Row]:
        """Those of them that are no constant."""
        return [row for row in self.known if row.name != CONSTANT]

    def score(self, row: Row) -> float:
        """Return the metric on the test set; below all others where it is not known."""
        return row.metrics.get(self.metric, -math.inf)

    def is_better_than_constant(self, row: Row, looks: int) -> bool:
        """Return whether a candidate is better on the test set than any constant, beyond chance.

        On a small test set little is beyond chance: the validation set may show it too, where the best of so many looks
        had to be.
        """
        is_beyond_chance = row.chance < SIGNIFICANT or row.validation_chance * looks < SIGNIFICANT
        return self.score(row) > row.constant and is_beyond_chance

    @property
    def best_validated(self) -> Row | None:
        """The best on the validation set, of this project or, with them, of references; it may be too large."""
        return min(validated(self.rows, self.with_references), key=_by_error, default=None)

    @property
    def best_choosable(self) -> Row | None:
        """The best on the validation set of those that could be chosen."""
        return min(choosable(self.rows, self.with_references), key=_by_error, default=None)

    @property
    def constant(self) -> Row | None:
        """The constant, once it is known on the test set."""
        return next((row for row in self.known if row.name == CONSTANT), None)

    @property
    def reference(self) -> Row | None:
        """The best other reference on the validation set, once it is known on the test set."""
        references = [row for row in self.known if not row.is_own and row.name != CONSTANT]
        return min(references, key=lambda row: or_infinite(row.choosing_error), default=None)

    def difference(self, one: Row, other: Row) -> Difference:
        """Return by how much one candidate is better than another on the test set, with a test in pairs of rows."""
        by = self.score(one) - self.score(other)
        if self.metric == "accuracy":
            return _mcnemar(by, one, other)
        if np.unique(one.labels, return_counts=True)[1].min() < MIN_OF_CLASS:
            return Difference(by)
        drawn = np.subtract(*(resampled_scores(self.metric, one.labels, *row.answers, _DRAWS) for row in (one, other)))
        beyond = min((drawn <= 0).sum(), (drawn >= 0).sum())
        low, high = np.quantile(drawn, (0.025, 0.975))
        return Difference(by, float(low), float(high), min(1.0, 2 * (1 + beyond) / (1 + _DRAWS)), "paired bootstrap")

    def significantly_better(self) -> list[tuple[Row, Difference]]:
        """Return the candidates of this project that are better than the choice on the test set, beyond chance.

        Each p has Bonferroni's correction for the candidates that are compared with the choice.
        """
        if (chosen := self.chosen) is None:
            return []
        compared = [row for row in self.known if row.is_own and row is not chosen]
        better = [(row, self.difference(row, chosen)) for row in compared if self.score(row) > self.score(chosen)]
        corrected = [(row, replace(difference, p=len(compared) * difference.p)) for row, difference in better]
        return [(row, difference) for row, difference in corrected if difference.p < SIGNIFICANT]


def row_of(course: Course, evaluated: Evaluated | None, last: Fitted | None = None) -> Row:
    """Return what is known of a candidate; ``last`` is its training on all rows, if it is the choice."""
    known = evaluated if evaluated is not None and not evaluated.reason else Tested()
    its = {of_test.name: getattr(known, of_test.name) for of_test in fields(Tested)}
    row = Row(course.candidate.name, course.candidate.kind, **its)
    cut = ""
    if course.best is not None:
        trained = last or course.best
        row.setting, row.rows, row.seconds = trained.fit.setting, trained.fit.rows, trained.seconds
        row.choosing_error, row.validation_chance = course.best.error, course.best.chance
        row.drawn, row.threshold, row.is_cut = course.best.drawn, trained.threshold, trained.is_cut
        cut = f"training was ended after {trained.seconds:.3g} s" if trained.is_cut else ""
    reasons = [cut, course.ended, evaluated.reason if evaluated is not None else ""]
    row.reason = "; ".join(filter(None, reasons))
    return row


def validated(rows: Sequence[Row], with_references: bool = False) -> list[Row]:
    """Return the candidates that could be chosen if they fit and were tested; never a constant."""
    able = [row for row in rows if row.is_own or (with_references and row.name != CONSTANT)]
    return [row for row in able if row.choosing_error is not None]


def choosable(rows: Sequence[Row], with_references: bool = False) -> list[Row]:
    """Return those of them that fit and were tested."""
    return [row for row in validated(rows, with_references) if row.fits and row.size is not None]


def choose(rows: Sequence[Row], with_references: bool = False) -> Row | None:
    """Return the smallest candidate that is within one standard error of the best on the validation set.

    The standard error is that of the difference of the two, on the same resamples: it is smaller than that of either
    metric, as rows that are hard are hard for both. Of equally large candidates it is the best.
    """
    able = choosable(rows, with_references)
    best = min(able, key=_by_error, default=None)
    if best is None:
        return None
    alike = [row for row in able if _by_error(row)[0] - _by_error(best)[0] <= _spread_of_difference(row, best)]
    return min(alike, key=lambda row: (row.size, *_by_error(row)))


def _spread_of_difference(one: Row, other: Row) -> float:
    return float(np.std(np.subtract(one.drawn, other.drawn), ddof=1)) if one.drawn and other.drawn else 0.0


def _by_error(row: Row) -> tuple[float, float]:
    return or_infinite(row.choosing_error), or_infinite(row.size)


def or_infinite(number: float | None) -> float:
    """Return a number, or infinity where it is not known: behind all others in an order."""
    return math.inf if number is None else number


def _mcnemar(by: float, one: Row, other: Row) -> Difference:
    """Return a difference of accuracies with the exact p of McNemar's test: of the rows that one alone has right."""
    from scipy.stats import binomtest

    rights = [(row.answers[0] == one.labels).astype(int) for row in (one, other)]
    n, only_one, only_other = one.tested, int((rights[0] > rights[1]).sum()), int((rights[1] > rights[0]).sum())
    apart = only_one + only_other
    p = float(binomtest(only_one, apart).pvalue) if apart else 1.0
    spread = math.sqrt(max(apart - (only_one - only_other) ** 2 / n, 0.0)) / n
    return Difference(by, by - _NORMAL * spread, by + _NORMAL * spread, p, "McNemar")


def as_csv(outcome: Outcome) -> str:
    """Return the table of all candidates, metrics and errors as shares."""
    import pandas as pd

    names = ("name", "kind", "settings", "rows", "seconds", "error", "standard_error", "tested",
             "seconds_per_prediction", "vectors", "size", "reason")  # fmt: skip
    rows = [
        {name: getattr(row, name) for name in names}
        | {"metric": outcome.metric, "validation": None if row.choosing_error is None else 1 - row.choosing_error}
        | {"test": row.metrics.get(outcome.metric), "test_standard_error": row.spread}
        | {name.replace("-", "_"): row.metrics.get(name) for name in METRICS}
        | {"threshold": row.threshold, "form": row.form if row.footprint else None}
        | {name: getattr(row.footprint, name, None) for name in ("flash", "ram", "instructions")}
        | {"estimated": bool(row.footprint.estimated) if row.footprint else None}
        | {"fits": row.fits, "chosen": row is outcome.chosen}
        for row in outcome.rows
    ]
    return pd.DataFrame(rows).convert_dtypes().rename(columns={"size": "bytes"}).to_csv(index=False)

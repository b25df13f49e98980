"""What a selection comes to: a row for every candidate, the choice, and what can be said of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpu_bench.models.evaluation import METRICS
from mpu_bench.models.export.footprint import Footprint
from mpu_bench.selection.schedule import Course, Fitted
from mpu_bench.selection.target import Target
from mpu_bench.selection.worker import Evaluated

SIGNIFICANT = 0.05

_DRAWS = 99_999  # of a permutation test
_ROUNDING = 1e-9  # relative, of sums that are equal


@dataclass
class Row:
    """A candidate by now; seconds are those of training on ``rows``, ``size`` is in bytes.

    ``choosing_error`` is 1 - the metric on the validation set, and ``validation_chance`` the p that it is no better
    there than a constant; ``metrics``, ``spread``, ``constant`` and ``chance`` are as of `Evaluated`, on the test set.
    """

    name: str
    kind: str
    is_own: bool
    setting: Mapping[str, Any] = field(default_factory=dict)
    rows: int = 0
    seconds: float | None = None
    choosing_error: float | None = None
    validation_chance: float = 1.0
    metrics: Mapping[str, float] = field(default_factory=dict)
    spread: float = math.nan
    constant: float = math.nan
    chance: float = 1.0
    tested: int = 0
    right: bytes = b""
    truth: bytes = b""
    seconds_per_prediction: float | None = None
    vectors: int | None = None
    size: int | None = None
    footprint: Footprint | None = None  #: on the device, if there is one
    fits: bool = True  #: whether it is small enough to be chosen
    reason: str = ""

    @property
    def error(self) -> float | None:
        """The share of wrong labels on the test set."""
        return round((1 - self.metrics["accuracy"]) * self.tested) / self.tested if self.metrics else None

    @property
    def standard_error(self) -> float | None:
        """That of the error, of so many test rows."""
        if self.error is None:
            return None
        return math.sqrt(self.error * (1 - self.error) / self.tested)

    @property
    def settings(self) -> str:
        """The values of the parameters that were tried, in words."""
        return " ".join(f"{name}={value:.3g}" for name, value in self.setting.items())


@dataclass
class Outcome:
    """All candidates, the choice among those of this project, and how many training rows there are.

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
    """

    rows: list[Row]
    chosen: Row | None
    all_rows: int
    metric: str = "accuracy"
    refused: Row | None = None
    note: str = ""
    target: Target | None = None

    @property
    def front(self) -> list[Row]:
        """The candidates of which none other is both smaller and better on the test set, the smallest first."""
        found: list[Row] = []
        for each in sorted(self.known, key=lambda row: (row.size, -self.score(row))):
            if not found or self.score(each) > self.score(found[-1]):
                found.append(each)
        return found

    @property
    def known(self) -> list[Row]:
        """The candidates with a score on the test set, the best first."""
        known = [each for each in self.rows if self.metric in each.metrics and each.size is not None]
        return sorted(known, key=self.score, reverse=True)

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

    def significantly_better(self) -> list[tuple[Row, float]]:
        """Return the candidates that are better than the choice on the test set, beyond chance; with p.

        By metrics of a ranking nothing is tested, and nothing returned.
        """
        paired = {"accuracy": mcnemar, "balanced-accuracy": balanced_test}.get(self.metric)
        if self.chosen is None or paired is None:
            return []
        better = [each for each in self.rows if self.score(each) > self.score(self.chosen)]
        return [(each, p) for each in better if (p := paired(each, self.chosen)) < SIGNIFICANT]


def row_of(course: Course, evaluated: Evaluated | None, last: Fitted | None = None) -> Row:
    """Return what is known of a candidate; ``last`` is its training on all rows, if it is the choice."""
    row = Row(course.candidate.name, course.candidate.kind, course.candidate.is_own)
    cut = ""
    if course.best is not None:
        trained = last or course.best
        row.setting, row.rows, row.seconds = trained.fit.setting, trained.fit.rows, trained.seconds
        row.choosing_error, row.validation_chance = course.best.error, course.best.chance
        cut = f"training was ended after {trained.seconds:.3g} s" if trained.is_cut else ""
    if evaluated is not None and not evaluated.reason:
        row.metrics, row.spread, row.tested = evaluated.metrics, evaluated.spread, evaluated.tested
        row.constant, row.chance = evaluated.constant, evaluated.chance
        row.right, row.truth = evaluated.right, evaluated.truth
        row.seconds_per_prediction = evaluated.seconds_per_prediction
        row.vectors, row.size = evaluated.vectors, evaluated.size
    reasons = [cut, course.ended, evaluated.reason if evaluated is not None else ""]
    row.reason = "; ".join(filter(None, reasons))
    return row


def choose(rows: Sequence[Row]) -> Row | None:
    """Return the candidate of this project that fits and is the best on the validation set; the smaller of equals."""
    fit = [
        each for each in rows if each.is_own and each.fits and each.choosing_error is not None and each.size is not None
    ]
    return min(fit, key=lambda each: (each.choosing_error, each.size), default=None)


def mcnemar(first: Row, second: Row) -> float:
    """Return the exact p of McNemar's test that two candidates, each right on some of the same rows, are as good."""
    from scipy.stats import binomtest

    difference = _difference(first, second)
    only_first, only_second = int((difference > 0).sum()), int((difference < 0).sum())
    if not only_first + only_second:
        return 1.0
    return float(binomtest(only_first, only_first + only_second).pvalue)


def balanced_test(first: Row, second: Row) -> float:
    """Return the p that the balanced errors of two candidates on the same rows are one.

    A permutation test: were they as good, each row where one alone is right could as well be one where the other is. It
    holds for any number of rows of a class, as one or two of a rare one; the least p is 1 / (`_DRAWS` + 1).
    """
    difference, truth = _difference(first, second), np.frombuffer(first.truth, np.uint16)
    random, apart, drawn = np.random.default_rng(0), 0.0, np.zeros(_DRAWS)
    for part in (difference[truth == c] for c in np.unique(truth)):
        unlike = int(np.count_nonzero(part))
        apart += part.mean()
        drawn += (2 * random.binomial(unlike, 0.5, _DRAWS) - unlike) / len(part)
    return float((1 + np.count_nonzero(np.abs(drawn) >= abs(apart) * (1 - _ROUNDING))) / (1 + _DRAWS))


def _difference(first: Row, second: Row) -> NDArray[np.int8]:
    """Return for every row 1 where the first alone is right, -1 where the second alone is, else 0."""
    bits = [np.unpackbits(np.frombuffer(each.right, np.uint8), count=each.tested) for each in (first, second)]
    return bits[0].view(np.int8) - bits[1].view(np.int8)


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
        | {name: getattr(row.footprint, name, None) for name in ("flash", "ram", "instructions")}
        | {"fits": row.fits, "chosen": row is outcome.chosen}
        for row in outcome.rows
    ]
    return pd.DataFrame(rows).convert_dtypes().rename(columns={"size": "bytes"}).to_csv(index=False)

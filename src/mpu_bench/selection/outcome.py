"""What a selection comes to: a row for every candidate, the choice, and what can be said of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpu_bench.selection.schedule import Course, Fitted
from mpu_bench.selection.worker import Evaluated

SIGNIFICANT = 0.05

_DRAWS = 99_999  # of a permutation test
_ROUNDING = 1e-9  # relative, of sums that are equal


@dataclass
class Row:
    """A candidate by now; errors are shares, seconds those of training on ``rows``, ``size`` in bytes.

    ``choosing_error`` is the one on held-out rows, balanced where a class is rare.
    """

    name: str
    kind: str
    is_own: bool
    setting: Mapping[str, Any] = field(default_factory=dict)
    rows: int = 0
    seconds: float | None = None
    choosing_error: float | None = None
    error: float | None = None
    balanced_error: float | None = None
    tested: int = 0
    right: bytes = b""
    truth: bytes = b""
    seconds_per_prediction: float | None = None
    vectors: int | None = None
    size: int | None = None
    reason: str = ""

    @property
    def standard_error(self) -> float | None:
        """That of the error, of so many test rows."""
        if self.error is None or not self.tested:
            return None
        return math.sqrt(self.error * (1 - self.error) / self.tested)

    @property
    def settings(self) -> str:
        """The values of the parameters that were tried, in words."""
        return " ".join(f"{name}={value:.3g}" for name, value in self.setting.items())


@dataclass
class Outcome:
    """All candidates, the choice among those of this project, and how many training rows there are."""

    rows: list[Row]
    chosen: Row | None
    all_rows: int
    is_rare: bool = False  #: whether the balanced error chooses

    @property
    def front(self) -> list[Row]:
        """The candidates of which none other is both smaller and better on the test rows, the smallest first."""
        found: list[Row] = []
        for each in sorted(self.known, key=lambda row: (row.size, self.shown_error(row))):
            if not found or self.shown_error(each) < self.shown_error(found[-1]):
                found.append(each)
        return found

    @property
    def known(self) -> list[Row]:
        """The candidates with an error on the test rows, the best first."""
        known = [each for each in self.rows if each.error is not None and each.size is not None]
        return sorted(known, key=self.shown_error)

    def shown_error(self, row: Row) -> float:
        """Return the error on the test rows, of the kind that chooses; infinite where there is none."""
        error = row.balanced_error if self.is_rare else row.error
        return math.inf if error is None else error

    @property
    def constant_error(self) -> float:
        """The error, of the kind that chooses, of always giving the most frequent class of the test rows."""
        truth = np.frombuffer(self.chosen.truth if self.chosen is not None else b"", np.uint16)
        counts = np.bincount(truth, minlength=1)
        if not len(truth):
            return math.inf
        return 1 - 1 / np.count_nonzero(counts) if self.is_rare else 1 - counts.max() / len(truth)

    def significantly_better(self) -> list[tuple[Row, float]]:
        """Return the candidates that are right on the test rows where the choice is wrong, beyond chance; with p."""
        if self.chosen is None or self.chosen.error is None:
            return []
        found = []
        for each in self.rows:
            if self.shown_error(each) < self.shown_error(self.chosen):
                paired = balanced_test if self.is_rare else mcnemar
                if (p := paired(each, self.chosen)) < SIGNIFICANT:
                    found.append((each, p))
        return found


def row_of(course: Course, evaluated: Evaluated | None, last: Fitted | None = None) -> Row:
    """Return what is known of a candidate; ``last`` is its training on all rows, if it is the choice."""
    row = Row(course.candidate.name, course.candidate.kind, course.candidate.is_own)
    cut = ""
    if course.best is not None:
        trained = last or course.best
        row.setting, row.rows, row.seconds = trained.fit.setting, trained.fit.rows, trained.seconds
        row.choosing_error = course.best.error
        cut = f"training was ended after {trained.seconds:.3g} s" if trained.is_cut else ""
    if evaluated is not None and not evaluated.reason:
        row.error, row.balanced_error, row.tested = evaluated.error, evaluated.balanced_error, evaluated.tested
        row.right, row.truth = evaluated.right, evaluated.truth
        row.seconds_per_prediction = evaluated.seconds_per_prediction
        row.vectors, row.size = evaluated.vectors, evaluated.size
    reasons = [cut, course.ended, evaluated.reason if evaluated is not None else ""]
    row.reason = "; ".join(filter(None, reasons))
    return row


def choose(rows: Sequence[Row], most_bytes: int | None) -> Row | None:
    """Return the candidate of this project with the smallest error on held-out rows; the smaller one of equals.

    Parameters
    ----------
    rows : sequence of Row
    most_bytes : int or None
        A larger model is not chosen.
    """
    fit = [
        each
        for each in rows
        if each.is_own and each.choosing_error is not None and each.size is not None
        and (most_bytes is None or each.size <= most_bytes)
    ]  # fmt: skip
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
    """Return the table of all candidates, errors as shares."""
    import pandas as pd

    names = (
        "name", "kind", "settings", "rows", "seconds", "choosing_error", "error", "standard_error", "balanced_error",
        "tested", "seconds_per_prediction", "vectors", "size", "reason",
    )  # fmt: skip
    rows = [{name: getattr(row, name) for name in names} | {"chosen": row is outcome.chosen} for row in outcome.rows]
    return pd.DataFrame(rows).convert_dtypes().rename(columns={"size": "bytes"}).to_csv(index=False)

"""Verdicts on numbers: a published one beside measured ones, by the rules of configs/published/rules.yaml."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from mpu_bench.verdict.rules import Tolerance, rules
from mpu_bench.verdict.verdict import Verdict

_PERCENT = 100.0
_ROUNDING = 1e-12  # relative; what sums in another order may differ by


class Sample(NamedTuple):
    """A mean with the standard deviation and the number of the runs that it is of."""

    mean: float
    deviation: float | None = None
    runs: int = 1


@dataclass(frozen=True)
class Judgement:
    """A verdict, and how it came about.

    Attributes
    ----------
    verdict : Verdict
    allowed : float or None
        Up to which difference the numbers agree.
    p_value : float or None
        Of Welch's test that the means do not differ.
    remark : str
        What limits the verdict, such as "a single run".
    """

    verdict: Verdict
    allowed: float | None = None
    p_value: float | None = None
    remark: str = ""


def half_unit(text: str) -> float:
    """Return half a unit of the last digit of a number as it is printed: 0.05 of "0.1", 500 of "10e3"."""
    return 0.5 * 10.0 ** int(Decimal(text).as_tuple().exponent)


def floor_of(published: float, tolerance: Tolerance, unit: float, accuracy: float | None, is_accuracy: bool) -> float:
    """Return what a mean may differ by whatever the scatter.

    Parameters
    ----------
    published : float
    tolerance : Tolerance
    unit : float
        Half a unit of the last printed digit.
    accuracy : float or None
        What the table asks of objectives, relative.
    is_accuracy : bool
        Whether the number is a share of right answers in percent, not of wrong ones.
    """
    floor = 0.0
    if tolerance.points is not None:
        error = _PERCENT - published if is_accuracy else published
        floor = min(tolerance.points, (tolerance.of_error or math.inf) * error)
    if tolerance.relative is not None:
        floor = max(floor, tolerance.relative * abs(published))
    if tolerance.accuracy and accuracy is not None:
        floor = max(floor, accuracy * abs(published))
    return floor + unit


def judge_value(
    published: Sample,
    measured: Sample,
    floor: float,
    tolerance: Tolerance,
    *,
    deterministic: bool = False,
    constant: float | None = None,
) -> Judgement:
    """Return the verdict on a measured mean beside a published one.

    Parameters
    ----------
    published, measured : Sample
        The published deviation is None where none is printed.
    floor : float
        As `floor_of` returns it.
    tolerance : Tolerance
    deterministic : bool
        Whether nothing in the measured runs is random.
    constant : float or None
        What a classifier reaches that always gives the most frequent answer, in the unit of the means.
    """
    judgement = _judged(published, measured, floor, tolerance, deterministic)
    if tolerance.zero is not None and max(abs(published.mean), abs(measured.mean)) < tolerance.zero:
        remark = f"both are below {tolerance.zero:g}, what a tolerance leaves of an optimum of 0"
        return Judgement(Verdict.NOT_INFORMATIVE, judgement.allowed, None, remark)
    if constant is None or judgement.allowed is None:
        return judgement
    for name, sample in (("published", published), ("measured", measured)):
        allowed = judgement.allowed if name == "published" else _ROUNDING * _PERCENT
        if abs(sample.mean - constant) <= allowed:
            remark = f"a constant answer has {constant:.4g}, which is as good as what is {name}"
            return Judgement(Verdict.NOT_INFORMATIVE, judgement.allowed, judgement.p_value, remark)
    return judgement


def _judged(published: Sample, measured: Sample, floor: float, tolerance: Tolerance, deterministic: bool) -> Judgement:
    off = abs(measured.mean - published.mean)
    if deterministic:
        return Judgement(
            Verdict.REPRODUCED if _within(off, floor) else Verdict.NOT_REPRODUCED,
            floor,
            remark="nothing in it is random",
        )
    few = measured.runs < rules().least_runs and published.deviation is None
    if measured.deviation is None or few:
        remark = "a single run" if measured.runs == 1 else f"{measured.runs} runs"
        return Judgement(Verdict.REPRODUCED if _within(off, floor) else Verdict.INCONCLUSIVE, floor, remark=remark)
    deviations = (published.deviation if published.deviation is not None else measured.deviation, measured.deviation)
    squares = [s * s / n for s, n in zip(deviations, (published.runs, measured.runs), strict=True)]
    error = math.sqrt(sum(squares))
    allowed = max(floor, min(_cap(published.mean, tolerance), rules().standard_errors * error))
    if _within(off, allowed):
        return Judgement(Verdict.REPRODUCED, allowed)
    if not error:
        return Judgement(Verdict.NOT_REPRODUCED, allowed, 0.0)
    own = published.deviation is not None and published.runs > 1
    freedom = [measured.runs - 1, published.runs - 1] if own else [measured.runs - 1]
    shares = [each / sum(squares) for each in reversed(squares)] if own else [1.0]
    degrees = 1 / sum(share * share / each for share, each in zip(shares, freedom, strict=True))
    from scipy.special import stdtr

    p_value = float(2 * stdtr(degrees, -off / error))
    return Judgement(
        Verdict.NOT_REPRODUCED if p_value < rules().significance else Verdict.INCONCLUSIVE, allowed, p_value
    )


def _within(off: float, allowed: float) -> bool:
    return off <= allowed * (1 + 1e-9)


def _cap(published: float, tolerance: Tolerance) -> float:
    if tolerance.cap_points is not None:
        return tolerance.cap_points
    return math.inf if tolerance.cap_relative is None else tolerance.cap_relative * abs(published)


def printed_ratio(above: str, below: str) -> tuple[float, float]:
    """Return the interval of the ratio of two printed numbers; from 0, or without end, where one may be 0."""
    (a, half_a), (b, half_b) = ((float(text), half_unit(text)) for text in (above, below))
    return max(a - half_a, 0.0) / (b + half_b), (a + half_a) / (b - half_b) if b > half_b else math.inf


class Seconds(NamedTuple):
    """Both sides of a ratio: of each the mean, what the error of its logarithm is, and of how many runs it is."""

    above: Sample
    below: Sample

    @property
    def ratio(self) -> float:
        """Of the means."""
        return self.above.mean / self.below.mean

    @property
    def runs(self) -> int:
        """Of the side that has fewer."""
        return min(self.above.runs, self.below.runs)

    @property
    def error(self) -> float:
        """Standard error of the logarithm; of a side without a deviation nothing is known, and nothing is added."""
        shares = ((side.deviation or 0.0) / side.mean / math.sqrt(side.runs) for side in self)
        return math.hypot(*shares)


def judge_ratio(interval: tuple[float, float], measured: Seconds, printed_error: float = 0.0) -> Judgement:
    """Return the verdict on a ratio of seconds beside the interval that print leaves.

    Parameters
    ----------
    interval : (float, float)
        As `printed_ratio` returns it.
    measured : Seconds
    printed_error : float
        Standard error of the printed ratio's logarithm, by printed deviations.
    """
    low, high = interval
    wide = rules().ratios.same_order
    if high >= wide * low * (1 - _ROUNDING):
        return Judgement(
            Verdict.NOT_INFORMATIVE, remark=f"the reported digits leave anything from {low:.2g} to {high:.3g}"
        )
    ratio = measured.ratio
    times = max(ratio / high, low / ratio if ratio else math.inf, 1.0)
    if measured.runs < (least := rules().ratios.least_runs):
        return Judgement(Verdict.INCONCLUSIVE, remark=f"{measured.runs} of {least} runs whose seconds count")
    if times <= rules().ratios.agrees:
        return Judgement(Verdict.REPRODUCED)
    scatter = math.exp(rules().standard_errors * math.hypot(measured.error, printed_error))
    if times <= wide:
        return Judgement(Verdict.WITHIN_5X)
    if times <= wide * scatter:
        return Judgement(Verdict.INCONCLUSIVE, remark=f"its scatter is {scatter:.2g} times")
    return Judgement(Verdict.NOT_REPRODUCED)


def judge_recomputed(published: str, recomputed: float, is_p_value: bool) -> Judgement:
    """Return whether a statistic, or p-value, that was computed from printed numbers is the printed one."""
    number = float(published)
    allowed = rules().recomputed.p_value * number if is_p_value else half_unit(published)
    return Judgement(
        Verdict.REPRODUCED if _within(abs(recomputed - number), allowed) else Verdict.NOT_REPRODUCED, allowed
    )

"""Verdicts on numbers: a reported one beside measured ones, by the rules of configs/published/rules.yaml."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from mpu_bench import published, resources, yaml_text
from mpu_bench.document import Node, Positive, Strict
from mpu_bench.errors import ConfigError
from mpu_bench.quantities import quantity_of
from mpu_bench.verdict.verdict import Verdict

FILE = "rules.yaml"


class Tolerance(Strict):
    """How far the mean of a quantity may be from the published one, besides what scatter allows.

    ``points``, ``of_error``, ``cap_points``: of errors and accuracies in percent. ``relative``, ``cap_relative``: of
    counts. ``accuracy``: as the table asks for. ``zero``: below which a number says nothing.
    """

    points: Positive | None = None
    of_error: Positive | None = None
    cap_points: Positive | None = None
    relative: Positive | None = None
    cap_relative: Positive | None = None
    accuracy: bool = False
    zero: Positive | None = None


class Ratios(Strict):
    """Within how many times of the printed ratio a measured one agrees, and is of the same order; of how many runs."""

    agrees: Annotated[float, Field(gt=1)]
    same_order: Annotated[float, Field(gt=1)]
    least_runs: Annotated[int, Field(ge=2)]


class Recomputed(Strict):
    """How far a recomputed p-value may be, relative."""

    p_value: Positive


class OfStatements(Strict):
    """How many paired standard errors beyond which a point contradicts a statement; how far alike may be, relative."""

    standard_errors: Positive
    alike: Positive


class Given(Strict):
    """Numbers of a published table that no run can miss."""

    column: str
    solver: str | None = None
    datasets: list[str] = []
    has: str | None = None

    def holds(self, row: Mapping[str, str], column: str) -> bool:
        """Return whether a number is one of them."""
        named = self.solver in (None, row.get("solver")) and (not self.datasets or row.get("dataset") in self.datasets)
        return column == self.column and named and (self.has is None or bool(row.get(self.has)))


class Table(Strict):
    """What print says of a table: its numbers of runs, the accuracy it asks for, what its seconds are set against.

    ``deviations: of-all`` divide by the number of runs, ``of-a-sample`` by one less. ``fixed_problems``: on these
    datasets its means are over problems that are given, of which other runs are no other sample.
    """

    runs: Annotated[int, Field(ge=1)] = 1
    but_runs: dict[str, int] = {}
    deviations: Literal["of-a-sample", "of-all"] = "of-a-sample"
    fixed_problems: list[str] = []
    accuracy: Positive | None = None
    ratio_to: str | None = None
    set: list[Given] = []

    def runs_on(self, dataset: str) -> int:
        """Return the number of runs of a dataset's means."""
        return self.but_runs.get(dataset, self.runs)

    def sample_deviation(self, printed: float, runs: int) -> float:
        """Return the standard deviation of a sample, which divides by one less than its size, of a printed one."""
        return printed if self.deviations == "of-a-sample" or runs == 1 else printed * math.sqrt(runs / (runs - 1))


class Override(Tolerance):
    """Another tolerance for some cells, and where print says so."""

    table: str
    column: str
    datasets: list[str] = []
    solvers: list[str] = []
    cites: Annotated[str, Field(min_length=1)]


class Rules(Strict):
    """The whole file."""

    standard_errors: Positive
    significance: Annotated[float, Field(gt=0, lt=1)]
    least_runs: Annotated[int, Field(ge=2)]
    values: dict[str, Tolerance]
    ratios: Ratios
    recomputed: Recomputed
    statements: OfStatements
    tables: dict[str, Table]
    overrides: list[Override] = []

    def kind(self, table: str, row: Mapping[str, str], column: str) -> Literal["set", "ratio", "value"]:
        """Return what kind of number a cell of a published table is, if it is no fact of a dataset."""
        about = self.tables[table]
        if any(condition.holds(row, column) for condition in about.set):
            return "set"
        if column != "seconds":
            return "value"
        return "set" if row.get("solver") == about.ratio_to else "ratio"

    def tolerance(self, table: str, row: Mapping[str, str], column: str) -> Tolerance:
        """Return the tolerance for a cell: of the first override that names it, else that of its column."""
        for override in self.overrides:
            named = (not override.datasets or row.get("dataset") in override.datasets) and (
                not override.solvers or row.get("solver") in override.solvers
            )
            if (override.table, override.column) == (table, column) and named:
                return override
        return self.values[column]

    def tolerance_of(self, quantity: str) -> Tolerance:
        """Return the tolerance for a quantity of a sentence: its own, that of errors for a share, that of counts."""
        declared = quantity_of(quantity)
        names = (declared.published, quantity) if declared is not None else ()
        is_share = declared is not None and declared.is_share
        name = next((candidate for candidate in names if candidate in self.values), "")
        return self.values[name or ("test_error_percent" if is_share else "support_vectors")]


@cache
def rules() -> Rules:
    """Return the rules.

    Raises
    ------
    ConfigError
        If the file cannot be read, or does not speak of every published table and of what exists only.
    """
    file = yaml_text.read(resources.bundled("configs/published") / FILE, ConfigError)
    read: Rules = file.root.validated(Rules)
    check_tables(file["tables"])
    return read


def check_tables(node: Node) -> None:
    """Reject a mapping that leaves out a published table, or has one that does not exist."""
    for name in node.value:
        if name not in published.names():
            raise node.unknown("table", name, published.names())
    for name in published.names():
        if name not in node.value:
            raise node.error(f"'{name}' is missing; every reported table must be listed here")


_PERCENT = 100.0
_ROUNDING = 1e-12  # relative; what sums in another order may differ by
ROUNDED_UP = 1 + 1e-9  #: times which a tolerance is, for the rounding of what is held to it


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
            Verdict.REPRODUCED if is_within(off, floor) else Verdict.NOT_REPRODUCED,
            floor,
            remark="nothing in it is random",
        )
    few = measured.runs < rules().least_runs and published.deviation is None
    if measured.deviation is None or few:
        remark = "a single run" if measured.runs == 1 else f"{measured.runs} runs"
        return Judgement(Verdict.REPRODUCED if is_within(off, floor) else Verdict.INCONCLUSIVE, floor, remark=remark)
    deviations = (published.deviation if published.deviation is not None else measured.deviation, measured.deviation)
    squares = [s * s / n for s, n in zip(deviations, (published.runs, measured.runs), strict=True)]
    error = math.sqrt(sum(squares))
    allowed = max(floor, min(_cap(published.mean, tolerance), rules().standard_errors * error))
    if is_within(off, allowed):
        return Judgement(Verdict.REPRODUCED, allowed)
    if not error:
        return Judgement(Verdict.NOT_REPRODUCED, allowed, remark="all runs came out the same: no test")
    has_spread = published.deviation is not None and published.runs > 1
    freedom = [measured.runs - 1, published.runs - 1] if has_spread else [measured.runs - 1]
    shares = [square / sum(squares) for square in reversed(squares)] if has_spread else [1.0]
    degrees = 1 / sum(share * share / df for share, df in zip(shares, freedom, strict=True))
    from scipy.special import stdtr

    p_value = float(2 * stdtr(degrees, -off / error))
    return Judgement(
        Verdict.NOT_REPRODUCED if p_value < rules().significance else Verdict.INCONCLUSIVE, allowed, p_value
    )


def is_within(off: float, allowed: float) -> bool:
    """Return whether a difference is no more than is allowed, but for rounding: that of 33% and 30% is 3%."""
    return off <= allowed * ROUNDED_UP


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
    if is_within(times, rules().ratios.agrees):
        return Judgement(Verdict.REPRODUCED)
    scatter = math.exp(rules().standard_errors * math.hypot(measured.error, printed_error))
    if is_within(times, wide):
        return Judgement(Verdict.WITHIN_5X)
    if times <= wide * scatter:
        return Judgement(Verdict.INCONCLUSIVE, remark=f"its scatter is {scatter:.2g} times")
    return Judgement(Verdict.NOT_REPRODUCED)


def judge_exactly(published: str, counted: float, is_p_value: bool = False) -> Judgement:
    """Return whether a size, or what was recomputed from reported numbers, is the reported one to its last digit."""
    number = float(published)
    allowed = rules().recomputed.p_value * number if is_p_value else half_unit(published)
    return Judgement(
        Verdict.REPRODUCED if is_within(abs(counted - number), allowed) else Verdict.NOT_REPRODUCED, allowed
    )

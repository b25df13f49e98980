"""Values of two solvers, paired over splits and seeds, and their differences: for claims, and for ``compare``.

One run stands beside all seeds of the other where nothing in it is random; a single run of any other solver has one
partner, since with more its own variance would vanish. Training seconds that were disturbed count as missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any, NamedTuple, TypeVar

from mpu_bench import solvers
from mpu_bench.core.solver import types_of
from mpu_bench.quantities import Record, is_seconds
from mpu_bench.results.means import grouped
from mpu_bench.scaled import parameters_in
from mpu_bench.verdict.judge import rules

_Value = TypeVar("_Value")


def by_pair(rows: Iterable[Record], quantity: str) -> dict[Any, float]:
    """Return a quantity by split and seed, without disturbed seconds; of several rows of one seed the mean."""
    known = grouped((row for row in rows if row.judged(quantity) is not None), lambda row: row.pair)
    return {pair: fmean(row.judged(quantity) for row in several) for pair, several in known.items()}


def is_deterministic(rows: Sequence[Record]) -> bool:
    """Return whether nothing in the runs of these rows is random, so that one run says all."""
    return all(row.solver in solvers.SOLVERS and solvers.load(row.solver).deterministic for row in rows)


def has_no_budget(row: Record) -> bool:
    """Return whether a run may keep any number of vectors: it has no budget, given or tuned."""
    if row.budget_vectors is not None:
        return False
    if not row.tuned or row.solver not in solvers.SOLVERS:
        return True
    return "vectors" not in types_of(solvers.load(row.solver)).keys() - parameters_in(row.parameters).keys()


def is_certain(quantity: str, rows: Sequence[Record]) -> bool:
    """Return whether a quantity of these rows comes out the same each time: seconds never do."""
    return not is_seconds(quantity) and is_deterministic(rows)


def is_single(pairs: Collection[Any]) -> bool:
    """Return whether of these pairs of split and seed there is one for each split."""
    return len({split for split, _ in pairs}) == len(pairs)


def partners(
    first: Mapping[Any, _Value],
    second: Mapping[Any, _Value],
    certain: tuple[bool, bool],
    mean: Callable[[Sequence[_Value]], _Value] | None = None,
) -> list[tuple[_Value, _Value]]:
    """Return what two sides have of each split and seed that both have.

    Where one has a single run of each split, it stands beside all seeds of the other if it comes out the same each
    time; else beside one, for with more its own variance would vanish.

    Parameters
    ----------
    first, second : mapping
        Values, or runs, by split and seed.
    certain : (bool, bool)
        Whether what each side has comes out the same each time.
    mean : callable, optional
        The mean over the seeds of the other, beside which a single run that is not certain stands; without it, such a
        run stands beside that of its own seed.
    """
    of, than = beside(first, second, certain, mean)
    return [(value, than[pair]) for pair, value in of.items() if pair in than]


def beside(
    first: Mapping[Any, _Value],
    second: Mapping[Any, _Value],
    certain: tuple[bool, bool],
    mean: Callable[[Sequence[_Value]], _Value] | None = None,
) -> tuple[Mapping[Any, _Value], Mapping[Any, _Value]]:
    """Return both sides by the splits and seeds at which they stand beside each other; see `partners`."""
    sides = [first, second]
    for one, other in ((0, 1), (1, 0)):
        if is_single(sides[one]):
            if certain[one]:
                sides[one] = _at_seeds_of(sides[other], sides[one], lambda several: several[0])
            elif mean is not None:
                sides[other] = _at_seeds_of(sides[one], sides[other], mean)
    return sides[0], sides[1]


def _at_seeds_of(
    beside: Mapping[Any, _Value], values: Mapping[Any, _Value], mean: Callable[[Sequence[_Value]], _Value]
) -> Mapping[Any, _Value]:
    """Return the mean of each split at all seeds that the other side has of it; the values where it has no split."""
    by_split = grouped(values, lambda pair: pair[0])
    of_split = {split: mean([values[pair] for pair in pairs]) for split, pairs in by_split.items()}
    return {pair: of_split[pair[0]] for pair in beside if pair[0] in of_split} or values


class Difference(NamedTuple):
    """A mean, of values or of differences, and its standard error, None where it cannot be known.

    Of how many pairs it is; of none where nothing is random.
    """

    mean: float
    error: float | None
    pairs: int = 0

    @property
    def least(self) -> float | None:
        """What is left of it beyond noise, zero if nothing is; None where noise is not known."""
        if self.error is None:
            return None
        return math.copysign(max(abs(self.mean) - rules().statements.standard_errors * self.error, 0.0), self.mean)


def difference(of: Mapping[Any, float], than: Mapping[Any, float], certain: tuple[bool, bool]) -> Difference | None:
    """Return ``than`` - ``of``, paired over splits and seeds; by the means alone where they have none in common."""
    if not of or not than:
        return None
    differences = [other - one for one, other in partners(of, than, certain, fmean)]
    if not differences:
        return unpaired(mean_of(of.values()), mean_of(than.values()))
    apart = mean_of(differences)
    return apart._replace(error=0.0) if all(certain) else apart._replace(pairs=len(differences))


def mean_of(values: Collection[float]) -> Difference:
    """Return a mean with its standard error."""
    return Difference(fmean(values), stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None)


def unpaired(of: Difference, than: Difference) -> Difference:
    """Return ``than`` - ``of``, two means that have nothing in common."""
    known = None if of.error is None or than.error is None else math.hypot(of.error, than.error)
    return Difference(than.mean - of.mean, known)


def p_value_of(of: Difference | None) -> float | None:
    """Return the p of the paired t test, one-sided, that a mean below zero is noise; None if its error is not known."""
    from scipy.special import stdtr

    if of is None or of.error is None or (of.error and of.pairs < 2):
        return None
    if not of.error and of.pairs:  # pairs that agree by chance, of which only the signs say something
        return 2.0**-of.pairs if of.mean < 0 else 1.0
    return float(stdtr(of.pairs - 1, of.mean / of.error)) if of.error else float(of.mean >= 0)

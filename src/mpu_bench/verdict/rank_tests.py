"""Whether solvers differ over many datasets: Wilcoxon's signed ranks for two, Friedman's ranks for several.

Both as Demšar recommends them ("Statistical comparisons of classifiers over multiple data sets", JMLR 7, 2006), and as
frank-wolfe-2012, section 5.6, uses them: signed ranks with Pratt's zeros and exact probabilities, Friedman's statistic
in the form of Iman and Davenport.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy  # whose stats are imported where they are first used: they take a second of every command
from numpy.typing import NDArray

from mpu_bench.errors import StoreError, check_known

Alternative = Literal["two-sided", "less", "greater"]
#: Two differences that are equal but for the rounding of a subtraction, such as 0.3 - 0.2 and 0.2 - 0.1: "as ties",
#: they share a rank; "as computed", the last bit decides their order, as in programs that rank doubles without care.
Ties = Literal["as ties", "as computed"]

LEVEL = 0.05  #: of significance
#: with fewer pairs, not even differences of one sign alone are significant: they have a probability of 2 / 2^N
MIN_PAIRS = 1 + math.ceil(math.log2(1 / LEVEL))
_DIGITS = 9  # of the larger number of a pair: what its difference has beyond them is rounding
# Of pairs. The exact probability takes about N^3 / 2 additions, here 0.3 seconds; the normal one is then off by a
# thousandth of itself where p is a few hundredths.
_EXACT_PAIRS = 500


class Wilcoxon(NamedTuple):
    """The outcome of Wilcoxon's signed rank test."""

    statistic: float  #: W, the smaller of the sums of positive and negative ranks
    p_value: float
    pairs: int  #: how many pairs there are, with those that do not differ
    exact: bool  #: whether the probability is exact, else it is that of the normal approximation


class Friedman(NamedTuple):
    """The outcome of Friedman's test."""

    statistic: float  #: F of Iman and Davenport
    #: its upper tail, with k - 1 and (k - 1)(N - 1) degrees of freedom; exact where all datasets rank alike
    p_value: float
    chi_squared: float  #: Friedman's own statistic
    average_ranks: tuple[float, ...]  #: of the k solvers; the best has the lowest
    datasets: int  #: N


def matched(rows: Iterable[Mapping[str, Any]], quantity: str, solvers: Sequence[str]) -> NDArray[np.float64]:
    """Return a quantity of several solvers on the datasets where all of them have it.

    Parameters
    ----------
    rows : iterable of mapping
        A results table or a published one: ``dataset``, ``solver`` and the quantity's column. Values that are missing
        or empty leave their dataset out.
    quantity : str
        The column, such as ``"train_seconds_mean"``.
    solvers : sequence of str

    Returns
    -------
    array of float64, shape (N, k)
        A row per dataset, in the table's order, a column per solver.

    Raises
    ------
    StoreError
        If no row has the quantity or the solver, or a solver has two rows of one dataset.
    """
    by_dataset: dict[str, dict[str, float]] = {}
    table = list(rows)
    columns, names = {column for row in table for column in row}, {str(row["solver"]) for row in table}
    for wanted, valid, kind in [(quantity, columns, "column"), *((solver, names, "solver") for solver in solvers)]:
        check_known(wanted, valid, f"the table has no {kind} '{wanted}'", StoreError)
    for row in table:
        of_dataset = by_dataset.setdefault(str(row["dataset"]), {})
        if row["solver"] in of_dataset and row["solver"] in solvers:
            raise StoreError(f"the table has more than one row of {row['solver']} on {row['dataset']}")
        if row.get(quantity) not in {None, ""}:
            of_dataset[str(row["solver"])] = float(row[quantity])
    whole = [[values[solver] for solver in solvers] for values in by_dataset.values() if set(solvers) <= set(values)]
    return np.array(whole, np.float64).reshape(len(whole), len(solvers))


def wilcoxon(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    alternative: Alternative = "two-sided",
    ties: Ties = "as ties",
) -> Wilcoxon:
    """Return Wilcoxon's test of whether two quantities differ over matched datasets.

    Pairs that do not differ are ranked and their ranks not counted (Pratt); equal differences share the mean of their
    ranks. The probability is that of all ways to give signs to these very ranks, up to `_EXACT_PAIRS` pairs; beyond, it
    is that of the normal distribution with their variance. It is 1 where no pair differs.

    Parameters
    ----------
    first, second : array, shape (N,)
    alternative : {"two-sided", "less", "greater"}
        ``"less"``: that the first is smaller.
    ties : {"as ties", "as computed"}
        What becomes of differences that only rounding tells apart.

    Raises
    ------
    StoreError
        If there is no pair.
    """
    if not len(first):
        raise StoreError("there is no pair of values to compare")
    differences = first - second
    if ties == "as ties":
        differences = _rounded(differences, np.maximum(np.abs(first), np.abs(second)))
    ranks = scipy.stats.rankdata(np.abs(differences))
    positive, negative = float(ranks[differences > 0].sum()), float(ranks[differences < 0].sum())
    counted = ranks[differences != 0]
    exact = len(first) <= _EXACT_PAIRS
    at_most = _at_most if exact else _nearly_at_most
    less, greater = at_most(counted, positive), at_most(counted, negative)  # the sums are distributed alike
    p_value = {"less": less, "greater": greater, "two-sided": min(1.0, 2 * min(less, greater))}[alternative]
    return Wilcoxon(min(positive, negative), p_value, len(first), exact)


def signed_rank_sums(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how likely each sum of positive ranks is when every sign is as likely as the other.

    Parameters
    ----------
    ranks : array, shape (N,)
        Whole or half.

    Returns
    -------
    array of float64, shape (1 + 2 sum of ranks,)
        The probabilities of the sums 0, 1/2, 1, ...
    """
    doubled = np.rint(2 * ranks).astype(np.int64)
    likely = np.zeros(1 + int(doubled.sum()))
    likely[0] = 1.0
    for rank in doubled:
        likely[rank:] += likely[:-rank].copy()
        likely /= 2
    return likely


def typical(differences: NDArray[np.float64]) -> tuple[float, float, float] | None:
    """Return the Hodges-Lehmann estimate of a difference and the ends of the interval that belongs to Wilcoxon's test.

    The estimate is the median of the means of all pairs of differences, each with itself, too. A shift within the
    interval is one that the two-sided test at `LEVEL` does not refuse. None below `MIN_PAIRS`: none is refused.

    Parameters
    ----------
    differences : array, shape (N,)
    """
    if len(differences) < MIN_PAIRS:
        return None
    upper = np.triu_indices(len(differences))
    means = np.sort((differences[:, None] + differences)[upper] / 2)
    likely = signed_rank_sums(np.arange(1.0, len(differences) + 1))[::2]  # of whole sums
    refused = int(np.searchsorted(np.cumsum(likely), LEVEL / 2, side="right"))
    return float(np.median(means)), float(means[refused - 1]), float(means[-refused])


def _at_most(ranks: NDArray[np.float64], largest: float) -> float:
    return float(signed_rank_sums(ranks)[: 1 + round(2 * largest)].sum())


def _nearly_at_most(ranks: NDArray[np.float64], largest: float) -> float:
    if not len(ranks):
        return 1.0
    return float(scipy.stats.norm.cdf((largest - ranks.sum() / 2) / (np.sqrt(ranks @ ranks) / 2)))


def _rounded(numbers: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers of some sizes, or differences of such, without the digits that are rounding only."""
    digits = _DIGITS - np.ceil(np.log10(np.where(sizes > 0, sizes, 1.0)))
    return np.array([round(float(number), int(kept)) for number, kept in zip(numbers, digits, strict=True)])


def friedman(
    values: NDArray[np.float64], best: Literal["lowest", "highest"] = "lowest", corrected: bool = True
) -> Friedman:
    """Return Friedman's test of whether several solvers differ over datasets.

    Parameters
    ----------
    values : array, shape (N, k)
        Of k solvers on N datasets, as `matched` returns them.
    best : {"lowest", "highest"}
        Which value gets rank 1; values that are equal but for rounding share the mean of their ranks.
    corrected : bool
        Whether the statistic is divided by what ties take from the variance of the ranks, as programs do; Demšar's
        formula does not.

    Raises
    ------
    StoreError
        If there are fewer than two datasets or two solvers.
    """
    datasets, k = values.shape
    if datasets < 2 or k < 2:
        raise StoreError(f"Friedman's test needs two datasets and two solvers; there are {datasets} and {k}")
    rounded = np.array([_rounded(row, np.abs(row)) for row in values])
    ranks = scipy.stats.rankdata(rounded if best == "lowest" else -rounded, axis=1)
    average = ranks.mean(axis=0)
    maximum = datasets * (k - 1)  # the statistic where all datasets rank alike
    variance = ranks.var(axis=1).sum() if corrected else datasets * (k**2 - 1) / 12
    chi_squared = float(maximum * ((average - (k + 1) / 2) ** 2).mean() * datasets / variance) if variance else 0.0
    rest = maximum - chi_squared
    if rest > maximum * 10.0**-_DIGITS:
        statistic = (datasets - 1) * chi_squared / rest
        p_value = float(scipy.stats.f.sf(statistic, k - 1, (k - 1) * (datasets - 1)))
    else:
        statistic, p_value = np.inf, _all_alike(ranks)
    return Friedman(float(statistic), p_value, chi_squared, tuple(average.tolist()), datasets)


def _all_alike(ranks: NDArray[np.float64]) -> float:
    """Return how probable it is that all datasets rank alike where each ranks by chance: F's tail would say 0."""
    _, ties = np.unique(ranks[0], return_counts=True)
    orders = math.factorial(ranks.shape[1]) // math.prod(map(math.factorial, ties.tolist()))
    return float(orders) ** (1 - len(ranks))


def critical_difference(solvers: int, datasets: int) -> float:
    """Return by how much the average ranks of two of several solvers must differ to be told apart at `LEVEL`.

    Nemenyi's test: q sqrt(k (k + 1) / (6 N)), q the studentized range of k with infinite degrees of freedom by sqrt 2.
    """
    q = float(scipy.stats.studentized_range.ppf(1 - LEVEL, solvers, np.inf)) / np.sqrt(2)
    return float(q * np.sqrt(solvers * (solvers + 1) / (6 * datasets)))


def indistinguishable(outcome: Friedman) -> tuple[tuple[int, int], ...]:
    """Return the groups of solvers that are not told apart at `LEVEL`.

    Where Friedman's test does not refuse that all are alike, that is all of them; else those whose average ranks differ
    by less than Nemenyi's critical difference.

    Returns
    -------
    tuple of tuple of int
        The positions, best rank first, of the first and last solver of each group; no group lies in another.
    """
    ranks = sorted(outcome.average_ranks)
    if outcome.p_value >= LEVEL:
        return ((0, len(ranks) - 1),)
    difference = critical_difference(len(ranks), outcome.datasets)
    lasts = [int(np.searchsorted(ranks, rank + difference)) - 1 for rank in ranks]
    reached = [-1, *lasts[:-1]]
    return tuple((first, last) for first, last in enumerate(lasts) if last > max(first, reached[first]))

"""Whether solvers differ over many datasets: Wilcoxon's signed ranks for two, Friedman's ranks for several.

Both as Demšar recommends them ("Statistical comparisons of classifiers over multiple data sets", JMLR 7, 2006), and as
frank-wolfe-2012, section 5.6, uses them: signed ranks with Pratt's zeros and exact probabilities where no differences
are zero or tied, Friedman's statistic with the correction of Iman and Davenport.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from mpu_bench.errors import StoreError, nearest

Alternative = Literal["two-sided", "less", "greater"]

LEVEL = 0.05  #: of significance
_DIGITS = 9  #: of a difference, beyond which it is rounding; 0.3 - 0.2 and 0.2 - 0.1 are tied


class Wilcoxon(NamedTuple):
    """The outcome of Wilcoxon's signed rank test."""

    statistic: float  #: W, the smaller of the sums of positive and negative ranks
    p_value: float
    pairs: int  #: how many pairs there are, with those that do not differ
    exact: bool  #: whether the probability is exact, else it is that of the normal approximation


class Friedman(NamedTuple):
    """The outcome of Friedman's test."""

    statistic: float  #: F of Iman and Davenport
    p_value: float  #: its upper tail, with k - 1 and (k - 1)(N - 1) degrees of freedom
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
        if wanted not in valid:
            raise StoreError(f"the table has no {kind} '{wanted}': {nearest(wanted, valid)}")
    for row in table:
        of_dataset = by_dataset.setdefault(str(row["dataset"]), {})
        if row["solver"] in of_dataset and row["solver"] in solvers:
            raise StoreError(f"the table has more than one row of {row['solver']} on {row['dataset']}")
        if row.get(quantity) not in {None, ""}:
            of_dataset[str(row["solver"])] = float(row[quantity])
    whole = [[values[solver] for solver in solvers] for values in by_dataset.values() if set(solvers) <= set(values)]
    return np.array(whole, np.float64).reshape(len(whole), len(solvers))


def wilcoxon(
    first: NDArray[np.float64], second: NDArray[np.float64], alternative: Alternative = "two-sided"
) -> Wilcoxon:
    """Return Wilcoxon's test of whether two quantities differ over matched datasets.

    Pairs that do not differ are ranked and their ranks not counted (Pratt). The probability is exact where no
    difference is zero and no two are equal in size, else that of the normal approximation.

    Parameters
    ----------
    first, second : array, shape (N,)
    alternative : {"two-sided", "less", "greater"}
        ``"less"``: that the first is smaller.

    Raises
    ------
    StoreError
        If no pair differs.
    """
    differences = _rounded(first - second, np.maximum(np.abs(first), np.abs(second)))
    sizes = np.abs(differences)
    if not sizes.any():
        raise StoreError("no pair of values differs: there is nothing to rank")
    exact = bool(sizes.all()) and len(np.unique(sizes)) == len(sizes)
    method: Literal["exact", "approx"] = "exact" if exact else "approx"
    outcome = stats.wilcoxon(differences, zero_method="pratt", alternative=alternative, method=method)
    ranks = stats.rankdata(sizes)
    statistic = min(ranks[differences > 0].sum(), ranks[differences < 0].sum())
    return Wilcoxon(float(statistic), float(outcome.pvalue), len(differences), exact)


def friedman(values: NDArray[np.float64], best: Literal["lowest", "highest"] = "lowest") -> Friedman:
    """Return Friedman's test of whether several solvers differ over datasets.

    Parameters
    ----------
    values : array, shape (N, k)
        Of k solvers on N datasets, as `matched` returns them.
    best : {"lowest", "highest"}
        Which value gets rank 1; equal values share the mean of their ranks.

    Raises
    ------
    StoreError
        If there are fewer than two datasets or two solvers.
    """
    datasets, k = values.shape
    if datasets < 2 or k < 2:
        raise StoreError(f"Friedman's test needs two datasets and two solvers; here are {datasets} and {k}")
    ranks = stats.rankdata(values if best == "lowest" else -values, axis=1)
    average = ranks.mean(axis=0)
    chi_squared = 12 * datasets / (k * (k + 1)) * (float(average @ average) - k * (k + 1) ** 2 / 4)
    rest = datasets * (k - 1) - chi_squared
    statistic = (datasets - 1) * chi_squared / rest if rest > 0 else np.inf  # all datasets rank alike
    p_value = float(stats.f.sf(statistic, k - 1, (k - 1) * (datasets - 1)))
    return Friedman(float(statistic), p_value, chi_squared, tuple(average.tolist()), datasets)


def critical_difference(solvers: int, datasets: int) -> float:
    """Return by how much the average ranks of two of several solvers must differ to be told apart at `LEVEL`.

    Nemenyi's test: q sqrt(k (k + 1) / (6 N)), q the studentized range of k with infinite degrees of freedom by sqrt 2.
    """
    q = float(stats.studentized_range.ppf(1 - LEVEL, solvers, np.inf)) / np.sqrt(2)
    return float(q * np.sqrt(solvers * (solvers + 1) / (6 * datasets)))


def _rounded(differences: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return differences to `_DIGITS` of the largest number, so that what only rounding tells apart is a tie."""
    least = float(sizes.max()) * 10.0**-_DIGITS
    return np.rint(differences / least) * least if least > 0 else differences

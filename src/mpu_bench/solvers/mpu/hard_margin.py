"""What is known of the maximum margin d when a = sum_i I_i z_i with I_i >= 0: section 3 of mpu-2010.

    d' = min_i a.z_i / ||a||   <=   d = max_u min_i u.z_i, ||u|| = 1   <=   ||a|| / sum_i I_i

The left side is the margin achieved; the right one holds because u.a = sum_i I_i u.z_i >= d sum_i I_i for the best u.
Their ratio is the fraction (12) of the maximum margin that is certified after running.

Where d = 0 the algorithms would never end. A run ends once the right side is small enough (mpu.py), which takes long
with few examples to blame. The commonest causes are therefore looked for at the start: a zero z_i, and equal rows of
opposite classes, for which z_i = -z_j with any kernel.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.models import LinearModel
from mpu_bench.core.rows import Rows, take
from mpu_bench.errors import ConfigError
from mpu_bench.texts import counted


def guaranteed_fraction(b: float, delta_b: float, R2: float) -> float:
    """Return the fraction of the maximum margin that is certain before running, (11)."""
    return float(1.0 / (1.0 + min(delta_b, b + R2) / b))


def update_bound(b: float, delta_b: float, R2: float, margin: float) -> float:
    """Bound the number of updates by Theorem 1, (10), where the maximum margin is at least ``margin``, above 0.

    Without unlearning, ``delta_b`` infinite, the second term is zero: the bound of the perceptron with margin.
    """
    reach = R2 + 2.0 * b
    return float(reach / margin**2 * (1.0 + reach / (4.0 * (delta_b - R2))))


def check_shortest(accuracy: float, b: float, squared_norms: NDArray[np.float64]) -> None:
    """Refuse an accuracy for which the shortest example would need an I_i beyond 2^53.

    Raises
    ------
    ConfigError
        Naming the lengths and the accuracy.
    """
    norms = squared_norms[squared_norms > 0.0]
    if len(norms) and b / norms.min() > 2.0**53:
        raise ConfigError(
            f"the longest training row is {np.sqrt(norms.max() / norms.min()):.1e} times as long as the shortest, for"
            f" which no double holds the I = {b / norms.min():.1e} of accuracy {accuracy}; scale the features so that"
            " rows are of similar length, or take a larger accuracy"
        )


def obvious_cause(rows: Rows, signs: NDArray[np.float64], squared_norms: NDArray[np.float64], features: int) -> str:
    """Return why there is no margin where a look at the rows shows it, else nothing."""
    if zero := int(np.count_nonzero(squared_norms == 0.0)):
        return f"{counted(zero, 'training row')} {'is' if zero == 1 else 'are'} zero"
    if twins := opposite_rows(rows, signs, features):
        return f"training rows {twins[0] + 1} and {twins[1] + 1} are equal and of opposite classes"
    return ""


def opposite_rows(rows: Rows, signs: NDArray[np.float64], features: int) -> tuple[int, int] | None:
    """Find two equal rows of opposite classes: rows with the same product with a random vector are looked at."""
    probe = np.random.Generator(np.random.PCG64(0)).random((1, features))
    products = LinearModel(probe).scores(rows)[:, 0]
    order = np.lexsort((signs, products))
    before, after = order[:-1], order[1:]
    suspects = (products[before] == products[after]) & (signs[before] != signs[after])
    for i, j in zip(before[suspects], after[suspects], strict=True):
        pair = zip(take(rows, np.array([i])), take(rows, np.array([j])), strict=True)
        if all(np.array_equal(one, other) for one, other in pair):
            return int(min(i, j)), int(max(i, j))
    return None

"""What is known of the maximum margin d when a = sum_i I_i z_i with I_i >= 0: section 3 of mpu-2010.

    d' = min_i a.z_i / ||a||   <=   d = max_u min_i u.z_i, ||u|| = 1   <=   ||a|| / sum_i I_i

The left side is the margin achieved; the right one holds because u.a = sum_i I_i u.z_i >= d sum_i I_i for the best u.
Their ratio is the fraction (12) of the maximum margin that is certified after running.

Where d = 0 the algorithms would never end. A run ends once the right side is small enough (active_sets.py), which takes
long with few examples to blame. The commonest causes are therefore looked for at the start: a zero z_i, and equal rows
of opposite classes, for which z_i = -z_j with any kernel.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.models import LinearModel
from mpu_bench.core.rows import take
from mpu_bench.core.solver import Measures
from mpu_bench.errors import ConfigError
from mpu_bench.solvers.mpu import active_sets
from mpu_bench.solvers.mpu.active_sets import Rule, State, has_no_margin
from mpu_bench.solvers.mpu.responses import (
    LinearResponses,
    Responses,
    recombined_squared_length,
    squared_length,
    survey,
)


def guaranteed_fraction(rule: Rule, largest_squared_norm: float) -> float:
    """Give the fraction of the maximum margin that is certain before running, (11)."""
    b, gap = rule.threshold, rule.unlearning - rule.threshold
    return float(1.0 / (1.0 + min(gap, b + largest_squared_norm) / b))


def update_bound(rule: Rule, largest_squared_norm: float, margin: float) -> float:
    """Bound the number of updates by Theorem 1, (10), where the maximum margin is at least ``margin``, above 0.

    Without unlearning the second term is zero: the bound of the perceptron with margin.
    """
    gap = rule.unlearning - rule.threshold
    reach = largest_squared_norm + 2.0 * rule.threshold
    return reach / margin**2 * (1.0 + reach / (4.0 * (gap - largest_squared_norm)))


def check_lengths(name: str, accuracy: float, rule: Rule, squared_norms: NDArray[np.float64]) -> None:
    """Refuse an accuracy for which the shortest example would need an I_i beyond 2^53.

    Raises
    ------
    ConfigError
        Naming the solver and its accuracy.
    """
    norms = squared_norms[squared_norms > 0.0]
    if len(norms) and rule.threshold / norms.min() > 2.0**53:
        raise ConfigError(
            f"{name}: accuracy {accuracy} needs I = {rule.threshold / norms.min():.1e} for the shortest training row,"
            " beyond 2^53; take a larger accuracy"
        )


def start(held: Responses, squared_norms: NDArray[np.float64], rule: Rule, generator: NDArray[np.uint64]) -> State:
    """Start at a = 0, or end at once where a row is zero or two of opposite classes are equal; not counted."""
    hopeless = bool((squared_norms == 0.0).any()) or opposite_rows(held) is not None
    return active_sets.start(held, squared_norms, rule, generator, no_margin=hopeless)


def opposite_rows(held: Responses) -> tuple[int, int] | None:
    """Find two equal rows of opposite classes: rows with the same product with a random vector are looked at."""
    features = len(held.weights if isinstance(held, LinearResponses) else held.example)
    probe = np.random.Generator(np.random.PCG64(0)).random((1, features))
    products = LinearModel(probe).scores(held.rows)[:, 0]
    order = np.lexsort((held.signs, products))
    before, after = order[:-1], order[1:]
    suspects = (products[before] == products[after]) & (held.signs[before] != held.signs[after])
    for i, j in zip(before[suspects], after[suspects], strict=True):
        pair = zip(take(held.rows, np.array([i])), take(held.rows, np.array([j])), strict=True)
        if all(np.array_equal(one, other) for one, other in pair):
            return int(min(i, j)), int(max(i, j))
    return None


def measures(state: State, rule: Rule) -> Measures:
    """Certify the margin of a; without a fraction and a bound while it is not above zero."""
    largest, total = state.squared_norms.max(), state.multiplicities.sum()
    length = np.sqrt(squared_length(state.held, state.multiplicities))
    if length == 0.0:
        return Measures()
    wanted = min(guaranteed_fraction(rule, largest), 1.0 / (1.0 + rule.stop))
    margin = float(survey(state.held, rule.threshold)[1] / length)
    if margin <= 0.0:
        return Measures(margin=margin, margin_fraction_wanted=wanted)
    most = np.sqrt(recombined_squared_length(state.held, state.multiplicities)) / total
    return Measures(
        margin=margin,
        margin_fraction=float(margin / most),  # (12)
        margin_fraction_wanted=wanted,
        update_bound=float(update_bound(rule, largest, margin)),
    )


def remark(state: State) -> str:
    """Say that the data are not separable, where the run ended with that answer."""
    if not has_no_margin(state):
        return ""
    zero = int(np.count_nonzero(state.squared_norms == 0.0))
    if zero:
        return f"the data are not separable: {zero} training rows are zero"
    if twins := opposite_rows(state.held):
        return f"the data are not separable: training rows {twins[0]} and {twins[1]} are equal and of opposite classes"
    most = np.sqrt(recombined_squared_length(state.held, state.multiplicities)) / state.multiplicities.sum()
    relative = most / np.sqrt(state.squared_norms.max())
    return (
        f"the data are not separable with a margin above {most:.2g} ({relative:.2g} of the longest example), certified"
    )

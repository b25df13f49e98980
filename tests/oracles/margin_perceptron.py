"""MPU-2010's Algorithm 1, update by update, in plain Python."""

from functools import cache

import numpy as np

from oracles import quadratic_programs, toys


def present(patterns, order, I_max, b, delta_b):
    """Start at zero and present patterns in the order given, each again while it is learned.

    ``I_max`` is a number or an array (n,); an update is by less than one where no more is left to a bound. Return the
    weights, the multiplicities and the number of single updates.
    """
    weights, updates, most = np.zeros(patterns.shape[1]), 0, np.broadcast_to(I_max, len(patterns))
    multiplicities = np.where(patterns.any(axis=1), 0.0, most)
    for i in order:
        z = patterns[i]
        if weights @ z >= b + delta_b:
            while weights @ z >= b + delta_b and multiplicities[i] > 0:
                part = min(1.0, multiplicities[i])
                weights -= part * z
                multiplicities[i] -= part
                updates += 1
            continue
        while weights @ z <= b and multiplicities[i] < most[i]:
            part = min(1.0, most[i] - multiplicities[i])
            weights += part * z
            multiplicities[i] += part
            updates += 1
    return weights, multiplicities, updates


def converged(patterns, I_max, b, delta_b, weights, multiplicities):
    """Return whether no pattern satisfies a condition of (8)."""
    responses = patterns @ weights
    learns = (responses <= b) & (multiplicities < I_max)
    unlearns = (responses >= b + delta_b) & (multiplicities > 0)
    return not np.any(learns | unlearns)


def patterns_of(matrix, labels):
    """Return z_i = y_i x_i."""
    return (2.0 * labels - 1)[:, None] * matrix


@cache
def maximum(data_seed, margin):
    """Return the maximum margin of `oracles.toys.separable`, and R^2."""
    patterns = patterns_of(*toys.separable(seed=data_seed, margin=margin))
    return quadratic_programs.maximum_margin(patterns), (patterns**2).sum(axis=1).max()

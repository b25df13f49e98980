"""The linear L1-SVM without bias, solved slowly and plainly in double: what the solvers are held to."""

from functools import cache

import numpy as np


def primal(examples, signs, weights, C):
    return weights @ weights / 2 + C * np.maximum(0, 1 - signs * (examples @ weights)).sum()


def dual(examples, signs, alphas):
    weights = (alphas * signs) @ examples
    return alphas.sum() - weights @ weights / 2


def solve(examples, signs, C, gap=1e-9, most_sweeps=20_000):
    """Coordinate ascent on the dual in cyclic order; return (weights, alphas, optimum), certified to ``gap``."""
    patterns = signs[:, None] * examples
    gram = patterns @ patterns.T
    alphas = np.zeros(len(signs))
    alphas[np.diag(gram) == 0] = C  # nothing but the bound stops a zero row
    for sweep in range(most_sweeps):
        for i in np.flatnonzero(np.diag(gram)):
            alphas[i] = np.clip(alphas[i] + (1 - gram[i] @ alphas) / gram[i, i], 0, C)
        if sweep % 20 == 19:
            weights = alphas @ patterns
            upper, lower = primal(examples, signs, weights, C), dual(examples, signs, alphas)
            if upper - lower <= gap * lower:
                return weights, alphas, lower
    raise AssertionError(f"the oracle stopped at a gap of {upper / lower - 1:.1e}")


@cache
def of_toys(make, C, data_seed=0):
    """Solve the problem that a maker of `oracles.toys` makes; the result as of `solve`."""
    matrix, labels = make(seed=data_seed)
    return solve(matrix, 2.0 * labels - 1, C)

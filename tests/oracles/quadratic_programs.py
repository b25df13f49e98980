"""The two problems behind the solvers, as quadratic programs solved densely and in double; each proves its answer."""

import numpy as np
from scipy.optimize import nnls


def soft_margin(gram, C, gap=1e-10, most_steps=300):
    """Maximise ``sum alpha - alpha.gram.alpha / 2`` over ``0 <= alpha <= C`` by an interior point method.

    ``gram`` is that of the z_i = y_i x_i. Gives alpha and the optimum, both within the relative duality gap.
    """
    n = len(gram)
    alphas = np.full(n, C / 2)
    for _ in range(most_steps):
        responses = gram @ alphas
        half = alphas @ responses / 2
        primal, dual = half + C * np.maximum(0, 1 - responses).sum(), alphas.sum() - half
        if primal - dual <= gap * primal:
            return alphas, dual
        barrier = max((primal - dual) * 0.3, 1e-13 * primal) / (2 * n)
        for _newton in range(3):  # Newton's method on the barrier function
            left, right = barrier / alphas, barrier / (C - alphas)
            curvature = np.diag(left / alphas + right / (C - alphas))
            change = np.linalg.solve(gram + curvature, 1 - gram @ alphas + left - right)
            room = np.where(change < 0, alphas, C - alphas) / np.maximum(np.abs(change), 1e-300)
            alphas = alphas + min(1, 0.95 * room.min()) * change
    raise AssertionError(f"the reference stopped at a gap of {primal / dual - 1:.1e}")


def maximum_margin(patterns):
    """Find the largest ``min_i u.z_i`` over unit vectors u, 0 where none is above zero; z are the patterns.

    min ||w|| subject to w.z_i >= 1 is Lawson and Hanson's least distance problem (Solving Least Squares Problems,
    1974, chapter 23): a non-negative least squares problem, whose residual is the answer.
    """
    scale = np.abs(patterns).max()
    target = np.append(np.zeros(patterns.shape[1]), 1.0)
    multipliers, length = nnls(np.vstack([patterns.T / scale, np.ones(len(patterns))]), target, maxiter=10_000)
    if length < 1e-7:
        return 0.0
    direction = patterns.T @ multipliers
    margin = (patterns @ direction).min() / np.linalg.norm(direction)
    most = np.linalg.norm(direction) / multipliers.sum()  # a point of the hull
    assert most * (1 - 1e-9) <= margin <= most * (1 + 1e-12)
    return margin


def factor(gram):
    """Return vectors, one per row, whose inner products are the entries of a positive semi-definite matrix."""
    values, vectors = np.linalg.eigh(gram)
    return vectors * np.sqrt(np.maximum(values, 0))

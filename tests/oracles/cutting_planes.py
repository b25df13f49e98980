"""The one-slack cutting-plane problem, plainly."""

import numpy as np
from scipy.optimize import minimize


def most_violated(patterns, weights):
    """Return c, the constraint that the weights violate most; shape (n,) of 0 and 1."""
    return (patterns @ weights < 1).astype(float)


def best_dual(planes, offsets, C):
    """Maximise ``beta.b - ||beta.planes||^2 / 2`` over ``beta >= 0, sum beta <= C``, in units of C; return it."""
    gram = C * planes @ planes.T

    def negative(shares):
        return shares @ gram @ shares / 2 - shares @ offsets

    solution = minimize(
        negative,
        np.full(len(offsets), 1 / len(offsets)),
        jac=lambda shares: gram @ shares - offsets,
        bounds=[(0, 1)] * len(offsets),
        constraints={
            "type": "ineq",
            "fun": lambda shares: 1 - shares.sum(),
            "jac": lambda shares: -np.ones(len(shares)),
        },
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    return -C * solution.fun

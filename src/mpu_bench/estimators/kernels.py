"""scikit-learn's words for kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpu_bench.core.kernels import Gaussian, Kernel, Linear, Polynomial
from mpu_bench.core.kernels.polynomial import MOST_DEGREE
from mpu_bench.estimators.inputs import is_sparse

KERNELS = ("linear", "poly", "rbf")
_LEAST_VARIANCE = float(np.finfo(np.float64).tiny)  # of X: less has few digits, and its reciprocal may be infinite


def kernel_named(name: str, gamma: float | str, X: Any, degree: int = 3, coef0: float = 0.0) -> Kernel:
    """Return a kernel by scikit-learn's name and parameters.

    Parameters
    ----------
    name : {"linear", "poly", "rbf"}
        a.b, (gamma a.b + coef0)^degree, or exp(-gamma ||a - b||^2).
    gamma : float, "scale" or "auto"
        ``"scale"``: 1 / (d var(X)), ``"auto"``: 1 / d.
    X : array or CSR matrix, shape (n, d)
        The training rows.
    degree : int
    coef0 : float

    Raises
    ------
    ValueError
        If there is no such kernel, or a parameter is outside its range.
    """
    _check_gamma(gamma)
    if name == "linear":
        return Linear()
    if name == "rbf":
        return Gaussian(_gamma(gamma, X))
    if name == "poly":
        if not isinstance(degree, int | np.integer) or not 0 <= degree <= MOST_DEGREE:
            raise ValueError(f"degree is {degree!r}; it must be a whole number from 0 to {MOST_DEGREE}")
        if not np.isfinite(coef0):
            raise ValueError(f"coef0 is {coef0!r}; it must be finite")
        return Polynomial(_gamma(gamma, X), float(coef0), int(degree))
    raise ValueError(f"kernel is {name!r}; it must be one of {', '.join(map(repr, KERNELS))}")


def _gamma(gamma: float | str, X: Any) -> float:
    if gamma == "auto":
        return 1.0 / int(X.shape[1])
    if gamma == "scale":
        variance = _variance(X)
        if not np.isfinite(variance):
            raise ValueError("the variance of X is too large for gamma='scale'; scale the features down")
        if 0 < variance < _LEAST_VARIANCE:
            raise ValueError(
                f"the variance of X, {variance:.1g}, is too small for gamma='scale'; scale the features up"
            )
        return 1.0 / (int(X.shape[1]) * variance) if variance > 0 else 1.0
    return float(gamma)


def _check_gamma(gamma: float | str) -> None:
    if isinstance(gamma, str) and gamma not in ("scale", "auto"):
        raise ValueError(f"gamma is {gamma!r}; it must be 'scale', 'auto' or a number above 0")
    if not isinstance(gamma, str) and not 0 < gamma < np.inf:
        raise ValueError(f"gamma is {gamma!r}; it must be above 0")


def _variance(X: Any) -> float:
    if not is_sparse(X):
        with np.errstate(over="ignore", invalid="ignore"):
            return float(X.var(dtype=np.float64))
    if not X.has_canonical_format:  # entries of one place stand for their sum
        X = X.copy()
        X.sum_duplicates()
    squares = np.square(X.data, dtype=np.float64).sum() / (X.shape[0] * X.shape[1])
    return float(squares - X.mean(dtype=np.float64) ** 2)

"""scikit-learn's words for kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpu_bench.estimators.inputs import is_sparse
from mpu_bench.estimators.parameters import one_of
from mpu_bench.kernels import KERNELS, Kernel

_LEAST_VARIANCE = float(np.finfo(np.float64).tiny)  # of X: less has few digits, and its reciprocal may be infinite


def kernel_named(name: str, gamma: float | str, X: Any, degree: int = 3, coef0: float = 0.0) -> Kernel:
    """Return a kernel by scikit-learn's name and parameters.

    Parameters
    ----------
    name : {"linear", "poly", "rbf"}, or the name of another kernel
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
    kinds = {kind.sklearn_name or kind.name: kind for kind in KERNELS.values()}
    kind, word_of = kinds[one_of(sorted(kinds), kernel=name)], kinds[name].sklearn_words
    _check_gamma(gamma)
    words: dict[str, Any] = {"degree": int(degree), "coef0": float(coef0)}
    if "gamma" in word_of.values():
        words["gamma"] = _gamma(gamma, X)
    kernel = kind(**{parameter: words[word] for parameter, word in word_of.items()})
    if (misfit := kernel.misfit()) is not None:
        raise ValueError(f"{word_of[misfit[0]]} is {getattr(kernel, misfit[0])!r}; it {misfit[1]}")
    return kernel


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

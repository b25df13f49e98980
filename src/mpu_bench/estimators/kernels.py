"""scikit-learn's words for kernels, and kernel values that the caller gives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from mpu_bench.errors import DataError
from mpu_bench.estimators.inputs import is_sparse, writable
from mpu_bench.estimators.parameters import KernelFunction
from mpu_bench.kernels import KERNELS, Kernel, Precomputed
from mpu_bench.models.inputs import canonical

_MIN_VALUE = 1e-150  # of X, the largest: squares of less have few digits, or none
_MIN_VARIANCE = float(np.finfo(np.float64).tiny)  # of X: less has few digits, and its reciprocal may be infinite


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
    if name not in kinds:
        named = ", ".join(map(repr, sorted(kinds)))
        raise ValueError(f"kernel is {name!r}; it must be one of {named}, 'precomputed', or a function")
    kind, word_of = kinds[name], kinds[name].sklearn_words
    if isinstance(gamma, str) and gamma not in ("scale", "auto"):
        raise ValueError(f"gamma is {gamma!r}; it must be 'scale', 'auto' or a number above 0")
    if not isinstance(gamma, str) and not 0 < gamma < np.inf:
        raise ValueError(f"gamma is {gamma!r}; it must be above 0 and finite")
    words: dict[str, Any] = {"degree": int(degree), "coef0": float(coef0)}
    if "gamma" in word_of.values():
        words["gamma"] = _gamma(gamma, X)
    kernel = kind(**{parameter: words[word] for parameter, word in word_of.items()})
    if (misfit := kernel.misfit()) is not None:
        raise ValueError(f"{word_of[misfit[0]]} is {getattr(kernel, misfit[0])!r}; it {misfit[1]}")
    return kernel


def is_precomputed(kernel: str | KernelFunction) -> bool:
    """Return whether it stands for kernel values that the caller gives."""
    return kernel == "precomputed" if isinstance(kernel, str) else True


def indices(n: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return n rows of a kernel matrix as `Precomputed` wants them; shape (n, 1)."""
    return np.arange(n, dtype=dtype)[:, np.newaxis]


@dataclass(frozen=True)
class GivenValues:
    """Kernel values with the training rows that the caller gives.

    Attributes
    ----------
    kernel : Precomputed
        That of the training rows with each other; without values once they are trained with.
    function : function or None
        That returns them; None where the matrix itself is given.
    rows : array or CSR matrix, or None
        The rows that a function is given as its second argument: those trained with, then the vectors of the model.
    """

    kernel: Precomputed
    function: KernelFunction | None
    rows: Any

    @classmethod
    def of_training_rows(cls, kernel: str | KernelFunction, X: Any, offset: float, certified: bool) -> Self:
        """Return the values of training rows.

        Parameters
        ----------
        kernel : "precomputed" or function
        X : array or CSR matrix, shape (n, d)
        offset, certified
            As of `Precomputed.of_training_rows`.

        Raises
        ------
        DataError
            As there, or if a kernel matrix is sparse, or if the function returns something else.
        """
        function = None if isinstance(kernel, str) else kernel
        if hasattr(function, "get_params"):  # what is set after the fit, as kernel__length_scale, is of the next one
            function = clone(function, safe=False)
        precomputed = Precomputed.of_training_rows(_values(function, X, X), offset, certified)
        return cls(precomputed, function, None if function is None else X)

    def kernel_of(self, X: Any) -> Precomputed:
        """Return the kernel of other rows with those that the model's vectors are of.

        Raises
        ------
        DataError
            If values are not finite or too large, or if the function returns something else.
        """
        return Precomputed.of(_values(self.function, X, self.rows), self.kernel.offset)

    def of_vectors(self, support: NDArray[np.intp]) -> Self:
        """Return what is needed once a model is fitted whose vectors are these training rows."""
        rows = None if self.rows is None else self.rows[support]
        return replace(self, kernel=self.kernel._replace(matrix=self.kernel.matrix[:0, :0].copy()), rows=rows)


def _values(function: KernelFunction | None, X: Any, rows: Any) -> NDArray[Any]:
    """Return the kernel values of X with other rows, as compiled code takes them."""
    if function is None:
        if is_sparse(X):
            raise DataError("with kernel='precomputed' X is a kernel matrix; it must be an array, not sparse")
        return writable(np.ascontiguousarray(X))
    values, shape = np.asarray(function(X, rows)), (X.shape[0], rows.shape[0])
    if values.shape != shape or values.dtype.kind not in "biuf":
        returned = f"an array of {values.dtype}, shape {values.shape}"
        raise DataError(f"kernel(X, Y) returns {returned}; it must return numbers, shape {shape}")
    floats = values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)
    return writable(np.ascontiguousarray(floats))


def _gamma(gamma: float | str, X: Any) -> float:
    if gamma == "auto":
        return 1.0 / int(X.shape[1])
    if gamma == "scale":
        variance = _variance(X)
        if not np.isfinite(variance):
            raise ValueError("the variance of X is too large for gamma='scale'; scale the features down")
        if variance < _MIN_VARIANCE and 0 < np.abs(X.data if is_sparse(X) else X).max(initial=0.0) < _MIN_VALUE:
            raise ValueError(
                f"the variance of X, {variance:.1g}, is too small for gamma='scale'; scale the features up"
            )
        return 1.0 / (int(X.shape[1]) * variance) if variance > 0 else 1.0
    return float(gamma)


def _variance(X: Any) -> float:
    if not is_sparse(X):
        with np.errstate(over="ignore", invalid="ignore"):
            return float(X.var(dtype=np.float64))
    X = canonical(X)  # entries at one index stand for their sum
    size, mean = X.shape[0] * X.shape[1], X.mean(dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        return float((np.square(X.data - mean).sum() + (size - X.nnz) * mean**2) / size)

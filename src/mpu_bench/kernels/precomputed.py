"""A kernel whose values are given, as a matrix.

A row is its index, in the only column that it has. Kernels are computed of inner products and squared norms, and the
squared norm of such a row is the square of its index: so every solver trains with it as it is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.jit import jit
from mpu_bench.errors import DataError
from mpu_bench.kernels.base import Kernel, value, values

_SMALLEST, _LARGEST = 1e-30, 1e30  # of the largest value: others have few digits in single precision, or none
_UNITS_OF_ROUNDING = 8.0  # times n: by which an eigenvalue of rounded values may be below zero, relative to the largest
_ROWS_AT_ONCE = 256  # that are compared with columns


class _Parameters(NamedTuple):
    matrix: NDArray[np.floating[Any]]  #: K(x_i, x_j) (m, n)
    offset: float  #: added to each
    scale: float  #: no |value| is larger; 1 where all are 0
    positive_semidefinite: bool


class Precomputed(_Parameters, Kernel):
    """K(x_i, x_j) from a matrix, of rows that hold i and j; no config has it, and no file."""

    __slots__ = ()

    name = "precomputed"

    def __repr__(self) -> str:
        """Return its name, for messages."""
        return self.name

    @classmethod
    def of(cls, matrix: NDArray[np.floating[Any]], offset: float = 0.0) -> Precomputed:
        """Return the kernel of m rows with n others, of a matrix in C order; of it nothing is certified.

        All values may be next to nothing: so are those of rows far from all that a model was trained with.

        Raises
        ------
        DataError
            If a value is not finite, or too large for single precision.
        """
        if not np.isfinite(largest := _largest(matrix)):
            raise DataError("the kernel matrix has a value that is not finite")
        if largest > _LARGEST:
            raise _out_of_range(largest)
        return cls(matrix, float(offset), (largest + abs(offset)) or 1.0, positive_semidefinite=False)

    @classmethod
    def of_training_rows(
        cls, matrix: NDArray[np.floating[Any]], offset: float = 0.0, certified: bool = True
    ) -> Precomputed:
        """Return the kernel of n rows with each other.

        Parameters
        ----------
        matrix : array, shape (n, n)
        offset : float
        certified : bool
            Whether it is looked at whether the matrix is positive semidefinite, which takes n^3 / 3 multiplications.

        Raises
        ------
        DataError
            As of `of`, or if all values are too small for single precision, or if the matrix is not square or, but for
            rounding, not symmetric.
        """
        if matrix.shape[0] != matrix.shape[1]:
            raise DataError(
                f"the kernel matrix has the shape {matrix.shape}; of training rows with each other it must be square"
            )
        kernel = cls.of(matrix, offset)
        if 0 < (largest := _largest(matrix)) < _SMALLEST:
            raise _out_of_range(largest)
        for first in range(0, len(matrix), _ROWS_AT_ONCE):
            rows, columns = matrix[first : first + _ROWS_AT_ONCE], matrix[:, first : first + _ROWS_AT_ONCE].T
            wrong = np.abs(rows - columns) > np.sqrt(np.finfo(matrix.dtype).eps) * kernel.scale
            if wrong.any():
                i, j = np.argwhere(wrong)[0]
                one, other = f"K[{first + i}, {j}] is {rows[i, j]:.6g}", f"K[{j}, {first + i}] is {columns[i, j]:.6g}"
                raise DataError(f"the kernel matrix is not symmetric: {one} and {other}")
        return kernel._replace(positive_semidefinite=certified and _is_positive_semidefinite(kernel))

    @property
    def parameters(self) -> dict[str, Any]:
        """No numbers that a file could hold."""
        return {}

    def misfit(self) -> None:
        """Return None: `of` has looked at it."""

    def described(self) -> Any:
        """Refuse to be saved.

        Raises
        ------
        DataError
        """
        raise DataError(
            "a model of kernel values that were given, by a matrix or a function, cannot be saved or exported; "
            "pickle it, or train with a kernel by name"
        )

    def bound(self, squared_norms: Any) -> Any:
        """Return the largest value, of any row."""
        return np.full_like(squared_norms, self.scale, dtype=np.float64)

    def growth(self, squared_norm: float) -> float:
        """Return 1: a value is read, and rounded once."""
        return 1.0

    def largest(self, squared_norm: float) -> float:
        """Return the larger of a kernel value and the square of an index."""
        return max(self.scale, squared_norm)


def _largest(matrix: NDArray[np.floating[Any]]) -> float:
    return max(float(matrix.max(initial=0.0)), -float(matrix.min(initial=0.0)))


def _out_of_range(largest: float) -> DataError:
    wanted = f"must be from {_SMALLEST:g} to {_LARGEST:g}; scale it"
    return DataError(f"the largest value of the kernel matrix is {largest:.1g} and {wanted}")


def _is_positive_semidefinite(kernel: Precomputed) -> bool:
    """Return whether no eigenvalue is below zero by more than rounding explains: whether a factor exists then."""
    from scipy.linalg import LinAlgError, cholesky  # a tenth of a second that no other kernel needs

    shifted = kernel.matrix.astype(np.float64) + kernel.offset
    n, unit = len(shifted), float(np.finfo(kernel.matrix.dtype).eps)
    shifted[np.diag_indices(n)] += _UNITS_OF_ROUNDING * n * unit * kernel.scale
    try:
        cholesky(shifted.T, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return False
    return True


@jit(inline="always")
def _index(squared_norm):
    """Return the index whose square this is, rounded to single precision or not."""
    return np.uint32(np.sqrt(np.float64(squared_norm)) + 0.5)


@value.register(Precomputed)
def _(kernel, _dot, a2, b2):
    return np.float64(kernel.matrix[_index(a2), _index(b2)]) + kernel.offset


@values.register(Precomputed)
def _(kernel, products, norms, norm):
    row = kernel.matrix[_index(norm)]
    for j in range(len(products)):
        products[j] = row[_index(norms[j])] + kernel.offset

"""Small problems, and the same matrix in every kind of rows."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpu_bench.core.counters import KERNEL_EVALUATIONS, PRESENTED, UNLIMITED
from mpu_bench.core.kernels import Gaussian, Kernel, Linear
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Dense, Ones, Rows, Sparse
from mpu_bench.core.solver import Solver, Until

Matrix = NDArray[np.float64]
Labels = NDArray[np.int32]

#: kind of rows -> what makes them of a matrix
KINDS: dict[str, Callable[[Any], Rows]] = {
    "dense": lambda matrix: Dense(np.ascontiguousarray(matrix, np.float32)),
    "dense64": lambda matrix: Dense(np.ascontiguousarray(matrix, np.float64)),
    "sparse": lambda matrix: Sparse(matrix[matrix != 0].astype(np.float32), *_index(matrix)),
    "ones": lambda matrix: Ones(*_index(matrix)),
}


def _index(matrix: Matrix) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    starts = np.concatenate([[0], np.cumsum((matrix != 0).sum(axis=1))])
    return np.nonzero(matrix)[1].astype(np.uint32), starts.astype(np.uint32)


def binary(n: int = 60, d: int = 12, seed: int = 0, agree: bool = False) -> tuple[Matrix, Labels]:
    """Return ones and zeros with labels that a linear function almost explains, an empty row and duplicates.

    With ``agree`` duplicates are of one class, so that a kernel can separate the classes.
    """
    random = np.random.default_rng(seed)
    matrix = (random.random((n, d)) < 0.4).astype(float)
    labels = (matrix @ random.normal(size=d) + 0.3 * random.normal(size=n) > 0).astype(np.int32)
    matrix[n // 2] = 0.0
    matrix[n // 3] = matrix[n // 4]
    labels[:2] = 0, 1
    if agree:
        _, first, inverse = np.unique(matrix, axis=0, return_index=True, return_inverse=True)
        labels = labels[first][inverse.ravel()]
    return matrix, labels


def real(n: int = 60, d: int = 7, seed: int = 0) -> tuple[Matrix, Labels]:
    """Return real values that single precision holds exactly, so that only the arithmetic can differ."""
    random = np.random.default_rng(seed)
    matrix = random.normal(size=(n, d)).astype(np.float32).astype(float)
    matrix[random.random((n, d)) < 0.3] = 0.0
    labels = (matrix @ random.normal(size=d) + 0.5 * random.normal(size=n) > 0).astype(np.int32)
    labels[:2] = 0, 1
    return matrix, labels


def problem(matrix: ArrayLike, labels: Labels, kind: str) -> Problem:
    """Return a problem whose test rows are its training rows."""
    rows = KINDS[kind](np.asarray(matrix))
    classes = tuple(f"class {c}" for c in range(labels.max() + 1))
    return Problem("toy", rows, labels, rows, labels, np.shape(matrix)[1], classes, f"toy-{kind}")


def with_small_parameters(solver: type[Solver]) -> Solver:
    """Make a solver with its defaults, and something small where a parameter has none."""
    hints = get_type_hints(solver, include_extras=True)
    required = {field.name: _small(hints[field.name]) for field in fields(solver) if _has_no_default(field)}
    return solver(**required)


def _has_no_default(field: Field[Any]) -> bool:
    return field.init and field.default is MISSING and field.default_factory is MISSING


def _small(hint: Any) -> Any:
    while get_origin(hint) in {Annotated, types.UnionType}:
        hint = get_args(hint)[0]
    return {int: 10, float: 0.5}.get(hint, hint)


def kernel_of(solver: Solver) -> Kernel:
    """Return the first kernel that a solver can use and that is not linear, if there is one."""
    return Linear() if solver.kernels == "linear" else Gaussian(0.25)


def arrays_of(state: Any, prefix: str = "") -> dict[str, NDArray[Any]]:
    """Return a copy of every array of a state, by its path."""
    found: dict[str, NDArray[Any]] = {}
    for name, part in _parts(state).items():
        if isinstance(part, np.ndarray):
            found[prefix + name] = part.copy()
        elif hasattr(part, "_asdict") or is_dataclass(part) or isinstance(part, list):
            found |= arrays_of(part, f"{prefix}{name}.")
    return found


def _parts(state: Any) -> dict[str, Any]:
    if isinstance(state, list):
        return {str(position): part for position, part in enumerate(state)}
    parts: dict[str, Any] = state._asdict() if hasattr(state, "_asdict") else getattr(state, "__dict__", {})
    return parts


def more(state: Any, presented: int = UNLIMITED, kernel_evaluations: int = UNLIMITED) -> Until:
    """Return where an advance stops that goes so much further."""
    counters = state.counters
    return Until(int(counters[PRESENTED]) + presented, int(counters[KERNEL_EVALUATIONS]) + kernel_evaluations)

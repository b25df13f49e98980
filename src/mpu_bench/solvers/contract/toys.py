"""Small problems, and the same matrix in every kind of rows."""

from __future__ import annotations

import random
import sys
import types
from collections import deque
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import MISSING, fields
from inspect import isroutine
from numbers import Number, Real
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from annotated_types import Ge, Gt, Le, Lt
from numpy.typing import ArrayLike, NDArray

from mpu_bench.core.counters import KERNEL_EVALUATIONS, PRESENTED, UNLIMITED
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Dense, Ones, Rows, Sparse
from mpu_bench.core.solver import Solver, Until, bounds_of, missed_range
from mpu_bench.errors import ConfigError
from mpu_bench.kernels import Gaussian, Kernel, Linear

Matrix = NDArray[np.float64]
Labels = NDArray[np.int32]

_MAX_PARTS = 200_000  # of a state that are looked at
_Slot = types.MemberDescriptorType

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
    """Make a solver with its defaults, and something small and within its bounds where a parameter has none.

    Raises
    ------
    ConfigError
        If no value is found for a parameter.
    """
    hints, bounds = get_type_hints(solver, include_extras=True), bounds_of(solver)
    required: dict[str, Any] = {}
    for field in fields(solver):
        if field.init and field.default is MISSING and field.default_factory is MISSING:
            inside = [
                value for value in _small(hints[field.name], bounds[field.name]) if _within(value, bounds[field.name])
            ]
            if not inside:
                raise ConfigError(f"{solver.name}: give '{field.name}' a default so that it can be tested")
            required[field.name] = inside[0]
    return solver(**required)


def _small(hint: Any, bounds: list[Any]) -> list[Any]:
    """Return values of a type that may be tried, the best first; none of a type that is not known."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _small(parts[0], bounds)
    if origin is Literal:
        return list(parts)
    if origin in {Union, types.UnionType}:
        return [value for part in parts for value in _small(part, bounds)]
    if hint in {int, float}:
        return _small_numbers(hint, bounds)
    others: dict[Any, list[Any]] = {bool: [False], str: [""], types.NoneType: [None]}
    return others.get(hint, [])


def _small_numbers(kind: type[int] | type[float], bounds: list[Any]) -> list[int | float]:
    """Return a number, then some near the bounds and halfway between each two."""
    limits = [getattr(bound, type(bound).__name__.lower()) for bound in bounds if type(bound) in {Gt, Ge, Lt, Le}]
    halfway = [(low + high) / 2 for low in limits for high in limits if low < high]
    near = [limit + step for limit in limits for step in (1, -1, 0)]
    if kind is int:
        return [10, *(int(number) for number in (*halfway, *near))]
    return [0.5, *(float(number) for number in (*halfway, *near))]


def _within(value: Any, bounds: list[Any]) -> bool:
    """Return whether `Solver` takes a value; it compares all but None with the bounds, which text cannot be."""
    if value is None or not bounds:
        return True
    return not isinstance(value, str) and not any(missed_range(bound, value) for bound in bounds)


def kernel_of(solver: Solver) -> Kernel:
    """Return the first kernel that a solver can use and that is not linear, if there is one."""
    return Linear() if solver.kernels == "linear" else Gaussian(0.25)


def arrays_of(state: Any) -> dict[str, NDArray[Any]]:
    """Return a copy of every array and number of a state, by its path: "machine.weights", "machine.pairs.0".

    What a state holds is followed through containers, attributes, slots and generators of random numbers, and each
    object once, for they may hold one another.
    """
    arrays: dict[str, NDArray[Any]] = {}
    seen: dict[int, Any] = {}  # by id; the objects are kept, or another might come to have the id of one that is gone
    ahead = deque([("", state)])
    while ahead and len(seen) + len(arrays) < _MAX_PARTS:
        prefix, whole = ahead.popleft()
        if id(whole) in seen:
            continue
        seen[id(whole)] = whole
        for name, part in _parts(whole).items():
            if isinstance(part, np.ndarray) and not part.dtype.hasobject:
                arrays[prefix + name] = part.copy()
            elif isinstance(part, Number | np.generic):
                arrays[prefix + name] = np.array(part)
            elif not isinstance(part, str | bytes | range | types.NoneType):
                ahead.append((f"{prefix}{name}.", part))
    return arrays


def _parts(whole: Any) -> dict[str, Any]:
    """Return what an object consists of, by name; nothing of functions, classes and modules."""
    if isinstance(whole, types.ModuleType | type) or isroutine(whole) or hasattr(whole, "__wrapped__"):
        return {}
    if isinstance(whole, np.random.Generator):
        return {"bit_generator": whole.bit_generator.state}
    if isinstance(whole, np.random.RandomState):
        return {"state": whole.get_state(legacy=False)}
    if type(whole) is random.Random:
        return {"state": whole.getstate()}
    if isinstance(whole, tuple) and hasattr(whole, "_asdict"):
        return dict(whole._asdict())
    return _attributes(whole) | _elements(whole)


def _elements(whole: Any) -> dict[str, Any]:
    if isinstance(whole, np.ndarray):  # of objects
        whole = list(whole.flat)
    if isinstance(whole, Mapping):
        return {_name_of(key, index): part for index, (key, part) in enumerate(whole.items())}
    if isinstance(whole, Set):  # in an order that does not depend on how it was filled
        whole = sorted((part for part in whole if isinstance(part, Real)), key=float)
    return {str(index): part for index, part in enumerate(whole)} if isinstance(whole, Sequence) else {}


def _name_of(key: Any, index: int) -> str:
    """Return a key as text, or its place where the text may name an address in memory."""
    return str(key) if isinstance(key, str | Number | np.generic | tuple | bytes) else f"value {index}"


def _attributes(whole: Any) -> dict[str, Any]:
    """Return the attributes of an object; nothing of Python's own, such as locks, threads and open files."""
    kind = type(whole)
    if kind.__module__.partition(".")[0] in sys.stdlib_module_names and kind is not types.SimpleNamespace:
        return {}
    slots = [name for base in kind.__mro__ for name, slot in vars(base).items() if isinstance(slot, _Slot)]
    attributes = {name: getattr(whole, name) for name in slots if hasattr(whole, name)}
    return attributes | dict(getattr(whole, "__dict__", {}))


def more(state: Any, presented: int = UNLIMITED, kernel_evaluations: int = UNLIMITED) -> Until:
    """Return where an advance stops that goes so much further."""
    counters = state.counters
    return Until(int(counters[PRESENTED]) + presented, int(counters[KERNEL_EVALUATIONS]) + kernel_evaluations)

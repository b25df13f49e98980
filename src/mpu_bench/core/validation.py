"""Whether the arrays of a model fit together and fit the rows: compiled code that evaluates them looks at no bounds."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpu_bench import document
from mpu_bench.core.models import FourierModel, KernelModel, LinearModel
from mpu_bench.core.rows import Dense, Ones, Sparse
from mpu_bench.core.voting import REST, MulticlassModel, SharedExpansions
from mpu_bench.kernels import Kernel

_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
_INTEGERS = (np.dtype(np.int32), np.dtype(np.int64))
_UNSIGNED = (np.dtype(np.uint32),)


def check_model(model: Any, features: int, classes: int, name: str = "") -> None:
    """Refuse a model whose arrays do not fit; a class with ``scores`` of its own knows what its arrays mean.

    Parameters
    ----------
    model : object
    features : int
        Columns of the rows that it is evaluated on.
    classes : int
    name : str
        What the names of its fields begin with, such as ``model().``.

    Raises
    ------
    ValueError
        Naming the field, what it is and what it must be: its type, shape or numbers are others.
    """
    if getattr(type(model), "scores", None) is not MulticlassModel.scores:
        _check_machines(model, features, score_counts(classes), f"{classes} classes", name)
        return
    if model.classes != classes:
        raise ValueError(f"{name}classes is {shown(model.classes)}; there are {classes}")
    machines, pairs = model.machines, model.pairs
    if not isinstance(machines, LinearModel | SharedExpansions):
        raise ValueError(
            f"{name}machines is {shown(machines)}; it must be a LinearModel, a FourierModel or SharedExpansions"
        )
    _check_array(f"{name}pairs", pairs, _INTEGERS, [(len(pairs) if np.ndim(pairs) else 1, 2)], "pairs of classes")
    if not len(pairs) or not REST <= pairs.min() <= pairs.max() < classes or pairs[:, 1].min() < 0:
        raise ValueError(f"{name}pairs is {shown(pairs.tolist())}; it must hold classes from 0 to {classes - 1}")
    _check_machines(machines, features, (len(pairs),), f"{len(pairs)} pairs", f"{name}machines.")


def score_counts(classes: int) -> tuple[int, ...]:
    """Return how many scores a row may have, the most common first: one tells two classes apart."""
    return (1, 2) if classes == 2 else (classes,)


def _check_machines(model: Any, features: int, counts: Sequence[int], of: str, name: str) -> None:
    scores = getattr(type(model), "scores", None)
    if scores in (LinearModel.scores, FourierModel.scores, KernelModel.scores) and not isinstance(model.bias, Real):
        raise ValueError(f"{name}bias is {shown(model.bias)}; it must be a number")
    if scores is LinearModel.scores:
        shapes = [(count, features) for count in counts]
        _check_array(f"{name}weights", model.weights, _FLOATS, shapes, f"{features} features, {of}")
    elif scores is FourierModel.scores:
        k = max(1, len(model.frequencies)) if np.ndim(model.frequencies) else 1
        _check_array(f"{name}frequencies", model.frequencies, _FLOATS, [(k, features)], f"{features} features")
        shapes = [(count, 2 * k) for count in counts]
        _check_array(f"{name}weights", model.weights, _FLOATS, shapes, f"{k} frequencies, {of}")
    elif scores is KernelModel.scores:
        m = _check_expansion(model, features, name)
        shapes = [(m, count) for count in counts]
        _check_array(f"{name}coefficients", model.coefficients, _FLOATS, shapes, f"{m} vectors, {of}")
    elif scores is SharedExpansions.scores:
        m = _check_expansion(model, features, name)
        _check_array(f"{name}biases", model.biases, _FLOATS, [(count,) for count in counts], of)
        total = _check_starts(f"{name}starts", model.starts, _INTEGERS, m)
        _check_array(f"{name}coefficients", model.coefficients, _FLOATS, [(total,)], f"{name}starts")
        _check_array(f"{name}machines", model.machines, _INTEGERS, [(total,)], f"{name}starts")
        _check_below(f"{name}machines", model.machines, len(model.biases))


def _check_expansion(model: Any, features: int, name: str) -> int:
    """Check kernel, features and vectors of an expansion; return how many vectors there are."""
    if model.features != features:
        raise ValueError(f"{name}features is {shown(model.features)}; there are {features}")
    check_kernel(model.kernel, f"{name}kernel")
    vectors, name = model.vectors, f"{name}vectors"
    if type(vectors) not in (Dense, Sparse, Ones):
        raise ValueError(f"{name} is {shown(vectors)}; it must be Dense, Sparse or Ones rows, of {features} features")
    if isinstance(vectors, Dense):
        m = len(vectors.values) if np.ndim(vectors.values) else 1
        _check_array(f"{name}.values", vectors.values, _FLOATS, [(m, features)], f"{features} features")
        return m
    m = len(vectors.starts) - 1 if np.ndim(vectors.starts) else 0
    total = _check_starts(f"{name}.starts", vectors.starts, _UNSIGNED, max(m, 0))
    _check_array(f"{name}.indices", vectors.indices, _UNSIGNED, [(total,)], f"{name}.starts")
    _check_below(f"{name}.indices", vectors.indices, features)
    if isinstance(vectors, Sparse):
        _check_array(f"{name}.values", vectors.values, _FLOATS, [(total,)], f"{name}.starts")
    return m


def check_kernel(kernel: Any, name: str = "kernel") -> None:
    """Refuse what is no kernel, or one whose parameters are out of range.

    Raises
    ------
    ValueError
    """
    if not isinstance(kernel, Kernel):
        raise ValueError(f"{name} is {shown(kernel)}; it must be a kernel, such as Gaussian(gamma=1.0)")
    if (misfit := kernel.misfit()) is not None:
        raise ValueError(f"{name} is {shown(kernel)}; {' '.join(misfit)}")


def _check_array(
    name: str, value: Any, types: Sequence[np.dtype[Any]], shapes: Sequence[tuple[int, ...]], of: str
) -> None:
    exact = type(value) in (np.ndarray, np.memmap)  # a subclass may say of itself what it likes
    if not exact or value.dtype not in types or value.shape not in shapes:
        raise ValueError(f"{name} is {shown(value)}; it must be an array of {types[0]}, shape {shapes[0]}, for {of}")


def _check_starts(name: str, starts: Any, types: Sequence[np.dtype[Any]], m: int) -> int:
    """Check where the parts of m vectors begin; return where the last ends."""
    _check_array(name, starts, types, [(m + 1,)], f"{m} vectors")
    if starts[0] != 0 or not (starts[1:] >= starts[:-1]).all():
        raise ValueError(f"{name} is {shown(starts.tolist())}; it must begin with 0 and never fall")
    return int(starts[-1])


def _check_below(name: str, numbers: NDArray[Any], end: int) -> None:
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < end:
        outside = numbers.min() if numbers.min() < 0 else numbers.max()
        raise ValueError(f"{name} holds {outside}; it must be from 0 to {end - 1}")


def shown(value: Any) -> str:
    """Return a value as an error names it."""
    if type(value) in (np.ndarray, np.memmap) and np.ndim(value):
        return f"an array of {value.dtype}, shape {value.shape}"
    if isinstance(value, np.ndarray):
        return f"a {type(value).__name__}, a subclass of ndarray"
    return document.shown(value)

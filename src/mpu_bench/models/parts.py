"""Models of `core` as plain data and arrays, and back, with every number checked on which compiled code relies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from mpu_bench.core import kernels
from mpu_bench.core.models import FourierModel, KernelModel, LinearModel, Model, all_finite
from mpu_bench.core.rows import Dense, Ones, Rows, Sparse
from mpu_bench.core.voting import REST, MulticlassModel, SharedExpansions
from mpu_bench.document import Strict
from mpu_bench.errors import DataError

Arrays = dict[str, NDArray[Any]]
Count = Annotated[int, Field(ge=1, lt=2**32)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Storage = Literal["dense", "sparse", "ones"]
MOST_DEGREE = 1000  #: of a polynomial
_STORAGES: Mapping[type[Any], Storage] = {Dense: "dense", Sparse: "sparse", Ones: "ones"}


class LinearKernel(Strict):
    """K(a, b) = a.b."""

    kind: Literal["linear"] = "linear"


class GaussianKernel(Strict):
    """K(a, b) = exp(-gamma ||a - b||^2)."""

    kind: Literal["gaussian"] = "gaussian"
    gamma: Annotated[float, Field(ge=0, allow_inf_nan=False)]


class PolynomialKernel(Strict):
    """K(a, b) = (scale a.b + offset)^degree, plain or normalized."""

    kind: Literal["polynomial"] = "polynomial"
    scale: Finite
    offset: Finite
    degree: Annotated[int, Field(ge=0, le=MOST_DEGREE)]
    normalize: bool = False


KernelKind = Annotated[LinearKernel | GaussianKernel | PolynomialKernel, Field(discriminator="kind")]


class Parts(Strict):
    """What a model consists of, besides its arrays.

    Attributes
    ----------
    kind : str
        ``linear``, on ``fourier`` features, one ``kernel`` expansion with as many scores as there are classes, or
        several ``expansions`` over the same vectors.
    features : int
        Columns of the rows that it is evaluated on, with the ``constant``.
    constant : float or None
        The value of a last feature that every row gets; the weights of it are an array of their own, ``intercepts``.
    storage : str or None
        How the vectors are stored.
    kernel : Kernel or None
    classes : int or None
        How many classes the machines of a vote tell apart; None where there is no vote.
    """

    kind: Literal["linear", "fourier", "kernel", "expansions"]
    features: Count
    constant: Finite | None = None
    storage: Storage | None = None
    kernel: KernelKind | None = None
    bias: Finite = 0.0
    classes: Count | None = None


def taken_apart(model: Model, features: int, constant: float | None) -> tuple[Parts, Arrays]:
    """Return a model as plain data and arrays.

    Parameters
    ----------
    model : Model
    features : int
        Columns of the rows that it is evaluated on, with the constant.
    constant : float or None
        The value of the last of them, if every row gets the same.

    Raises
    ------
    DataError
        If it is no model of `core`, such as one of a solver of the user's own, or a number in it is not finite.
    """
    if not isinstance(model, LinearModel | KernelModel | MulticlassModel):
        raise DataError(f"a model of type {type(model).__name__} cannot be saved; those of mpu_bench.core can")
    if not model.finite:
        raise DataError("a number of the model is not finite: it cannot be saved")
    classes, vote = None, {}
    machines: Any = model
    if isinstance(model, MulticlassModel):
        machines, classes, vote = model.machines, model.classes, {"pairs": model.pairs.astype(np.int32)}
    parts, arrays = _machine_parts(machines, features, constant)
    return parts.model_copy(update={"classes": classes}), arrays | vote


def bytes_of(model: Model, features: int) -> int | None:
    """Return the bytes of a model's numbers; None for one of a kind of its own, or with a number that is not finite."""
    try:
        return sum(array.nbytes for array in taken_apart(model, features, None)[1].values())
    except DataError:
        return None


def _machine_parts(machines: Any, features: int, constant: float | None) -> tuple[Parts, Arrays]:
    if isinstance(machines, FourierModel):
        arrays = {"weights": machines.weights, "frequencies": machines.frequencies}
        return Parts(kind="fourier", features=features, constant=constant), arrays
    if isinstance(machines, LinearModel):
        weights = machines.weights
        arrays = {"weights": weights} if constant is None else _split(weights)
        return Parts(kind="linear", features=features, constant=constant), arrays
    vectors = {f"vector-{name}": part for name, part in zip(machines.vectors._fields, machines.vectors, strict=True)}
    one = isinstance(machines, KernelModel)
    names = ("coefficients",) if one else ("starts", "machines", "coefficients", "biases")
    parts = Parts(
        kind="kernel" if one else "expansions",
        features=features,
        constant=constant,
        storage=_STORAGES[type(machines.vectors)],
        kernel=_described(machines.kernel),
        bias=float(machines.bias) if one else 0.0,
    )
    return parts, vectors | {name: getattr(machines, name) for name in names}


def _split(weights: NDArray[np.float64]) -> Arrays:
    return {"weights": weights[:, :-1], "intercepts": weights[:, -1]}


def _described(kernel: kernels.Kernel) -> Any:
    if isinstance(kernel, kernels.Gaussian):
        return GaussianKernel(gamma=float(kernel.gamma))
    if isinstance(kernel, kernels.Polynomial):
        scale, offset, degree = float(kernel.scale), float(kernel.offset), int(kernel.degree)
        return PolynomialKernel(scale=scale, offset=offset, degree=degree, normalize=bool(kernel.normalize))
    return LinearKernel()


def put_together(parts: Parts, arrays: Mapping[str, NDArray[Any]]) -> Model:
    """Return the model that `taken_apart` has taken apart.

    Raises
    ------
    ValueError
        If the arrays are not those of such a model: one is missing, of another shape or type, or holds a number that
        compiled code must not meet.
    """
    left = _Left(dict(arrays))
    pairs = None if parts.classes is None else left.take("pairs", np.int32, 2)
    machines: LinearModel | KernelModel | SharedExpansions = _machines(parts, left)
    if left.arrays:
        raise ValueError(f"there is an array '{min(left.arrays)}' too many")
    if pairs is None:
        if isinstance(machines, SharedExpansions):
            raise ValueError("there are several machines and no vote")
        return machines
    if isinstance(machines, KernelModel):
        raise ValueError("there is a vote and one machine")
    _check_pairs(pairs, machines, parts.classes or 0)
    return MulticlassModel(machines, pairs, parts.classes or 0)


class _Left:
    """The arrays that have not been taken yet."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays

    def take(self, name: str, dtype: type[np.generic] | tuple[type[np.generic], ...], dimensions: int) -> NDArray[Any]:
        """Return an array of this type and number of dimensions, whose numbers are finite."""
        if name not in self.arrays:
            raise ValueError(f"there is no array '{name}'")
        array = self.arrays.pop(name)
        kinds = dtype if isinstance(dtype, tuple) else (dtype,)
        if array.ndim != dimensions or array.dtype not in [np.dtype(kind) for kind in kinds]:
            raise ValueError(f"'{name}' has another shape or type")
        if not all_finite(array):
            raise ValueError(f"'{name}' has a number that is not finite")
        return array


def _machines(parts: Parts, left: _Left) -> Any:
    if parts.kind == "linear":
        return LinearModel(_weights(parts, left))
    if parts.kind == "fourier":
        weights, frequencies = left.take("weights", np.float64, 2), left.take("frequencies", np.float64, 2)
        _require(frequencies.shape[1] == parts.features and weights.shape[1] == 2 * len(frequencies) > 0, "frequencies")
        return FourierModel(weights, frequencies)
    vectors, m = _vectors(parts, left)
    kernel = _kernel(parts)
    if parts.kind == "kernel":
        coefficients = left.take("coefficients", np.float64, 2)
        _require(len(coefficients) == m and coefficients.shape[1] >= 1, "coefficients")
        return KernelModel(vectors, coefficients, kernel, parts.features, parts.bias)
    return _expansions(vectors, m, kernel, parts.features, left)


def _weights(parts: Parts, left: _Left) -> NDArray[np.float64]:
    weights = left.take("weights", np.float64, 2)
    if parts.constant is not None:
        intercepts = left.take("intercepts", np.float64, 1)
        _require(len(intercepts) == len(weights), "intercepts")
        weights = np.ascontiguousarray(np.column_stack([weights, intercepts]))
    _require(weights.shape[1] == parts.features and len(weights) >= 1, "weights")
    return weights


def _vectors(parts: Parts, left: _Left) -> tuple[Rows, int]:
    """Return the vectors and how many they are; their columns are within bounds, since nothing else checks that."""
    floats = (np.float32, np.float64)
    if parts.storage == "dense":
        values = left.take("vector-values", floats, 2)
        _require(values.shape[1] == parts.features, "vector-values")
        return Dense(values), len(values)
    if parts.storage is None:
        raise ValueError("it does not say how the vectors are stored")
    sparse = parts.storage == "sparse"
    values = left.take("vector-values", floats, 1) if sparse else np.zeros(0, np.float32)
    indices, starts = left.take("vector-indices", np.uint32, 1), left.take("vector-starts", np.uint32, 1)
    _check_starts(starts, len(indices), "vector-starts")
    _require(not len(indices) or int(indices.max()) < parts.features, "vector-indices")
    if not sparse:
        return Ones(indices, starts), len(starts) - 1
    _require(len(values) == len(indices), "vector-values")
    return Sparse(values, indices, starts), len(starts) - 1


def _kernel(parts: Parts) -> kernels.Kernel:
    match parts.kernel:
        case GaussianKernel(gamma=gamma):
            return kernels.Gaussian(gamma)
        case PolynomialKernel(scale=scale, offset=offset, degree=degree, normalize=normalize):
            return kernels.Polynomial(scale, offset, degree, normalize)
        case LinearKernel():
            return kernels.Linear()
    raise ValueError("it does not say its kernel")


def _expansions(vectors: Rows, m: int, kernel: kernels.Kernel, features: int, left: _Left) -> SharedExpansions:
    starts, machines = left.take("starts", np.int64, 1), left.take("machines", np.int32, 1)
    coefficients, biases = left.take("coefficients", np.float64, 1), left.take("biases", np.float64, 1)
    _require(len(starts) == m + 1, "starts")
    _check_starts(starts, len(coefficients), "starts")
    _require(len(machines) == len(coefficients), "machines")
    _require(not len(machines) or bool(0 <= machines.min() <= machines.max() < len(biases)), "machines")
    return SharedExpansions(vectors, starts, machines, coefficients, biases, kernel, features)


def _check_starts(starts: NDArray[Any], total: int, name: str) -> None:
    rising = len(starts) >= 1 and bool((starts[1:] >= starts[:-1]).all())
    _require(rising and starts[0] == 0 and starts[-1] == total, name)


def _check_pairs(pairs: NDArray[np.int32], machines: LinearModel | SharedExpansions, classes: int) -> None:
    count = len(machines.weights) if isinstance(machines, LinearModel) else len(machines.biases)
    _require(pairs.shape == (count, 2) and count >= 1, "pairs")
    _require(bool(pairs.min() >= REST and pairs.max() < classes and pairs[:, 1].min() >= 0), "pairs")


def _require(holds: bool, name: str) -> None:
    if not holds:
        raise ValueError(f"'{name}' does not fit the other arrays")

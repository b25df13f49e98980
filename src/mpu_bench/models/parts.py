"""Models of `core` as plain data and arrays, and back, with every number checked on which compiled code relies."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from mpu_bench.core.models import FourierModel, KernelModel, LinearModel, Model, all_finite
from mpu_bench.core.rows import Dense, Ones, Rows, Sparse
from mpu_bench.core.validation import check_model
from mpu_bench.core.voting import MulticlassModel, SharedExpansions
from mpu_bench.document import Strict
from mpu_bench.errors import DataError
from mpu_bench.kernels import KERNELS, Kernel

Arrays = dict[str, NDArray[Any]]
Count = Annotated[int, Field(ge=1, lt=2**32)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Storage = Literal["dense", "sparse", "ones"]
_STORAGES: Mapping[type[Any], Storage] = {Dense: "dense", Sparse: "sparse", Ones: "ones"}


_AnyKernel: Any = Annotated[
    reduce(or_, (kernel.description() for kernel in KERNELS.values())), Field(discriminator="kind")
]


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
    constant: Annotated[float, Field(ge=-1e38, le=1e38)] | None = None
    storage: Storage | None = None
    kernel: _AnyKernel | None = None
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
    machines: Any = model.machines if type(model) is MulticlassModel else model
    if type(machines) not in (LinearModel, FourierModel, KernelModel, SharedExpansions):  # a subclass scores otherwise
        raise DataError(f"a model of type {type(machines).__name__} cannot be saved; those of mpu_bench.core can")
    if not machines.finite:
        raise DataError("a number of the model is not finite: it cannot be saved")
    classes, vote = None, {}
    if isinstance(model, MulticlassModel):
        classes, vote = model.classes, {"pairs": model.pairs.astype(np.int32)}
    parts, arrays = _machine_parts(machines, features, constant)
    return parts.model_copy(update={"classes": classes}), arrays | vote


def bytes_of(model: Model, features: int) -> int | None:
    """Return the bytes of a model's numbers; None for one of a kind of its own, or with a number that is not finite."""
    try:
        return sum(array.nbytes for array in taken_apart(model, features, None)[1].values())
    except DataError:
        return None


def _machine_parts(machines: Any, features: int, constant: float | None) -> tuple[Parts, Arrays]:
    if isinstance(machines, LinearModel):
        weights = machines.weights
        bias = {"bias": np.array([machines.bias])} if machines.bias else {}  # 0.2.0 refuses an array it does not know
        if isinstance(machines, FourierModel):
            arrays = {"weights": weights, "frequencies": machines.frequencies}
            return Parts(kind="fourier", features=features, constant=constant), arrays | bias
        arrays = (
            {"weights": weights} if constant is None else {"weights": weights[:, :-1], "intercepts": weights[:, -1]}
        )
        return Parts(kind="linear", features=features, constant=constant), arrays | bias
    if not isinstance(machines.kernel, Kernel):
        raise DataError(f"a model with the kernel {machines.kernel} cannot be saved; one of mpu_bench.kernels can")
    vectors = {f"vector-{name}": part for name, part in zip(machines.vectors._fields, machines.vectors, strict=True)}
    one = isinstance(machines, KernelModel)
    names = ("coefficients",) if one else ("starts", "machines", "coefficients", "biases")
    parts = Parts(
        kind="kernel" if one else "expansions",
        features=features,
        constant=constant,
        storage=_STORAGES[type(machines.vectors)],
        kernel=machines.kernel.described(),
        bias=float(machines.bias) if one else 0.0,
    )
    return parts, vectors | {name: getattr(machines, name) for name in names}


def put_together(parts: Parts, arrays: Mapping[str, NDArray[Any]], classes: int) -> Model:
    """Return the model that `taken_apart` has taken apart.

    Parameters
    ----------
    parts : Parts
    arrays : mapping of str to array
    classes : int
        How many labels there are.

    Raises
    ------
    ValueError
        If the arrays are not those of such a model: one is missing, of another shape or type, or holds a number that
        compiled code must not meet.
    """
    left = dict(arrays)
    pairs = None if parts.classes is None else _take(left, "pairs")
    machines = _machines(parts, left)
    model: Model = machines
    if left:
        raise ValueError(f"there is an array '{min(left)}' too many")
    if pairs is not None:
        model = MulticlassModel(machines, pairs, parts.classes or 0)
    elif isinstance(machines, SharedExpansions):
        raise ValueError("there are several machines and no vote")
    check_model(model, parts.features, classes)
    return model


def _take(left: Arrays, name: str) -> NDArray[Any]:
    """Remove an array from those that are left, and return it; its numbers are finite."""
    if name not in left:
        raise ValueError(f"there is no array '{name}'")
    array = left.pop(name)
    if not all_finite(array):
        raise ValueError(f"'{name}' has a number that is not finite")
    return array


def _machines(parts: Parts, left: Arrays) -> Any:
    match parts.kind:
        case "linear":
            weights = _take(left, "weights")
            if parts.constant is not None:
                weights = np.ascontiguousarray(np.column_stack([weights, _take(left, "intercepts")]))
            return LinearModel(weights, bias=_bias(left))
        case "fourier":
            return FourierModel(_take(left, "weights"), _take(left, "frequencies"), bias=_bias(left))
        case "kernel":
            shared = _vectors(parts, left), _take(left, "coefficients"), _kernel(parts)
            return KernelModel(*shared, parts.features, parts.bias)
        case "expansions":
            names = ("starts", "machines", "coefficients", "biases")
            taken = {name: _take(left, name) for name in names}
            return SharedExpansions(_vectors(parts, left), **taken, kernel=_kernel(parts), features=parts.features)
    raise ValueError(f"a model of kind '{parts.kind}' is not known")


def _bias(left: Arrays) -> float:
    """Return the bias of a linear model: that of a threshold, of models that have one."""
    return float(_take(left, "bias").item()) if "bias" in left else 0.0


def _vectors(parts: Parts, left: Arrays) -> Rows:
    match parts.storage:
        case "dense":
            return Dense(_take(left, "vector-values"))
        case "sparse":
            values = _take(left, "vector-values")
            return Sparse(values, _take(left, "vector-indices"), _take(left, "vector-starts"))
        case "ones":
            return Ones(_take(left, "vector-indices"), _take(left, "vector-starts"))
    raise ValueError("it does not say how the vectors are stored")


def _kernel(parts: Parts) -> Kernel:
    if parts.kernel is None:
        raise ValueError("it does not say its kernel")
    parameters = dict(parts.kernel)
    return KERNELS[parameters.pop("kind")](**parameters)

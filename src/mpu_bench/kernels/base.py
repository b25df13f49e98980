"""What every kernel has: its values in compiled code, their bounds, its parameters, and its text elsewhere."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Protocol, get_type_hints

from numpy.typing import NDArray
from pydantic import AfterValidator, ValidationError, WithJsonSchema, create_model

from mpu_bench.core.jit import jit_dispatch
from mpu_bench.document import Strict, shown, wanted
from mpu_bench.errors import ConfigError, DataError
from mpu_bench.scaled import DIVISORS, Derived, Scaled, in_one_form, parse


@jit_dispatch
def value(kernel, dot, a2, b2):
    """Return the kernel of two rows with the inner product ``dot`` and the squared norms ``a2``, ``b2``; a float64."""


@jit_dispatch(forceinline=True)
def values(kernel, products, norms, norm):
    """Turn inner products into kernel values, in place.

    They are those of n rows with one row: ``norms`` (n,) are the squared norms of the rows and ``norm`` that of the
    one; all float32 or all float64.
    """


class CText(NamedTuple):
    """How C computes a kernel value of a row x and the i-th vector.

    In floats ``value`` holds their inner product, or the squared distance of a kernel that is `shift_invariant`, and
    then the kernel value; ``norm`` holds ``||x||^2``. In fixed point they are integers, times powers of two;
    ``product(a, b)`` is a b / 2^15. ``j`` and ``k`` are free.
    """

    value: Sequence[str]  #: the lines that turn ``value`` into the kernel value
    before: Sequence[str] = ()  #: those that make of ``norm`` what they need of it, once for each row
    arrays: Mapping[str, NDArray[Any]] = {}  #: name -> a number for each vector
    helpers: str = ""  #: functions that they call
    power: int = 0  #: the kernel value is an integer times 2^-power ...
    scale: float = 1.0  #: ... and times this
    multiply_adds: int = 0  #: of a value, besides those of the inner product
    exponentials: int = 0


class Graph(Protocol):
    """A graph of ONNX that is being made; every value has a name."""

    def call(self, operator: str, inputs: list[str]) -> str:
        """Add a node and return the name of its output."""

    def constant(self, values: Any) -> str:
        """Add a constant in single precision and return its name."""


def _number_or_scaled(parameter: Any) -> Any:
    number = parse(parameter)
    factor = number.factor if isinstance(number, Scaled) and number.by != "n" else number
    if isinstance(factor, dict | Scaled | Derived):
        raise ValueError("must be a number or one of {over-features: 4}, {over-mean-squared-distance: 2}")
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 < factor <= sys.float_info.max:
        raise ValueError(f"must be greater than 0 and finite, not {shown(factor)}")
    return Scaled(in_one_form(factor), number.by) if isinstance(number, Scaled) else in_one_form(factor)


_POSITIVE = {"type": "number", "exclusiveMinimum": 0}
_ONE_KEY = {"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": False}
_SWEPT = {"anyOf": [_POSITIVE, {"type": "array", "items": _POSITIVE, "minItems": 1}]}
_RELATIVE = [_ONE_KEY | {"properties": {word: _SWEPT}} for word, by in DIVISORS.items() if by != "n"]

#: a number, or ``{over-features: g}``, g / d, or ``{over-mean-squared-distance: g}``, g over the mean squared
#: distance of two training rows
Scale = Annotated[Any, AfterValidator(_number_or_scaled), WithJsonSchema({"anyOf": [_POSITIVE, *_RELATIVE]})]

#: whether a kernel is divided by the lengths of both rows; false is the same as nothing
Normalize = Annotated[bool | None, AfterValidator(lambda is_normalized: is_normalized or None)]


class Options(Strict, ABC):
    """What a config may say of a kernel; the docstring's first line is what ``list kernels`` says of it."""

    @abstractmethod
    def kernel(self, resolve: Callable[[Any], Any]) -> Kernel:
        """Return the kernel; ``resolve`` makes a number of what is relative to the data, or leaves it."""


#: name in configs and in files of models -> kernel; filled as their files are imported
KERNELS: dict[str, type[Kernel]] = {}


class Kernel(tuple[Any, ...], ABC):
    """A kernel: the tuple of its parameters, which compiled code is given, and all that the package asks of it.

    A kernel is a class in a file of its own, with a NamedTuple of its parameters as the other base, that `value` and
    `values` are registered for; `gaussian` is the one to follow. It is a function of the inner product of two rows and
    of their squared norms.

    Attributes
    ----------
    name : str
        In configs and in files of models.
    options : type of Options
        What a config may say of it; a kernel without them is in no config and no file.
    shift_invariant : bool
        Whether it is a function of ||a - b|| alone.
    sklearn_name : str
        What scikit-learn's SVC calls it; empty where that has no such kernel.
    sklearn_words : mapping of str to str
        A parameter -> which of gamma, degree and coef0 it is for classifiers; what is not among them has its default.
    smaller : str
        What else than scaling the features down makes values smaller, for messages.
    """

    __slots__ = ()

    _fields: Any  # of the NamedTuple, as the next
    _field_defaults: Any
    name: ClassVar[str]
    options: ClassVar[type[Options]]
    shift_invariant: ClassVar[bool] = False
    sklearn_name: ClassVar[str] = ""
    sklearn_words: ClassVar[Mapping[str, str]] = {}
    smaller: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        """Make the kernel known by its name, where a config may have it."""
        if hasattr(cls, "options"):
            KERNELS[cls.name] = cls

    @abstractmethod
    def bound(self, squared_norms: Any) -> Any:
        """Return M_i for each ``||x_i||^2``, with |K(x_i, x_j)| <= sqrt(M_i M_j) for rows of these lengths."""

    @abstractmethod
    def growth(self, squared_norm: float) -> float:
        """Return by how many times the rounding of inner products a value may be wrong, relative to `bound`.

        That is for rows of at most this squared norm.
        """

    @property
    @abstractmethod
    def positive_semidefinite(self) -> bool:
        """Whether it is an inner product for any rows; of another, dual variables certify nothing."""

    def largest(self, squared_norm: float) -> float:
        """Return a bound of what is computed for rows of at most this squared norm; may overflow to infinity."""
        return squared_norm

    @classmethod
    @cache
    def description(cls) -> type[Strict]:
        """Return what a file says of such a kernel: its name, as its kind, and its parameters, all in their ranges."""
        hints = get_type_hints(cls, include_extras=True)
        parameters: Any = {"kind": (Literal[cls.name], ...)}
        parameters |= {name: (hints[name], cls._field_defaults.get(name, ...)) for name in cls._fields}
        return create_model(cls.__name__, __base__=Strict, **parameters)

    def described(self) -> Strict:
        """Return what a file says of this kernel.

        Raises
        ------
        ValidationError
            Of pydantic, if a parameter is out of its range.
        """
        return self.description().model_validate({"kind": self.name} | self.parameters)

    def misfit(self) -> tuple[str, str] | None:
        """Return a parameter that is out of its range, and what it ``must be``; None where all are fine."""
        try:
            self.described()
        except ValidationError as invalid:
            error = invalid.errors()[0]
            return str(error["loc"][0]), wanted(error)
        return None

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters by name, as numbers of Python."""
        pairs = zip(self._fields, self, strict=True)
        return {name: parameter.item() if hasattr(parameter, "item") else parameter for name, parameter in pairs}

    def for_sklearn(self) -> dict[str, Any]:
        """Return the kernel as arguments of scikit-learn's SVC.

        Raises
        ------
        ConfigError
            If that has no such kernel.
        """
        if not self.sklearn_name:
            raise ConfigError(f"scikit-learn's SVC has no kernel {self}")
        words = {word: getattr(self, name) for name, word in self.sklearn_words.items()}
        return {"kernel": self.sklearn_name, **words}

    def c_float(self, norms: NDArray[Any], number: Callable[[float], str]) -> CText:
        """Return the kernel as C in single precision.

        Parameters
        ----------
        norms : array, shape (m,)
            ``||v_i||^2`` of the vectors.
        number : function
            Returns a number as C writes it.

        Raises
        ------
        DataError
            If it has none, or values are beyond the range of single precision.
        """
        raise DataError(f"the kernel {self} cannot be exported as C")

    def c_fixed(self, power: int, products: NDArray[Any]) -> CText:
        """Return the kernel as C in fixed point.

        Parameters
        ----------
        power : int
            ``value`` is an inner product, or a squared distance, times 2 to this power.
        products : array, shape (m, n)
            Inner products of the vectors and of the rows at hand.

        Raises
        ------
        DataError
            If it has none, or numbers cannot be held.
        """
        raise DataError(f"fixed point: the kernel {self} cannot be exported; export floats")

    def onnx(self, graph: Graph, value: str, row_norms: str, norms: NDArray[Any]) -> str:
        """Add the nodes that compute kernel values, shape (n, m), and return the name of these.

        Parameters
        ----------
        graph : Graph
        value : str
            The inner products of rows and vectors, or the squared distances of a kernel that is `shift_invariant`.
        row_norms : str
            ``||x||^2`` of the rows, shape (n, 1).
        norms : array, shape (1, m)
            ``||v_i||^2`` of the vectors.

        Raises
        ------
        DataError
            If it has none.
        """
        raise DataError(f"the kernel {self} cannot be exported as ONNX")

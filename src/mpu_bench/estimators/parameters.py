"""What parameters of the classifiers may be, how a wrong one is reported, and how a user is warned."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import cache, wraps
from inspect import signature
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeVar, get_args, get_type_hints

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mpu_bench.errors import UserError

_T = TypeVar("_T")

#: ``kernel(X, Y)`` returns the kernel values of n rows with m others, shape (n, m)
KernelFunction = Callable[[Any, Any], Any]

_TRUTH = (Integral, np.bool_)

#: how a type that a parameter may have is said, and what Python takes for it
_SAID: dict[Any, str] = {
    Real: "a number",
    Integral: "a whole number",
    _TRUTH: "True or False",
    str: "a word",
    Callable: "a function",
    type(None): "None",
}
_TAKEN: dict[Any, Any] = {
    float: Real, int: Integral, bool: _TRUTH, str: str, KernelFunction: Callable, type(None): type(None),
}  # fmt: skip


#: what a parameter was called in version 0.2.0 -> its name
_RENAMED = {"bias": "fit_intercept", "vectors": "budget"}


class KnowsOldNames:
    """A class that names the new name of a parameter which is given by its old one, and says where weights go."""

    #: of one that takes no weights
    why_no_weights: ClassVar[str] = "its solver has no weight for the loss of each row"

    def __new__(cls, *_arguments: Any, **parameters: Any) -> Self:
        """Refuse old names, and weights of classes where there is no place for them.

        Raises
        ------
        TypeError
        """
        if "class_weight" in parameters and not hasattr(cls, "class_weight"):
            raise TypeError(f"{cls.__name__} takes no class_weight: {cls.why_no_weights}")
        for old in parameters.keys() & _RENAMED:
            raise TypeError(f"{cls.__name__}: '{old}' is called '{_RENAMED[old]}' now")
        return super().__new__(cls)


def check_types(classifier: Any) -> None:
    """Refuse what is of another type than is declared.

    Raises
    ------
    ValueError
        Naming the parameter.
    """
    kind: type = type(classifier)
    for name, kinds in _kinds_of(kind).items():
        value = getattr(classifier, name)
        if not isinstance(value, tuple(kinds)):
            expected = " or ".join(_SAID[kind] for kind in kinds)
            raise ValueError(f"{name} is {value!r}; it must be {expected}")


@cache
def _kinds_of(kind: type) -> dict[str, list[Any]]:
    """Return the types that each parameter of a class may have; what may be anything is left out."""
    hints = get_type_hints(kind)
    declared = {field.name: get_args(hints[field.name]) or (hints[field.name],) for field in fields(kind)}
    return {name: [_TAKEN[member] for member in types] for name, types in declared.items() if Any not in types}


def is_checked(hint: Any) -> bool:
    """Return whether `check_types` knows a type that a parameter is declared with."""
    return all(member in _TAKEN for member in get_args(hint) or (hint,))


def regularization(C: float, n: int) -> float:
    """Return lambda = 1 / (C n).

    Raises
    ------
    ValueError
        If either is not above 0, or infinite.
    """
    if not 0 < C < np.inf:
        raise ValueError(f"C is {C!r}; it must be above 0 and finite")
    per_mean_loss = 1.0 / (float(C) * n)
    if not 0 < per_mean_loss < np.inf:
        raise ValueError(f"C is {C!r}; 1 / (C n), which is {per_mean_loss:g}, must be above 0 and finite")
    return per_mean_loss


def one_of(words: Iterable[str], **parameter: Any) -> str:
    """Return the value of a parameter, which must be one of the words.

    Raises
    ------
    ValueError
        If it is not.
    """
    ((name, value),) = parameter.items()
    if value not in (choices := tuple(words)):
        raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(map(repr, choices))}")
    return str(value)


def as_it_was_if_refused(method: Callable[..., _T]) -> Callable[..., _T]:
    """Let a classifier be what it was where a method of it that trains raises: fitted before, it still answers so.

    Weights of rows are refused in words where the method has no place for them.
    """
    takes_weights = "sample_weight" in signature(method).parameters

    @wraps(method)
    def tried(self: Any, *arguments: Any, **named: Any) -> _T:
        if "sample_weight" in named and not takes_weights:
            raise TypeError(f"{type(self).__name__}.{method.__name__} takes no sample_weight: {self.why_no_weights}")
        before = dict(vars(self))
        try:
            return method(self, *arguments, **named)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return tried


def warn(text: str) -> None:
    """Warn of training that did not converge, at the line outside of this package that asked for it."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("mpu_bench."):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, ConvergenceWarning, stacklevel=level)


@contextmanager
def as_value_error() -> Iterator[None]:
    """Turn what a user can mend into the error that scikit-learn's users expect."""
    try:
        yield
    except UserError as error:
        raise ValueError(str(error)) from error

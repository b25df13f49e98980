"""Parameters that are relative to the data, or derived from them, and how values are written.

A config writes ``C: {over-examples: 2}``, ``gamma: {over-features: 4}`` or ``nu: {from-regularization: 0.1}``. They are
parsed once, by `parse`, and keep that form wherever they are stored as JSON: a results folder, a run's key.
"""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Literal

from mpu_bench.errors import DataError

Divisor = Literal["n", "d", "mean-squared-distance"]

OVER_EXAMPLES = "over-examples"
FROM_REGULARIZATION = "from-regularization"

#: word of a config -> what its number is divided by
DIVISORS: dict[str, Divisor] = {
    OVER_EXAMPLES: "n",
    "over-features": "d",
    "over-mean-squared-distance": "mean-squared-distance",
}
_WORDS = {divisor: word for word, divisor in DIVISORS.items()}


_EXACT = 2**53  # below it every integer is a real number


def in_one_form(number: float) -> float:
    """Return a number of no declared type in the form in which it is kept, 1 whether it was given as 1 or as 1.0.

    Results are kept under what depends on it.
    """
    real = float(number)
    return int(real) if real.is_integer() and abs(real) < _EXACT else real


def _compared(how: Callable[[Any, Any], bool]) -> Callable[[Any, float], bool]:
    return lambda value, bound: how(getattr(value, fields(value)[0].name), bound)


class _Relative:
    """Compares with a bound as its number does: bounds are 0 or infinity, and what that is divided by is positive."""

    __lt__, __le__ = _compared(operator.lt), _compared(operator.le)
    __gt__, __ge__ = _compared(operator.gt), _compared(operator.ge)


@dataclass(frozen=True, repr=False)
class Scaled(_Relative):
    """A number relative to the data: ``factor`` over ``by``.

    Attributes
    ----------
    factor : float
    by : {"n", "d", "mean-squared-distance"}
        The number of training examples, that of features, or the mean squared distance of two training rows.
    """

    factor: float
    by: Divisor

    def __str__(self) -> str:
        return f"{short(self.factor)}/{self.by.replace('-', ' ')}"

    __repr__ = __str__

    def resolve(self, divisor: Callable[[Divisor], float]) -> float:
        """Return the number, where ``divisor`` knows the data.

        Raises
        ------
        DataError
            If there is none: all training rows are alike, and their distance is 0.
        """
        by = divisor(self.by)
        number = self.factor / by if by > 0 else math.inf
        if not number < math.inf:
            measured = f"the {self.by.replace('-', ' ')} of the training rows is {by:g}"
            raise DataError(f"{self} is no finite number: {measured}; give a number instead")
        return number


@dataclass(frozen=True, repr=False)
class Derived(_Relative):
    """The nu of the optimum at a regularization (lambda), known once that optimum is."""

    regularization: float | Scaled

    def __str__(self) -> str:
        return f"nu({short(self.regularization)})"

    __repr__ = __str__


def to_json(value: Any) -> dict[str, Any]:
    """Return a relative value as a config writes it; the ``default`` of `json.dumps`."""
    if isinstance(value, Scaled):
        return {_WORDS[value.by]: value.factor}
    if isinstance(value, Derived):
        return {FROM_REGULARIZATION: value.regularization}
    raise TypeError(f"{value!r} has no form in JSON")


def from_json(mapping: dict[str, Any]) -> Any:
    """Return the relative value that a mapping stands for, or the mapping; the ``object_hook`` of `json.loads`."""
    if len(mapping) != 1:
        return mapping
    ((word, number),) = mapping.items()
    if word in DIVISORS:
        return Scaled(number, DIVISORS[word])
    return Derived(number) if word == FROM_REGULARIZATION else mapping


@lru_cache(maxsize=4096)
def parameters_in(text: str) -> Mapping[str, Any]:
    """Return the parameters that a stored JSON text holds; many rows have the same, so they must not be changed."""
    parameters: dict[str, Any] = json.loads(text, object_hook=from_json)
    return parameters


def parse(value: Any) -> Any:
    """Return a value of a config, as YAML gives it, with the relative values that it holds."""
    return from_json({key: parse(item) for key, item in value.items()}) if isinstance(value, dict) else value


def short(value: Any) -> str:
    """Write a parameter's value as briefly as tells it from others: ``1e-05``, ``4/d``, ``nu(1/n)``."""
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)

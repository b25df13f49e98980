"""Bounds of parameters, and what two objectives say together."""

from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
from annotated_types import Ge, Gt, Interval

from mpu_bench.core.solver import Solver
from mpu_bench.errors import ConfigError


@dataclass(frozen=True)
class Bounded(Solver):
    name = "bounded"
    paper = "none"

    start = advance = model = None

    C: Annotated[float, Gt(0)] = 1.0
    share: Annotated[float, Interval(gt=0, le=1)] = 1.0
    regularization: Annotated[float, Gt(0)] | None = None
    sampling: Annotated[int, Ge(1)] | None = 59
    rate: Annotated[float, Gt(0)] | Literal["auto"] = 1.0
    order: Literal["given", "random"] = "given"
    ties: Literal["first", "last"] | None = None


@pytest.mark.parametrize(
    ("parameters", "bound"),
    [
        ({"C": 0.0}, "C is 0.0; it must be above 0"),
        ({"C": float("nan")}, "C is nan; it must be above 0"),
        ({"share": 1.5}, "share is 1.5; it must be at most 1"),
        ({"regularization": -1.0}, "regularization is -1.0; it must be above 0"),
        ({"sampling": 0}, "sampling is 0; it must be at least 1"),
        ({"C": "1"}, "C is '1'; it must be a number"),
        ({"C": [1.0]}, "C is \\[1.0\\]; it must be a number"),
        ({"C": 1j}, "C is 1j; it must be a number"),
        ({"rate": "slow"}, "rate is 'slow'; it must be a number"),
        ({"order": "sorted"}, "order is 'sorted'; it must be one of 'given', 'random'"),
        ({"order": 1}, "order is 1; it must be one of 'given', 'random'"),
        ({"ties": "any"}, "ties is 'any'; it must be one of 'first', 'last', None"),
    ],
)
def test_bounds_hold_alone_in_groups_and_in_unions(parameters, bound):
    with pytest.raises(ConfigError, match=f"bounded: {bound}"):
        Bounded(**parameters)


def test_none_is_within_the_bounds_of_a_union():
    assert Bounded(regularization=None, sampling=None).sampling is None
    assert Bounded(regularization=1e-4).regularization == 1e-4


def test_a_word_of_a_union_has_no_bounds():
    assert Bounded(rate="auto").rate == "auto"


def test_what_is_infinite_is_outside_of_every_range():
    with pytest.raises(ConfigError, match="regularization is inf; it must be finite"):
        Bounded(regularization=float("inf"))

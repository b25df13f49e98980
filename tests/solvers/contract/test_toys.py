"""Solvers made for a check, and the numbers found in a state."""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated, Any, Literal, NamedTuple, Optional

import numpy as np
import pytest
from annotated_types import Ge, Gt, Interval, Le, Lt

from mpu_bench.core.solver import Solver
from mpu_bench.errors import ConfigError
from mpu_bench.solvers.contract import toys


class Idle(Solver):
    name = "idle"
    paper = "mine"

    def start(self, problem, kernel, seed):
        raise NotImplementedError

    advance = model = start


@dataclass(frozen=True)
class Required(Idle):
    count: int
    number: float
    above: Annotated[float, Gt(1)]
    below: Annotated[float, Lt(0)]
    narrow: Annotated[float, Interval(gt=0, lt=0.001)]
    many: Annotated[int, Ge(1000)]
    few: Annotated[int, Gt(1), Le(3)]
    how: Literal["plain", "half"]
    maybe: Optional[float]  # noqa: UP045 - as some write it
    either: Literal["auto"] | float
    bounded: Annotated[int, Ge(20)] | None
    flag: bool
    text: str
    chosen: float = 3.0


def test_what_is_required_is_given_a_value_of_its_type_within_its_bounds():
    made = toys.with_small_parameters(Required)
    assert (made.count, made.number, made.chosen) == (10, 0.5, 3.0)
    assert made.above > 1
    assert made.below < 0
    assert 0 < made.narrow < 0.001
    assert made.many >= 1000
    assert 1 < made.few <= 3
    assert (type(made.many), type(made.few), type(made.above)) == (int, int, float)
    assert (made.how, made.maybe, made.either, made.bounded) == ("plain", 0.5, "auto", 21)
    assert (made.flag, made.text) == (False, "")


def test_where_no_value_is_found_a_default_is_asked_for():
    @dataclass(frozen=True)
    class Odd(Idle):
        layers: list[int]

    with pytest.raises(ConfigError, match="idle: give 'layers' a default so that it can be tested"):
        toys.with_small_parameters(Odd)


class Pair(NamedTuple):
    left: Any
    right: Any


class Slotted:
    __slots__ = ("absent", "first")

    def __init__(self, first):
        self.first = first


class Plain:
    def __init__(self, **attributes):
        vars(self).update(attributes)


ONE = np.ones(1)


@pytest.mark.parametrize(
    ("state", "paths"),
    [
        (Pair(ONE, 2), {"left", "right"}),
        (Slotted(ONE), {"first"}),
        (Plain(inner=Plain(weights=ONE), text="no number", absent=None), {"inner.weights"}),
        (SimpleNamespace(weights={"a": 1.0, 3: ONE, np.int64(4): 2.0}), {"weights.a", "weights.3", "weights.4"}),
        (Plain(pairs=[(1, ONE), Pair(2, ())]), {"pairs.0.0", "pairs.0.1", "pairs.1.left"}),
        (Plain(chosen={7, 5}), {"chosen.0", "chosen.1"}),
        (Plain(parts=np.array([ONE, None], object)), {"parts.0"}),
        (Plain(lock=threading.Lock(), thread=threading.Thread(), sort=np.sort, kind=Plain, np=np), set()),
    ],
)
def test_numbers_are_found_wherever_a_state_keeps_them(state, paths):
    assert set(toys.arrays_of(state)) == paths


@pytest.mark.parametrize(
    ("generator", "draw"),
    [
        (np.random.default_rng(0), "random"),
        (np.random.RandomState(0), "random_sample"),
        (random.Random(0), "random"),
    ],
)
def test_a_number_drawn_is_a_change(generator, draw):
    def numbers():
        return {name: array.tolist() for name, array in toys.arrays_of(Plain(generator=generator)).items()}

    before = numbers()
    assert before == numbers()
    getattr(generator, draw)()
    assert before != numbers()


def test_what_is_found_is_a_copy():
    state = Plain(weights=np.zeros(2))
    found = toys.arrays_of(state)
    state.weights += 1
    assert not found["weights"].any()


def test_states_that_hold_themselves_are_deep_or_huge_have_an_end():
    state = Plain(weights=ONE)
    state.again = [state]
    assert set(toys.arrays_of(state)) == {"weights"}
    for _ in range(5000):
        state = Plain(inner=state)
    assert len(toys.arrays_of(state)) == 1
    assert len(toys.arrays_of(Plain(rows=[[1.0] * 100 for _ in range(10_000)]))) < 300_000

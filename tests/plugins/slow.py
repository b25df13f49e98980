"""A perceptron that takes its time, for the tests in which something is ended in the middle of a run."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Ge

from mpu_bench.core.counters import PRESENTED, UPDATES, new_counters
from mpu_bench.core.models import LinearModel
from mpu_bench.core.solver import Solver, Status, Until


class State(NamedTuple):
    values: Any
    signs: Any
    weights: Any
    order: Any
    counters: Any


@dataclass(frozen=True)
class Slow(Solver):
    """Sleeps ``nap`` seconds every twenty examples; a line in ``log`` tells that a run has begun.

    Attributes
    ----------
    passes : int
    nap : float
    log : str
    """

    name = "slow"
    paper = "none"
    ends = True

    passes: Annotated[int, Ge(1)] = 3
    nap: float = 0.02
    log: str = ""

    def start(self, problem, kernel, seed):
        if self.log and problem.n > 100:  # and no warm-up
            with Path(self.log).open("a", encoding="utf-8") as file:
                file.write(f"{seed}\n")
        order = np.random.default_rng(seed).permutation(problem.n)
        values = np.asarray(problem.train.values)
        return State(values, problem.signs(), np.zeros(problem.features), order, new_counters())

    def advance(self, state, until: Until) -> Status:
        n = len(state.order)
        while state.counters[PRESENTED] < min(until.presented, self.passes * n):
            presented = state.counters[PRESENTED]
            if presented % 20 == 0:
                time.sleep(self.nap)
            i = state.order[presented % n]
            if state.signs[i] * (state.values[i] @ state.weights) <= 0:
                state.weights[:] += state.signs[i] * state.values[i]
                state.counters[UPDATES] += 1
            state.counters[PRESENTED] += 1
        return Status.DONE if state.counters[PRESENTED] >= self.passes * n else Status.RUNNING

    def model(self, state):
        return LinearModel(state.weights[np.newaxis].copy())

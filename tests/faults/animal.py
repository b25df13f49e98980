"""What the misbehaving solvers of tests/plugins/zoo have in common: each behaves well but for one thing."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mpu_bench.core.counters import PRESENTED, new_counters
from mpu_bench.core.models import LinearModel
from mpu_bench.core.problem import Problem
from mpu_bench.core.solver import Solver, Status


class State(NamedTuple):
    problem: Any
    kernel: Any
    weights: Any
    counters: Any

    @property
    def warming_up(self) -> bool:
        return is_warm_up(self.problem)


def is_warm_up(problem: Problem) -> bool:
    """Return whether a problem is the small one that solvers are compiled on."""
    return problem.fingerprint == "warm-up"


class Animal(Solver):
    """Presents a hundred examples, does ``act`` unless it is warming up, and is done."""

    paper = "none"

    def start(self, problem, kernel, seed):
        return State(problem, kernel, np.zeros(problem.features), new_counters())

    def advance(self, state, until):
        state.counters[PRESENTED] = min(until.presented, state.counters[PRESENTED] + 100)
        if not state.warming_up:
            self.act(state)
        return Status.DONE

    def act(self, state):
        pass

    def model(self, state):
        return LinearModel(state.weights[np.newaxis])

"""A solver of a user's own that does nothing wrong: the perceptron of 1958."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mpu_bench.core.counters import INNER_PRODUCTS, PRESENTED, UPDATES, new_counters
from mpu_bench.core.models import LinearModel
from mpu_bench.core.problem import StreamedProblem
from mpu_bench.core.solver import Measures, Solver, Status


class _State(NamedTuple):
    values: Any
    signs: Any
    weights: Any
    counters: Any


@dataclass(frozen=True)
class WellBehaved(Solver):
    """Presents its rows, or the first block of a stream, in their order."""

    name = "well-behaved"
    paper = "none"
    online = True

    def start(self, problem, kernel, seed):
        self.check(problem, kernel)
        rows = problem.block(0)[0] if isinstance(problem, StreamedProblem) else problem.train
        signs = 2.0 * problem.labels - 1
        return _State(np.asarray(rows.values, np.float64), signs, np.zeros(problem.features), new_counters())

    def advance(self, state, until):
        while state.counters[PRESENTED] < until.presented:
            i = int(state.counters[PRESENTED]) % len(state.signs)
            state.counters[PRESENTED] += 1
            state.counters[INNER_PRODUCTS] += 1
            if state.signs[i] * (state.values[i] @ state.weights) <= 0:
                state.weights[:] += state.signs[i] * state.values[i]
                state.counters[UPDATES] += 1
        return Status.RUNNING

    def model(self, state):
        return LinearModel(state.weights[np.newaxis].copy())

    def measures(self, state):
        wrong = state.counters[UPDATES] / max(1, state.counters[PRESENTED])
        return Measures(online_error=float(wrong))

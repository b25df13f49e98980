"""Pegasos: stochastic sub-gradient steps and projections, for the linear L1-SVM without bias.

    min_w  f(w) = lambda/2 ||w||^2 + 1/n sum_i max(0, 1 - y_i w.x_i),   lambda = 1 / (C n);   J(w) = C n f(w)

Shalev-Shwartz, Singer, Srebro: "Pegasos: Primal Estimated sub-GrAdient SOlver for SVM", ICML 2007, Figure 1. Step
t = 1, 2, ... draws k examples A_t, of which A+ have y w.x < 1, and with z = y x and eta = 1 / (lambda t)

    w <- (1 - eta lambda) w + eta / k sum_{A+} z,    w <- min(1, 1 / (sqrt(lambda) ||w||)) w

Here v = (t - 1) w is kept, w before step t: the first line is then v += C n / k sum_{A+} z, without scaling, and a
step costs the non-zeros of its k rows. ||v||^2 is carried along as an upper bound, from the responses and
R = max ||x_i||; the norm itself is computed, in d operations, only where the bound says that w may have left the ball.
That is at most some 2 R sqrt(C n) of the first steps. The model is the last w, whose objective mpu-2010 reports.

Counted: k examples presented and k inner products a step; a step is one update. A slice may end within a step.

Deviations: the k examples are drawn independently, so one may come twice, as in the authors' program; the expected
sub-gradient, which is all that Theorem 1 asks for, is that of a random subset, and the cost does not depend on n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from annotated_types import Ge, Gt
from numba import njit
from numpy.typing import NDArray

from mpu_bench.core.counters import INNER_PRODUCTS, PRESENTED, STEPS, UPDATES, new_counters
from mpu_bench.core.kernels import Kernel
from mpu_bench.core.models import LinearModel
from mpu_bench.core.prefetch import prefetch
from mpu_bench.core.problem import Problem
from mpu_bench.core.rng import below, generator
from mpu_bench.core.rows import Rows, add, dot, new_weights, prepare
from mpu_bench.core.solver import Allowance, Measures, Solver, Status
from mpu_bench.solvers.certificates import finite_squared_norms, margin, primal

_AHEAD = 6  # examples ahead that are fetched
# Places in State.progress
_POSITION, _VIOLATORS, _TIME, _STATUS = 0, 1, 2, 3
# Places in State.numbers
_LARGEST_NORM, _NORM_BOUND, _RESPONSES = 0, 1, 2


class State(NamedTuple):
    """What the algorithm works on; n examples of d features, k examples a step."""

    rows: Rows
    signs: NDArray[np.float64]  #: y (n,)
    accumulated: NDArray[np.float64]  #: v = (t - 1) w (d,)
    batch: NDArray[np.uint32]  #: A_t (k,)
    violators: NDArray[np.uint32]  #: A+ (k,), as far as found
    generator: NDArray[np.uint64]
    progress: NDArray[np.int64]  #: examples of A_t presented, size of A+, t, status
    numbers: NDArray[np.float64]  #: R, at least ||v||^2, sum of v.z over A+
    counters: NDArray[np.int64]


@dataclass(frozen=True)
class Pegasos(Solver):
    """Primal estimated sub-gradient solver.

    Attributes
    ----------
    C : float
        The weight of the losses; lambda = 1 / (C n).
    batch : int
        k, the examples of a step.
    iterations : int
        The number of steps, T; the algorithm has no other stopping rule.
    """

    name = "pegasos"
    paper = "shalev-shwartz-2007"
    l1_svm = True

    C: Annotated[float, Gt(0)] = 1.0
    batch: Annotated[int, Ge(1)] = 30
    iterations: Annotated[int, Ge(1)] = 1_000_000

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Start at w = 0."""
        self.check(problem, kernel)
        largest = np.sqrt(finite_squared_norms(problem).max())
        return State(
            problem.train,
            problem.signs(),
            new_weights(problem.features),
            np.zeros(self.batch, np.uint32),
            np.zeros(self.batch, np.uint32),
            generator(seed, "pegasos"),
            np.array([0, 0, 1, Status.RUNNING]),
            np.array([largest, 0.0, 0.0]),
            new_counters(),
        )

    def advance(self, state: State, allowance: Allowance) -> Status:
        """Present further examples."""
        return Status(_advance(state, self.C, self.iterations, allowance.presented))

    def model(self, state: State) -> LinearModel:
        """Give the last w."""
        return LinearModel(_weights(state)[np.newaxis])

    def measures(self, state: State) -> Measures:
        """Evaluate the objective and the margin of the last w; there are no dual variables to certify them."""
        weights = _weights(state)
        return Measures(
            objective=primal(state.rows, state.signs, weights, self.C),
            margin=margin(state.rows, state.signs, weights),
        )


def _weights(state: State) -> NDArray[np.float64]:
    return state.accumulated / max(int(state.progress[_TIME]) - 1, 1)


@njit(cache=True, nogil=True)
def _advance(state, C, iterations, allowed):
    progress, size = state.progress, len(state.batch)
    while progress[_STATUS] == Status.RUNNING and allowed > 0:
        if progress[_POSITION] == 0:
            _begin_step(state)
        first = progress[_POSITION]
        last = min(first + allowed, size)
        _present(state, first, last)
        allowed -= last - first
        if last == size:
            _end_step(state, C, iterations)
    return progress[_STATUS]


@njit(cache=True, nogil=True)
def _begin_step(state):
    """Draw A_t."""
    n, size = np.uint32(len(state.signs)), len(state.batch)
    for j in range(size):
        state.batch[j] = below(state.generator, n)
    for j in range(min(_AHEAD, size)):
        prepare(state.rows, state.batch[j])
        prefetch(state.signs, state.batch[j])
    state.progress[_VIOLATORS] = 0
    state.numbers[_RESPONSES] = 0.0


@njit(cache=True, nogil=True)
def _present(state, first, last):
    """Find the examples of A+ among A_t from ``first`` to ``last - 1``."""
    rows, signs, accumulated, batch, violators = state[:5]
    threshold = np.float64(max(state.progress[_TIME] - 1, 1))  # y w.x < 1 is z.v < t - 1; for t = 1, v = 0
    size, responses = state.progress[_VIOLATORS], state.numbers[_RESPONSES]
    for j in range(first, last):
        soon = batch[min(j + _AHEAD, len(batch) - 1)]
        prepare(rows, soon)
        prefetch(signs, soon)
        i = batch[j]
        response = signs[i] * dot(rows, i, accumulated)
        violates = response < threshold  # as good as random: no branch on it
        violators[size] = i
        size += np.int64(violates)
        responses += response if violates else 0.0
    state.progress[_POSITION] = last
    state.progress[_VIOLATORS], state.numbers[_RESPONSES] = size, responses
    state.counters[PRESENTED] += last - first
    state.counters[INNER_PRODUCTS] += last - first


@njit(cache=True, nogil=True)
def _end_step(state, C, iterations):
    """Take the step and project."""
    progress, numbers = state.progress, state.numbers
    n, time, size = len(state.signs), progress[_TIME], progress[_VIOLATORS]
    step = C * n / len(state.batch)  # eta / k, times t
    for j in range(size):
        i = state.violators[j]
        add(state.rows, i, state.signs[i] * step, state.accumulated)
    length = step * size * numbers[_LARGEST_NORM]  # at least that of the change of v
    numbers[_NORM_BOUND] += 2.0 * step * numbers[_RESPONSES] + length * length
    limit = C * n * time * time  # ||w||^2 <= 1 / lambda, times t^2
    if not numbers[_NORM_BOUND] <= limit:  # a NaN too
        _project(state, limit)
    state.counters[STEPS] += 1
    state.counters[UPDATES] += 1
    progress[_POSITION], progress[_TIME] = 0, time + 1
    if progress[_STATUS] == Status.RUNNING and time == iterations:
        progress[_STATUS] = Status.DONE


@njit(cache=True, nogil=True)
def _project(state, limit):
    """Compute ||v||^2, and scale v down if it is above the limit."""
    accumulated, norm = state.accumulated, 0.0
    for j in range(len(accumulated)):
        norm += accumulated[j] * accumulated[j]
    if not np.isfinite(norm):
        state.progress[_STATUS] = Status.DIVERGED
    if norm > limit:
        scale = np.sqrt(limit / norm)
        for j in range(len(accumulated)):
            accumulated[j] *= scale
        norm = limit
    state.numbers[_NORM_BOUND] = norm

"""Dual coordinate descent with shrinking, for the linear L1-SVM without bias.

    min_alpha  f(alpha) = 1/2 ||w||^2 - sum_i alpha_i,   w = sum_i alpha_i y_i x_i,   0 <= alpha_i <= C

Hsieh, Chang, Lin, Keerthi, Sundararajan: "A dual coordinate descent method for large-scale linear SVM",
ICML 2008, Algorithm 3 (Algorithm 1 with shrinking and random order). One variable at a time is set to its
minimum. G_i = y_i w.x_i - 1 is the derivative, PG_i the projected one (zero where a bound keeps alpha_i),
M and m the largest and smallest PG_i of a pass.

Counted: one inner product per example presented, n per certificate. The certificate is no part of the paper's
algorithm: with ``stop`` above zero the gap between primal and dual ends the run, instead of the tolerance. Each example
adds C max(0, -G_i) + alpha_i G_i to the gap, so the G_i of a pass estimate it for nothing: a small estimate ends a
round of shrunk passes as a small M - m does, and one over all examples calls for the certificate.
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
from mpu_bench.core.rng import generator, shuffle
from mpu_bench.core.rows import Rows, add, dot, new_weights, prepare
from mpu_bench.core.solver import Allowance, Measures, Solver, Status
from mpu_bench.solvers.certificates import certify, finite_squared_norms, hinge_sum

# Places in State.progress
_SHRUNK = 0.7  # the part of the gap wanted that ends a round of shrunk passes: gap over all is larger
_EXACT = 1e-12  # changes below are rounding
_AHEAD = np.uint32(6)  # places ahead that are fetched
_POSITION, _ACTIVE, _COMPLETE, _STATUS = 0, 1, 2, 3
# Places in State.numbers
_LARGEST, _SMALLEST, _OLD_LARGEST, _OLD_SMALLEST, _GAP, _DUAL = 0, 1, 2, 3, 4, 5


class State(NamedTuple):
    """What the algorithm works on; n examples of d features."""

    rows: Rows
    signs: NDArray[np.float64]  #: y (n,)
    squared_norms: NDArray[np.float64]  #: ||x_i||^2 (n,); above zero, so that a zero row goes to C at once
    alphas: NDArray[np.float64]  #: (n,), in [0, C]
    weights: NDArray[np.float64]  #: w (d,)
    order: NDArray[np.uint32]  #: (n,) the active examples, then those shrunk away
    generator: NDArray[np.uint64]
    progress: NDArray[np.int64]  #: place in the pass, number of active examples, whether the pass began with all
    numbers: NDArray[np.float64]  #: M and m of this pass and of the last; the gap seen in this pass; the dual
    counters: NDArray[np.int64]


@dataclass(frozen=True)
class DCD(Solver):
    """Dual coordinate descent.

    Attributes
    ----------
    C : float
        The weight of the losses.
    tolerance : float
        Stop when M - m <= tolerance over a pass without shrinking (LIBLINEAR's epsilon). Not used with ``stop``.
    stop : float
        Above 0, stop when objective / dual - 1 <= stop instead.
    """

    name = "dcd"
    paper = "hsieh-2008"
    l1_svm = True

    C: Annotated[float, Gt(0)] = 1.0
    tolerance: Annotated[float, Gt(0)] = 0.1
    stop: Annotated[float, Ge(0)] = 0.0

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Start at alpha = 0."""
        self.check(problem, kernel)
        n = problem.n
        progress = np.array([0, n, True, Status.RUNNING])
        numbers = np.array([-np.inf, np.inf, np.inf, -np.inf, 0.0, 0.0])
        state = State(
            problem.train,
            problem.signs(),
            np.maximum(finite_squared_norms(problem), np.finfo(np.float64).tiny),
            np.zeros(n),
            new_weights(problem.features),
            np.arange(n, dtype=np.uint32),
            generator(seed, "dcd"),
            progress,
            numbers,
            new_counters(),
        )
        shuffle(state.generator, state.order, n)
        return state

    def advance(self, state: State, allowance: Allowance) -> Status:
        """Present further examples."""
        return Status(_advance(state, self.C, self.tolerance, self.stop, allowance.presented))

    def model(self, state: State) -> LinearModel:
        """Give w."""
        return LinearModel(state.weights[np.newaxis].copy())

    def measures(self, state: State) -> Measures:
        """Certify w by alpha."""
        return certify(state.rows, state.signs, state.weights, state.alphas, self.C)


@njit(cache=True, nogil=True)
def _advance(state, C, tolerance, stop, allowed):
    progress = state.progress
    while progress[_STATUS] == Status.RUNNING and allowed > 0:
        allowed -= _present(state, C, allowed)
        if progress[_POSITION] == progress[_ACTIVE]:
            _end_pass(state, C, tolerance, stop)
    return progress[_STATUS]


@njit(cache=True, nogil=True, error_model="numpy")
def _present(state, C, allowed):
    """Go on with the pass; gives the number of examples presented."""
    rows, signs, norms, alphas, weights, order = state[:6]
    progress, numbers = state.progress, state.numbers
    largest, smallest, gap, dual = numbers[_LARGEST], numbers[_SMALLEST], numbers[_GAP], numbers[_DUAL]
    old_largest, old_smallest = numbers[_OLD_LARGEST], numbers[_OLD_SMALLEST]
    position, active = np.uint32(progress[_POSITION]), np.uint32(progress[_ACTIVE])
    presented, steps = 0, 0
    end = np.uint32(len(order) - 1)
    while position < active and presented < allowed:
        soon = order[min(position + _AHEAD, end)]
        prepare(rows, soon)
        prefetch(signs, soon)
        prefetch(norms, soon)
        prefetch(alphas, soon)
        i = order[position]
        presented += 1
        gradient = signs[i] * dot(rows, i, weights) - 1.0  # step (a)
        alpha = alphas[i]
        gap += C * max(-gradient, 0.0) + alpha * gradient  # this example's part of primal - dual
        if (alpha == 0.0 and gradient > old_largest) or (alpha == C and gradient < old_smallest):  # shrink
            active -= np.uint32(1)
            order[position], order[active] = order[active], i
            continue
        position += np.uint32(1)
        projected = gradient  # step (b)
        if alpha == 0.0:
            projected = min(gradient, 0.0)
        elif alpha == C:
            projected = max(gradient, 0.0)
        largest, smallest = max(largest, projected), min(smallest, projected)
        if abs(projected) > _EXACT:
            alphas[i] = min(max(alpha - gradient / norms[i], 0.0), C)  # step (c)
            change = alphas[i] - alpha
            add(rows, i, signs[i] * change, weights)
            dual -= change * (gradient + change * norms[i] / 2.0)
            steps += 1
    numbers[_LARGEST], numbers[_SMALLEST], numbers[_GAP], numbers[_DUAL] = largest, smallest, gap, dual
    progress[_POSITION], progress[_ACTIVE] = position, active
    state.counters[PRESENTED] += presented
    state.counters[INNER_PRODUCTS] += presented
    state.counters[STEPS] += steps
    state.counters[UPDATES] += steps
    return presented


@njit(cache=True, nogil=True)
def _end_pass(state, C, tolerance, stop):
    """Stop, or choose what the next pass presents and shrinks."""
    progress, numbers = state.progress, state.numbers
    n = len(state.order)
    largest, smallest = numbers[_LARGEST], numbers[_SMALLEST]
    converged = largest - smallest <= (tolerance if stop == 0.0 else _EXACT)
    complete = progress[_COMPLETE] == 1
    near = numbers[_GAP] <= (1.0 if complete else _SHRUNK) * stop * numbers[_DUAL]
    if not np.isfinite(numbers[_DUAL]):
        progress[_STATUS] = Status.DIVERGED
    elif (converged and progress[_ACTIVE] == n) or (complete and near and _gap_holds(state, C, stop)):
        progress[_STATUS] = Status.DONE
    if converged or (near and not complete):  # on the active examples only: look at all of them again
        progress[_ACTIVE] = n
        numbers[_OLD_LARGEST], numbers[_OLD_SMALLEST] = np.inf, -np.inf
    else:
        numbers[_OLD_LARGEST] = largest if largest > 0.0 else np.inf
        numbers[_OLD_SMALLEST] = smallest if smallest < 0.0 else -np.inf
    numbers[_LARGEST], numbers[_SMALLEST], numbers[_GAP] = -np.inf, np.inf, 0.0
    progress[_POSITION], progress[_COMPLETE] = 0, progress[_ACTIVE] == n
    shuffle(state.generator, state.order, progress[_ACTIVE])


@njit(cache=True, nogil=True, error_model="numpy")
def _gap_holds(state, C, stop):
    """Tell whether objective / dual - 1 <= stop; n inner products."""
    half_norm = (state.weights * state.weights).sum() / 2.0
    dual = state.alphas.sum() - half_norm
    state.counters[INNER_PRODUCTS] += len(state.order)
    return (half_norm + C * hinge_sum(state.rows, state.signs, state.weights, 1.0)) / dual - 1.0 <= stop

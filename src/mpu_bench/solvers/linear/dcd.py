"""Dual coordinate descent with shrinking, for the linear L1-SVM without bias.

    min_alpha  f(alpha) = 1/2 ||w||^2 - sum_i alpha_i,   w = sum_i alpha_i y_i x_i,   0 <= alpha_i <= C

with C times the weight of example i where it has one.

Hsieh, Chang, Lin, Keerthi, Sundararajan: "A dual coordinate descent method for large-scale linear SVM",
ICML 2008, Algorithm 3 (Algorithm 1 with shrinking and random order). One variable at a time is set to its
minimum. G_i = y_i w.x_i - 1 is the derivative, PG_i the projected one (zero where a bound keeps alpha_i),
M and m the largest and smallest PG_i of a pass.

Deviations: the paper ends where M - m <= tolerance, which holds as well where all PG_i are alike and far from zero, as
at the begin of data that contradict themselves; here zero counts among the PG_i. It ends as well where M - m is no more
than rounding: alpha_i is known to eps alpha_i, and so G_i to eps alpha_i ||x_i||^2 at best; where no PG_i of a pass
is above 1e-12, so that no alpha_i has moved; or where -f, as added up, has not risen in 10,000 epochs, nor M - m or the
gap fallen by a thousandth, as where rows that are nearly equal exchange their alpha_i.

Counted: one inner product per example presented, n per certificate. The certificate is no part of the paper's
algorithm: with ``stop`` above zero the gap between primal and dual ends the run, instead of the tolerance. Each example
adds C max(0, -G_i) + alpha_i G_i to the gap, so the G_i of a pass estimate it for nothing: a small estimate ends a
round of shrunk passes as a small M - m does, and one over all examples calls for the certificate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Ge, Gt
from numpy.typing import NDArray

from mpu_bench.core.counters import INNER_PRODUCTS, PRESENTED, STEPS, UPDATES, new_counters, reached
from mpu_bench.core.jit import jit
from mpu_bench.core.models import LinearModel
from mpu_bench.core.numeric import new_record, ordered_dot
from mpu_bench.core.prefetch import EXAMPLES_AHEAD, prefetch
from mpu_bench.core.problem import Problem
from mpu_bench.core.rng import rng, shuffle
from mpu_bench.core.rows import Rows, add, dot, new_weights, prefetch_row
from mpu_bench.core.solver import Measures, Status, Until
from mpu_bench.kernels import Kernel
from mpu_bench.solvers.certificates import (
    LinearL1SVM,
    PerExample,
    certify,
    finite_squared_norms,
    loss,
    no_progress,
    of_example,
    per_example,
)

_SHRUNK_PART = 0.7  # of the gap wanted ends a round of shrunk passes: the gap over all examples is larger
_ROUNDING = 1e-12  # projected gradients below are zero
_MAX_STALLED = 10_000  # epochs without progress
_FALLS = 0.999  # of the least violation, or gap, is progress
_NOISE = 8 * float(np.finfo(np.float64).eps)  # of a G_i, relative to alpha_i ||x_i||^2

PROGRESS = np.dtype(
    [
        ("position", "i8"),  # in the pass
        ("active", "i8"),  # number of examples that are not shrunk away
        ("complete", "i8"),  # whether the pass began with all examples
        ("status", "i8"),
        ("M", "f8"),  # of this pass
        ("m", "f8"),
        ("M_before", "f8"),  # of the pass before; infinite where nothing may be shrunk
        ("m_before", "f8"),
        ("gap", "f8"),  # primal - dual as seen in this pass
        ("dual", "f8"),
        ("dual_before", "f8"),  # of the pass before
        ("at_end", "i8"),  # whether it has ended, and not by the gap: by the tolerance, or by rounding
        ("violation", "f8"),  # M - m, zero among them, of the last pass
        ("least", "f8"),  # violation of all passes, or gap with ``stop``
        ("stalled", "i8"),  # examples presented since the dual rose or the least fell
        ("largest", "f8"),  # alpha_i ||x_i||^2 of this pass
    ]
)


class State(NamedTuple):
    """What the algorithm works on; n examples of d features."""

    rows: Rows
    signs: NDArray[np.float64]  #: y (n,)
    squared_norms: NDArray[np.float64]  #: ||x_i||^2 (n,); above zero, so that a zero row goes to C at once
    alphas: NDArray[np.float64]  #: (n,), in [0, C]
    C: PerExample
    weights: NDArray[np.float64]  #: w (d,)
    order: NDArray[np.uint32]  #: (n,) the active examples, then those shrunk away
    generator: NDArray[np.uint64]
    progress: NDArray[Any]  #: a record of `PROGRESS`
    counters: NDArray[np.int64]


@dataclass(frozen=True)
class DCD(LinearL1SVM):
    """Dual coordinate descent.

    Attributes
    ----------
    C : float
        The weight of the losses.
    tolerance : float
        Stop when M - m <= tolerance over a pass without shrinking (LIBLINEAR's epsilon), zero among them. Not used with
        ``stop``.
    stop : float
        Above 0, stop when objective / dual - 1 <= stop instead.
    """

    name = "dcd"
    paper = "hsieh-2008"

    tolerance: Annotated[float, Gt(0)] = 0.1
    stop: Annotated[float, Ge(0)] = 0.0

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Start at alpha = 0."""
        self.check(problem, kernel)
        n = problem.n
        state = State(
            problem.train,
            problem.signs(),
            np.maximum(finite_squared_norms(problem), np.finfo(np.float64).tiny),
            np.zeros(n),
            per_example(self.C, problem),
            new_weights(problem.features),
            np.arange(n, dtype=np.uint32),
            rng(seed, "dcd"),
            new_record(
                PROGRESS, active=n, complete=True, M=-np.inf, m=np.inf, M_before=np.inf, m_before=-np.inf, least=np.inf
            ),
            new_counters(),
        )
        shuffle(state.generator, state.order, n)
        return state

    def advance(self, state: State, until: Until) -> Status:
        """Present further examples."""
        return Status(_advance(state, self.tolerance, self.stop, until))

    def model(self, state: State) -> LinearModel:
        """Return w."""
        return LinearModel(state.weights[np.newaxis].copy())

    def measures(self, state: State) -> Measures:
        """Certify w by alpha."""
        return certify(state.rows, state.signs, state.squared_norms, state.weights, state.alphas, state.C)

    def note(self, state: State) -> str:
        """Return that rounding has ended it before the tolerance or the gap wanted, where it has."""
        p = state.progress[0]
        if not p.at_end:
            return ""
        if self.stop > 0.0:
            return no_progress("a gap", self.measures(state).gap or 0.0, self.stop)
        return no_progress("a violation", float(p.violation), self.tolerance)


@jit
def _advance(state, tolerance, stop, until):
    progress = state.progress[0]
    while progress.status == Status.RUNNING and not reached(state.counters, until):
        _present(state, until)
        if progress.position == progress.active:
            _end_pass(state, tolerance, stop)
    return progress.status


@jit(error_model="numpy")
def _present(state, until):
    """Go on with the pass: Algorithm 3, the loop over the active examples."""
    rows, signs, norms, alphas = state.rows, state.signs, state.squared_norms, state.alphas
    weights, order, progress = state.weights, state.order, state.progress[0]
    M, m, gap, dual, largest = progress.M, progress.m, progress.gap, progress.dual, progress.largest
    M_before, m_before = progress.M_before, progress.m_before
    position, active = np.uint32(progress.position), np.uint32(progress.active)
    first, presented, steps = state.counters[PRESENTED], state.counters[PRESENTED], 0
    end = np.uint32(len(order) - 1)
    while position < active and presented < until.presented:
        soon = order[min(position + EXAMPLES_AHEAD, end)]
        prefetch_row(rows, soon)
        prefetch(signs, soon)
        prefetch(norms, soon)
        prefetch(alphas, soon)
        i = order[position]
        presented += 1
        gradient = signs[i] * dot(rows, i, weights) - 1.0  # step (a)
        alpha, C = alphas[i], of_example(state.C, i)
        gap += C * max(-gradient, 0.0) + alpha * gradient  # this example's part of primal - dual
        if (alpha == 0.0 and gradient > M_before) or (alpha == C and gradient < m_before):  # shrink
            active -= np.uint32(1)
            order[position], order[active] = order[active], i
            continue
        position += np.uint32(1)
        largest = max(largest, alpha * norms[i])
        projected = gradient  # step (b)
        if alpha == 0.0:
            projected = min(gradient, 0.0)
        elif alpha == C:
            projected = max(gradient, 0.0)
        M, m = max(M, projected), min(m, projected)
        if abs(projected) > _ROUNDING:
            alphas[i] = min(max(alpha - gradient / norms[i], 0.0), C)  # step (c)
            change = alphas[i] - alpha
            add(rows, i, signs[i] * change, weights)
            dual -= change * (gradient + change * norms[i] / 2.0)
            steps += 1
    progress.M, progress.m, progress.gap, progress.dual, progress.largest = M, m, gap, dual, largest
    progress.position, progress.active = position, active
    state.counters[PRESENTED] = presented
    state.counters[INNER_PRODUCTS] += presented - first
    state.counters[STEPS] += steps
    state.counters[UPDATES] += steps


@jit
def _end_pass(state, tolerance, stop):
    """Stop, or choose what the next pass presents and shrinks."""
    progress, n = state.progress[0], len(state.order)
    M, m, complete = progress.M, progress.m, progress.complete == 1
    progress.violation = max(M, 0.0) - min(m, 0.0)
    left = progress.violation if stop == 0.0 else progress.gap
    if progress.dual > progress.dual_before or left < _FALLS * progress.least:
        progress.stalled, progress.least = 0, min(progress.least, left)
    else:
        progress.stalled += progress.active
    progress.dual_before = progress.dual
    least = max(tolerance if stop == 0.0 else _ROUNDING, _NOISE * progress.largest)
    still = progress.stalled >= _MAX_STALLED * n or max(M, -m) <= _ROUNDING  # none has moved
    converged = progress.violation <= least or still
    near = progress.gap <= (1.0 if complete else _SHRUNK_PART) * stop * progress.dual
    if not np.isfinite(progress.dual):
        progress.status = Status.DIVERGED
    elif (converged and progress.active == n) or (complete and near and _gap_holds(state, stop)):
        progress.status, progress.at_end = Status.DONE, converged
    if converged or (near and not complete):  # on the active examples only: look at all of them again
        progress.active = n
        progress.M_before, progress.m_before = np.inf, -np.inf
    else:
        progress.M_before = M if M > 0.0 else np.inf
        progress.m_before = m if m < 0.0 else -np.inf
    progress.M, progress.m, progress.gap, progress.largest = -np.inf, np.inf, 0.0, 0.0
    progress.position, progress.complete = 0, progress.active == n
    shuffle(state.generator, state.order, progress.active)


@jit(error_model="numpy")
def _gap_holds(state, stop):
    """Return whether objective / dual - 1 <= stop; n inner products."""
    half_norm = ordered_dot(state.weights, state.weights, len(state.weights)) / 2.0
    dual = state.alphas.sum() - half_norm
    state.counters[INNER_PRODUCTS] += len(state.order)
    return (half_norm + loss(state.C, state.rows, state.signs, state.weights)) / dual - 1.0 <= stop

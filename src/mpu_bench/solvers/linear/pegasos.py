"""Pegasos: stochastic sub-gradient steps and projections, for the linear L1-SVM without bias.

    min_w  f(w) = lambda/2 ||w||^2 + 1/n sum_i max(0, 1 - y_i w.x_i),   lambda = 1 / (C n);   J(w) = C n f(w)

where the loss of an example may have a weight s_i, which its z below is multiplied by; ||w||^2 is then at most C sum s.

Shalev-Shwartz, Singer, Srebro: "Pegasos: Primal Estimated sub-GrAdient SOlver for SVM", ICML 2007, Figure 1. Step
t = 1, 2, ... draws k examples A_t, of which A+ have y w.x < 1, and with z = y x and eta = 1 / (lambda t)

    w <- (1 - eta lambda) w + eta / k sum_{A+} z,    w <- min(1, 1 / (sqrt(lambda) ||w||)) w

Here v = (t - 1) w is kept, w before step t: the first line is then v += C n / k sum_{A+} z, without scaling, and a
step costs the non-zeros of its k rows. ||v||^2 is carried along as an upper bound, from the responses and
R = max ||x_i||; the norm itself is computed, in d operations, only where the bound says that w may have left the ball.
That is at most some 2 R sqrt(C n) of the first steps. The model is the last w, whose objective mpu-2010 reports.

Counted: k examples seen and k inner products a step; a step is one update. A slice may end within a step.

Deviations: the k examples are drawn independently, so one may come twice, as in the authors' program; the expected
sub-gradient, which is all that Theorem 1 asks for, is that of a random subset, and the cost does not depend on n.
"""

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from mpu_bench.core.counters import INNER_PRODUCTS, PRESENTED, STEPS, UNLIMITED, UPDATES, new_counters, reached
from mpu_bench.core.jit import jit
from mpu_bench.core.models import LinearModel
from mpu_bench.core.numeric import multiply, new_record, ordered_dot
from mpu_bench.core.prefetch import prefetch
from mpu_bench.core.problem import Problem
from mpu_bench.core.rng import randint, rng
from mpu_bench.core.rows import Rows, add, dot, new_weights, prefetch_row, take
from mpu_bench.core.solver import Measures, Status, Until
from mpu_bench.kernels import Kernel
from mpu_bench.solvers.certificates import (
    LinearL1SVM,
    PerExample,
    finite_squared_norms,
    margin,
    of_example,
    per_example,
    primal,
)

_PREFETCH_EXAMPLES = 6  # ahead of the one presented

PROGRESS = np.dtype(
    [
        ("position", "i8"),  # examples of A_t presented
        ("violators", "i8"),  # size of A+, as far as found
        ("t", "i8"),
        ("status", "i8"),
        ("R", "f8"),
        ("norm_bound", "f8"),  # at least ||v||^2
        ("responses", "f8"),  # sum of C v.z over A+
    ]
)


class State(NamedTuple):
    """What the algorithm works on; n examples of d features, k examples a step."""

    rows: Rows
    signs: NDArray[np.float64]  #: y (n,)
    C: PerExample
    n: int  #: lambda = 1 / (C n): the rows that it has started with
    inverse_lambda: float  #: C n, or the sum of C: 1 / lambda
    accumulated: NDArray[np.float64]  #: v = (t - 1) w (d,)
    batch: NDArray[np.uint32]  #: A_t (k,)
    violators: NDArray[np.uint32]  #: A+ (k,), as far as found
    generator: NDArray[np.uint64]
    progress: NDArray[Any]  #: a record of `PROGRESS`
    counters: NDArray[np.int64]

    def without_rows(self) -> Self:
        """Return what further rows need (`Pegasos.resumed`)."""
        return self._replace(rows=take(self.rows, np.zeros(0, np.int64)), signs=np.zeros(0), C=np.zeros(1))


@dataclass(frozen=True)
class Pegasos(LinearL1SVM):
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

    batch: Annotated[int, Ge(1)] = 30
    iterations: Annotated[int, Ge(1)] = 1_000_000

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Start at w = 0."""
        self.check(problem, kernel)
        return State(
            problem.train,
            problem.signs(),
            per_example(self.C, problem),
            problem.n,
            self._inverse_lambda(problem),
            new_weights(problem.features),
            np.zeros(self.batch, np.uint32),
            np.zeros(self.batch, np.uint32),
            rng(seed, "pegasos"),
            new_record(PROGRESS, t=1, R=np.sqrt(finite_squared_norms(problem).max())),
            new_counters(),
        )

    def resumed(self, state: State, problem: Problem) -> State:
        """Return the state with other examples, for the steps after those taken; lambda stays as it was.

        What is given stays as it is: training may raise, and is then not to have happened.
        """
        accumulated, record = new_weights(problem.features), state.progress.copy()
        accumulated[:], progress = state.accumulated, record[0]
        progress.status, progress.R = Status.RUNNING, max(progress.R, np.sqrt(finite_squared_norms(problem).max()))
        batch = np.zeros(self.batch, np.uint32)
        return state._replace(
            rows=problem.train, signs=problem.signs(), C=per_example(self.C, problem),
            # of the pieces by now the one with the largest weights on average: ||w||^2 may be so large
            inverse_lambda=max(state.inverse_lambda, self._inverse_lambda(problem) * (state.n / problem.n)),
            accumulated=accumulated, batch=batch, violators=np.zeros_like(batch),
            generator=state.generator.copy(), progress=record, counters=state.counters.copy(),
        )  # fmt: skip

    def _inverse_lambda(self, problem: Problem) -> float:
        return float(self.C * (problem.n if problem.weights is None else problem.weights.sum()))

    def advance(self, state: State, until: Until) -> Status:
        """Present further examples."""
        return Status(_advance(state, min(self.iterations, UNLIMITED), until))

    def model(self, state: State) -> LinearModel:
        """Return the last w."""
        return LinearModel(_weights(state)[np.newaxis])

    def measures(self, state: State) -> Measures:
        """Evaluate the objective and the margin of the last w; there are no dual variables to certify them."""
        weights = _weights(state)
        return Measures(
            objective=primal(state.rows, state.signs, weights, state.C),
            margin=margin(state.rows, state.signs, weights),
        )


def _weights(state: State) -> NDArray[np.float64]:
    return state.accumulated / max(int(state.progress[0].t) - 1, 1)


@jit
def _advance(state, iterations, until):
    progress, size = state.progress[0], len(state.batch)
    while progress.status == Status.RUNNING and not reached(state.counters, until):
        if progress.position == 0:
            _begin_step(state)
        _present(state, min(progress.position + until.presented - state.counters[PRESENTED], size))
        if progress.position == size:
            _end_step(state, iterations)
    return progress.status


@jit
def _begin_step(state):
    """Draw A_t."""
    n, size = np.uint32(len(state.signs)), len(state.batch)
    for j in range(size):
        state.batch[j] = randint(state.generator, n)
    for j in range(min(_PREFETCH_EXAMPLES, size)):
        prefetch_row(state.rows, state.batch[j])
        prefetch(state.signs, state.batch[j])
    state.progress[0].violators = 0
    state.progress[0].responses = 0.0


@jit
def _present(state, last):
    """Find the examples of A+ among A_t up to ``last - 1``."""
    rows, signs, accumulated, progress = state.rows, state.signs, state.accumulated, state.progress[0]
    batch, violators = state.batch, state.violators
    threshold = np.float64(max(progress.t - 1, 1))  # y w.x < 1 is z.v < t - 1; for t = 1, v = 0
    first, size, responses = progress.position, progress.violators, progress.responses
    for j in range(first, last):
        soon = batch[min(j + _PREFETCH_EXAMPLES, len(batch) - 1)]
        prefetch_row(rows, soon)
        prefetch(signs, soon)
        i = batch[j]
        response = signs[i] * dot(rows, i, accumulated)
        violates = response < threshold  # as good as random: no branch on it
        violators[size] = i
        size += np.int64(violates)
        weighted = of_example(state.C, i) * response
        responses += weighted if violates else 0.0
    progress.position, progress.violators, progress.responses = last, size, responses
    state.counters[PRESENTED] += last - first
    state.counters[INNER_PRODUCTS] += last - first


@jit
def _end_step(state, iterations):
    """Take the step and project."""
    progress = state.progress[0]
    n, k, t = state.n, len(state.batch), progress.t
    length = 0.0  # at least that of the change of v
    for j in range(progress.violators):
        i = state.violators[j]
        step = of_example(state.C, i) * n / k  # eta / k, times t
        add(state.rows, i, state.signs[i] * step, state.accumulated)
        length += step * progress.R
    progress.norm_bound += 2.0 * n / k * progress.responses + length * length
    limit = state.inverse_lambda * t * t  # ||w||^2 <= 1 / lambda, times t^2
    if not progress.norm_bound <= limit:  # a NaN too
        _project(state, limit)
    state.counters[STEPS] += 1
    state.counters[UPDATES] += 1
    progress.position, progress.t = 0, t + 1
    if progress.status == Status.RUNNING and t == iterations:
        progress.status = Status.DONE


@jit
def _project(state, limit):
    """Compute ||v||^2, and scale v down if it is above the limit."""
    accumulated, progress = state.accumulated, state.progress[0]
    norm = ordered_dot(accumulated, accumulated, len(accumulated))
    if not np.isfinite(norm):
        progress.status = Status.DIVERGED
    if norm > limit:
        multiply(accumulated, np.sqrt(limit / norm))
        norm = limit
    progress.norm_bound = norm

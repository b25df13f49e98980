"""Projectron++ for several classes: a perceptron that stores an example only if its span cannot do without it.

    f_i(x) = sum_j alpha_ji K(x_j, x)   over the stored vectors S,   S_i = those stored for class i

Orabona, Keshet, Caputo: "Bounded Kernel-Based Online Learning", JMLR 10, 2009, as bpegasos-2010 compares itself with.
With y the class of the example x, r the best wrong one, P_i the projection on the span of S_i, and
delta_i = ||K(x, .) - P_i K(x, .)||^2:

    error, f_y <= f_r
        if delta_y <= eta and delta_r <= eta:  f_y += P_y K(x, .),  f_r -= P_r K(x, .)
        else:  store x in S_y with +1 and in S_r with -1
    margin error, 0 < f_y - f_r < 1, with loss l = 1 - f_y + f_r, delta = delta_y + delta_r, q = 2 K(x, x) - delta
        if l > delta / (2 eta):  f_y += tau P_y K(x, .),  f_r -= tau P_r K(x, .)
            tau = min(l / q, 2 (l - delta / (2 eta)) / q, 1)

With two classes f_0 = -f_1 throughout, and one f is kept; f_y - f_r is 2 y f(x). A vector stays in S_i even if its
coefficient becomes zero, and the Gram matrices have 1e-9 K(x, x) added to their diagonals.

The sparseness eta decides how many vectors there are at the end; given a number of vectors it is searched
(sparseness.py). delta <= eta is decided by the squared norm of the projection, K(x, x) - delta, against K(x, x) - eta,
which tells an eta apart that is as near to K(x, x) as rounding. Kernel values are in double precision, because Gram
matrices of them are inverted.

Counted: |S| kernel evaluations per example presented; a change of f is one step and one update.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from annotated_types import Ge, Gt, Lt
from numpy.typing import NDArray

from mpu_bench.core.clock import untimed
from mpu_bench.core.counters import PRESENTED, STEPS, UPDATES, new_counters, reached
from mpu_bench.core.jit import jit
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import squared_norm
from mpu_bench.core.solver import Until
from mpu_bench.core.stream import Chunk, Stream
from mpu_bench.core.vectors import padded, put
from mpu_bench.errors import ConfigError
from mpu_bench.kernels import Kernel, value
from mpu_bench.kernels import matrix as gram
from mpu_bench.solvers.online.cholesky import (
    GrowingCholesky,
    append,
    coordinates,
    enlarged,
    new_cholesky,
    project,
)
from mpu_bench.solvers.online.online import (
    OnlineSolver,
    OnlineState,
    functions_for,
    has_room,
    new_hypothesis,
    next_example,
    predict,
    score_example,
    with_room,
)
from mpu_bench.solvers.online.sparseness import Search, Sparseness, Try, attempt, search

_BUDGET = 100  # vectors, where neither they nor eta are given
_FIRST_CAPACITY = 64  # vectors
_NO_LIMIT = 1 << 62  # vectors


class Spans(NamedTuple):
    """The spans of the c sets S_i."""

    factors: GrowingCholesky
    z: NDArray[np.float64]  #: (3, their capacity) z for y, z for r, and coordinates


@dataclass
class State(OnlineState):
    """What the algorithm works on."""

    spans: Spans
    sparseness: Sparseness
    search: Search | None


@dataclass(frozen=True)
class Projectron(OnlineSolver):
    """Projectron++ for several classes.

    Attributes
    ----------
    passes : int
        How often every example is presented, each time in a new random order.
    eta : float, optional
        The largest squared distance from the span at which an erring example is projected on it, above 0.
    vectors : int, optional
        B, instead of eta: the eta is searched with which B vectors are stored at the end, or at most 1% fewer, or where
        none is found the most that a tried eta stores. 100 where neither it nor eta is given.
    """

    name = "projectron++"
    version = 2
    paper = "bpegasos-2010"
    changes_by_updates: ClassVar = True

    eta: Annotated[float, Gt(0), Lt(np.inf)] | None = None
    vectors: Annotated[int, Ge(1)] | None = None

    def __post_init__(self) -> None:
        """Refuse parameters outside their range, and eta together with a number of vectors.

        Raises
        ------
        ConfigError
            Naming the parameter.
        """
        super().__post_init__()
        if self.eta is not None and self.vectors is not None:
            raise ConfigError(
                f"{self.name}: give either eta or vectors, not both: with vectors, eta is searched so that so many are "
                "stored at the end"
            )

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Search eta if it is not given; then start with nothing stored: f = 0.

        Raises
        ------
        ConfigError
            If every eta stores more vectors than wanted.
        DataError
            If kernel values are too large for double precision.
        """
        self.check(problem, kernel)
        blocks = gram.blocks_of_diagonal(problem, kernel)
        norms = (gram.checked_norms(rows, kernel, np.dtype(np.float64)) for rows in blocks)
        largest = max(0.0, *(float(gram.kernel_diagonal(kernel, each).max()) for each in norms))
        if self.eta is not None:
            sparseness = Sparseness(self.eta, largest - self.eta, largest)
            return self._start(problem, kernel, seed, sparseness)
        with untimed():
            outcome = search(
                lambda sparseness, whole: self._tried(problem, kernel, seed, sparseness, whole), self._budget, largest
            )
        if outcome is None:
            raise ConfigError(
                f"{self.name}: more than {self._budget} vectors are stored on {problem.name} even with the largest "
                "eta; raise the budget (vectors)"
            )
        outcome = outcome._replace(passes=self.passes * outcome.passes)  # of parts of all that is presented
        return self._start(problem, kernel, seed, outcome.sparseness, outcome)

    def _start(
        self, problem: Problem, kernel: Kernel, seed: int, sparseness: Sparseness, outcome: Search | None = None
    ) -> State:
        functions = functions_for(len(problem.classes))
        capacity = _FIRST_CAPACITY if self.eta is not None else padded(self._budget + 1)
        span_capacity = min(capacity, _FIRST_CAPACITY)
        f = new_hypothesis(problem, capacity, "double")
        spans = Spans(new_cholesky(functions, span_capacity), np.zeros((3, span_capacity)))
        errors, counters = np.zeros(1, np.int64), new_counters()
        return State(Stream(problem, seed), kernel, f, errors, counters, spans, sparseness, outcome)

    @property
    def _budget(self) -> int:
        return _BUDGET if self.vectors is None else self.vectors

    def _tried(self, problem: Problem, kernel: Kernel, seed: int, sparseness: Sparseness, whole: bool) -> Try:
        """Return how many vectors are stored, and what is told by when."""
        state, total = self._start(problem, kernel, seed, sparseness), self.passes * problem.n
        size, counters = state.hypothesis.vectors.size, state.counters

        def presented(part: float) -> tuple[int, float]:
            until = Until(presented=math.ceil(part * total))
            while counters[PRESENTED] < until.presented and size[0] <= self._budget:
                self.present_next(state, until)
            return int(size[0]), int(counters[PRESENTED]) / total

        return attempt(presented, self._budget, whole)

    def present(self, state: State, chunk: Chunk, position: int, until: Until) -> None:
        """Predict and learn; ends early where there is no free slot for a vector."""
        state.hypothesis = with_room(state.hypothesis, chunk, position)
        factors, z = state.spans
        if factors.sizes.max() == z.shape[1]:
            capacity = 2 * z.shape[1]
            state.spans = Spans(enlarged(factors, capacity), np.zeros((3, capacity)))
        f, spans = state.hypothesis, state.spans
        limits = state.sparseness, self._budget + 1 if self.eta is None else _NO_LIMIT  # one more: eta is too small
        _present(f, spans, state.kernel, limits, chunk, position, until, state.errors, state.counters)

    def note(self, state: State) -> str:
        """Return the eta that was searched, what the search took, and how many vectors came of it."""
        return "" if state.search is None else state.search.note(self._budget)


@jit
def _present(f, spans, kernel, limits, chunk, position, until, errors, counters):
    (sparseness, limit), sizes, span_capacity = limits, spans.factors.sizes, spans.z.shape[1]
    for p in range(position, len(chunk.order)):
        i, m = next_example(chunk, p), f.vectors.size[0]
        if reached(counters, until) or m == limit or not has_room(f, chunk.rows, i) or _is_full(sizes, span_capacity):
            return
        label = chunk.labels[i]
        score_example(f, kernel, chunk.rows, i, m, 1.0)
        rival, difference = predict(f.scores, label, m, m, errors, counters)
        if np.isnan(difference):
            return
        if len(f.scores) == 1:
            difference *= 2  # f_y - f_r
        if difference < 1.0:
            norm = squared_norm(chunk.rows, i)
            k_xx = value(kernel, norm, norm, norm)
            changed = _learn(f, spans, sparseness, chunk.rows, i, k_xx, label, rival, difference)
            counters[STEPS] += changed
            counters[UPDATES] += changed


@jit
def _is_full(sizes, capacity):
    for i in range(len(sizes)):  # noqa: SIM110 - numba compiles loops fastest
        if sizes[i] == capacity:
            return True
    return False


@jit
def _learn(f, spans, sparseness, rows, i, k_xx, label, rival, difference):
    """Change the hypothesis after an error or a margin error; returns whether it was changed."""
    factors, kernel_row, z = spans.factors, f.kernel_row, spans.z
    two, y, r = len(f.scores) == 1, label, rival
    if two:
        y, r = 0, 0
    sign = -1.0 if two and label == 0 else 1.0
    projected_y = project(factors, y, kernel_row, z[0])
    projected_r = projected_y if two else project(factors, r, kernel_row, z[1])
    tau = 1.0
    if difference <= 0.0:
        if min(projected_y, projected_r) < k_xx - sparseness.largest + sparseness.complement:  # a delta above eta
            _store(f, spans, rows, i, k_xx, y, r, sign, projected_y, projected_r)
            return True
    else:
        tau = _tau(1.0 - difference, k_xx, projected_y + projected_r, sparseness.eta)
    if tau > 0.0:
        _add_projection(f.coefficients, factors, y, z[0], z[2], sign * tau)
        if not two:
            _add_projection(f.coefficients, factors, r, z[1], z[2], -tau)
    return tau > 0.0


@jit
def _tau(loss, k_xx, q, eta):
    """Return tau of a margin error, 0 where nothing is to be done; q = 2 K(x, x) - delta, 0 far from all vectors."""
    delta = max(2.0 * k_xx - q, 0.0)
    wanted = min(loss, 2.0 * (loss - delta / (2.0 * eta)))
    if wanted <= 0.0:
        return 0.0
    return 1.0 if wanted >= q else wanted / q


@jit
def _store(f, spans, rows, i, k_xx, y, r, sign, projected_y, projected_r):
    factors, coefficients, z, slot = spans.factors, f.coefficients, spans.z, f.vectors.size[0]
    put(f.vectors, slot, rows, i)
    append(factors, y, slot, z[0], projected_y, k_xx)
    coefficients[y, slot] = sign
    if y != r:
        append(factors, r, slot, z[1], projected_r, k_xx)
        coefficients[r, slot] = -1.0


@jit
def _add_projection(coefficients, factors, i, z, d, factor):
    coordinates(factors, i, z, d)
    members = factors.members[i]
    for j in range(factors.sizes[i]):
        coefficients[i, members[j]] += factor * d[j]

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
from typing import Annotated, NamedTuple

import numpy as np
from annotated_types import Ge, Gt, Lt
from numpy.typing import NDArray

from mpu_bench.core.clock import untimed
from mpu_bench.core.counters import (
    KERNEL_COMPUTED,
    KERNEL_EVALUATIONS,
    PRESENTED,
    STEPS,
    UPDATES,
    new_counters,
    reached,
)
from mpu_bench.core.jit import jit
from mpu_bench.core.models import KernelModel
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import squared_norm, squared_norms
from mpu_bench.core.solver import Until
from mpu_bench.core.stream import Chunk, Stream
from mpu_bench.core.vectors import Vectors, kernel_values, new_vectors, padded, put, rows_of, score
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
    all_finite,
    best_wrong,
    functions_for,
    margin,
    prefetch_example,
    refuse_overflow,
    with_doubled_capacity,
)
from mpu_bench.solvers.online.sparseness import Search, Sparseness, Try, attempt, search

_BUDGET = 100  # vectors, where neither they nor eta are given
_FIRST_CAPACITY = 64  # vectors


class Hypothesis(NamedTuple):
    """f over m stored vectors; c functions (1 for two classes)."""

    vectors: Vectors
    coefficients: NDArray[np.float64]  #: alpha (c, capacity)
    kernel_row: NDArray[np.float64]  #: (capacity,) K(x_j, x) of the example presented
    scores: NDArray[np.float64]  #: (c,) its scores
    spans: GrowingCholesky  #: of the c sets S_i
    z: NDArray[np.float64]  #: (3, capacity of the spans) z for y, z for r, and coordinates


@dataclass
class State:
    """What the algorithm works on."""

    stream: Stream
    kernel: Kernel
    sparseness: Sparseness
    search: Search | None
    hypothesis: Hypothesis
    errors: NDArray[np.int64]
    counters: NDArray[np.int64]


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
        gram.refuse_overflow(norms := squared_norms(problem.train), kernel, np.dtype(np.float64))
        largest = float(_largest(kernel, norms))
        if self.eta is not None:
            sparseness = Sparseness(self.eta, largest - self.eta, largest)
            return self._start(problem, kernel, seed, sparseness)
        with untimed():
            found = search(
                lambda sparseness, whole: self._tried(problem, kernel, seed, sparseness, whole), self._budget, largest
            )
        if found is None:
            raise ConfigError(
                f"{self.name}: more than {self._budget} vectors are stored on {problem.name} even with the largest "
                "eta; raise vectors"
            )
        found = found._replace(passes=self.passes * found.passes)  # of parts of all that is presented
        return self._start(problem, kernel, seed, found.sparseness, found)

    def _start(
        self, problem: Problem, kernel: Kernel, seed: int, sparseness: Sparseness, found: Search | None = None
    ) -> State:
        functions = functions_for(len(problem.classes))
        capacity = _FIRST_CAPACITY if self.eta is not None else padded(self._budget + 1)
        span_capacity = min(capacity, _FIRST_CAPACITY)
        hypothesis = Hypothesis(
            new_vectors(problem.features, capacity, "double"),
            np.zeros((functions, capacity)),
            np.zeros(capacity),
            np.zeros(functions),
            new_cholesky(functions, span_capacity),
            np.zeros((3, span_capacity)),
        )
        return State(
            Stream(problem, seed), kernel, sparseness, found, hypothesis, np.zeros(1, np.int64), new_counters()
        )

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
                chunk, position = state.stream.at(int(counters[PRESENTED]))
                self.present(state, chunk, position, until)
            return int(size[0]), int(counters[PRESENTED]) / total

        return attempt(presented, self._budget, whole)

    def present(self, state: State, chunk: Chunk, position: int, until: Until) -> None:
        """Predict and learn; ends early where there is no free slot for a vector."""
        state.hypothesis = f = _with_a_free_slot(state.hypothesis)
        capacity = len(f.kernel_row) if self.eta is not None else self._budget + 1  # one more: eta is too small
        _present(f, state.kernel, state.sparseness, capacity, chunk, position, until, state.errors, state.counters)
        refuse_overflow(f.scores, state.kernel)

    def model(self, state: State) -> KernelModel:
        """Return the expansion over the stored vectors."""
        vectors = rows_of(state.hypothesis.vectors)
        m, d = vectors.values.shape
        return KernelModel(vectors, state.hypothesis.coefficients[:, :m].T.copy(), state.kernel, d)

    def note(self, state: State) -> str:
        """Return the eta that was searched, what the search took, and how many vectors came of it."""
        return "" if state.search is None else state.search.note(self._budget)


def _with_a_free_slot(f: Hypothesis) -> Hypothesis:
    """Return a hypothesis with space for one more vector."""
    if f.vectors.size[0] == len(f.kernel_row):
        f = with_doubled_capacity(f, "coefficients", "kernel_row")
    if f.spans.sizes.max() == f.z.shape[1]:
        capacity = 2 * f.z.shape[1]
        f = f._replace(spans=enlarged(f.spans, capacity), z=np.zeros((3, capacity)))
    return f


@jit
def _largest(kernel, norms):
    largest = 0.0
    for i in range(len(norms)):
        largest = max(largest, value(kernel, norms[i], norms[i], norms[i]))
    return largest


@jit
def _present(f, kernel, sparseness, capacity, chunk, position, until, errors, counters):
    kernel_row, scores, order, sizes, span_capacity = f.kernel_row, f.scores, chunk.order, f.spans.sizes, f.z.shape[1]
    for p in range(position, len(order)):
        m = f.vectors.size[0]
        if reached(counters, until) or m == capacity or _is_full(sizes, span_capacity):
            return
        prefetch_example(chunk, p)
        i = order[p]
        kernel_values(f.vectors, kernel, chunk.rows, i, kernel_row)
        score(f.coefficients, kernel_row[:m], scores)
        if not all_finite(scores):
            return
        counters[KERNEL_EVALUATIONS] += m
        counters[KERNEL_COMPUTED] += m
        counters[PRESENTED] += 1
        label = chunk.labels[i]
        rival = best_wrong(scores, label)
        difference = margin(scores, label, rival)  # f_y - f_r
        if len(scores) == 1:
            difference *= 2
        errors[0] += difference <= 0.0
        if difference < 1.0:
            norm = squared_norm(chunk.rows, i)
            k_xx = value(kernel, norm, norm, norm)
            changed = _learn(f, sparseness, chunk.rows, i, k_xx, label, rival, difference)
            counters[STEPS] += changed
            counters[UPDATES] += changed


@jit
def _is_full(sizes, capacity):
    for i in range(len(sizes)):  # noqa: SIM110 - numba compiles loops fastest
        if sizes[i] == capacity:
            return True
    return False


@jit
def _learn(f, sparseness, rows, i, k_xx, label, rival, difference):
    """Change the hypothesis after an error or a margin error; returns whether it was changed."""
    spans, kernel_row, z = f.spans, f.kernel_row, f.z
    two, y, r = len(f.scores) == 1, label, rival
    if two:
        y, r = 0, 0
    sign = -1.0 if two and label == 0 else 1.0
    projected_y = project(spans, y, kernel_row, z[0])
    projected_r = projected_y if two else project(spans, r, kernel_row, z[1])
    tau = 1.0
    if difference <= 0.0:
        if min(projected_y, projected_r) < k_xx - sparseness.largest + sparseness.complement:  # a delta above eta
            _store(f, rows, i, k_xx, y, r, sign, projected_y, projected_r)
            return True
    else:
        tau = _tau(1.0 - difference, k_xx, projected_y + projected_r, sparseness.eta)
    if tau > 0.0:
        _add_projection(f.coefficients, spans, y, z[0], z[2], sign * tau)
        if not two:
            _add_projection(f.coefficients, spans, r, z[1], z[2], -tau)
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
def _store(f, rows, i, k_xx, y, r, sign, projected_y, projected_r):
    spans, coefficients, z, slot = f.spans, f.coefficients, f.z, f.vectors.size[0]
    put(f.vectors, slot, rows, i)
    append(spans, y, slot, z[0], projected_y, k_xx)
    coefficients[y, slot] = sign
    if y != r:
        append(spans, r, slot, z[1], projected_r, k_xx)
        coefficients[r, slot] = -1.0


@jit
def _add_projection(coefficients, spans, i, z, d, factor):
    coordinates(spans, i, z, d)
    members = spans.members[i]
    for j in range(spans.sizes[i]):
        coefficients[i, members[j]] += factor * d[j]

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

The sparseness eta decides how many vectors there are at the end. bpegasos-2010 sets it so that there are B, and so
does `vectors`: eta is searched by whole passes over the same examples in the same order, each given up as soon as it
stores B + 1. The search is not counted and not timed; what it took is in the run's remark. With narrow kernels and
few vectors for a class all delta are near K(x, x), and eta is as near as 1 - 1e-11: so the search goes by the odds of
1 - eta to eta, and delta <= eta is decided by the squared norm of the projection, K(x, x) - delta, against
K(x, x) - eta. Kernel values are in double precision, because Gram matrices of them are inverted.

Counted: |S| kernel evaluations per example presented; a change of f is one step and one update.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.clock import untimed
from mpu_bench.core.counters import KERNEL_COMPUTED, KERNEL_EVALUATIONS, PRESENTED, STEPS, UPDATES, new_counters
from mpu_bench.core.jit import jit
from mpu_bench.core.kernels import Kernel, value
from mpu_bench.core.models import KernelModel
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import squared_norm, squared_norms
from mpu_bench.core.stream import Chunk, Stream
from mpu_bench.core.vectors import Vectors, kernel_values, new_vectors, padded, put, rows_of
from mpu_bench.core.vectors import enlarged as enlarged_vectors
from mpu_bench.errors import ConfigError
from mpu_bench.solvers.online.cholesky import Spans, append, coordinates, enlarged, new_spans, project
from mpu_bench.solvers.online.online import OnlineSolver, best_wrong, expect, margin, score

_BUDGET = 100  # vectors, where neither they nor eta are given
_FIRST_ROOM = 64  # vectors
_LEAST_ODDS, _MOST_ODDS = -690.0, 40.0  # logarithms: 1 - eta from 1e-300, eta down to 4e-18
_RESOLUTION = 1e-3  # of the odds' logarithm: of eta, or of 1 - eta where that is smaller, relative
_AROUND = 10  # tries on either side


class Sparseness(NamedTuple):
    """eta, and how much less than the largest K(x, x) it is."""

    eta: float
    complement: float  #: largest - eta, without the rounding of this difference
    largest: float  #: of K(x, x) over the training rows


class Hypothesis(NamedTuple):
    """f over m stored vectors; c scores (1 for two classes)."""

    vectors: Vectors
    coefficients: NDArray[np.float64]  #: alpha (c, room)
    kernel_row: NDArray[np.float64]  #: (room,) K(x_j, x) of the example presented
    scores: NDArray[np.float64]  #: (c,) its scores
    spans: Spans  #: of the c sets S_i
    factors: NDArray[np.float64]  #: (3, room of the spans) z for y, z for r, and coordinates


class Search(NamedTuple):
    """What the search for eta has cost."""

    tried: int  #: values of eta
    passes: float
    seconds: float


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
        B, instead of eta: the eta is searched with which B vectors are stored at the end, or where none is found the
        most below B. 100 where neither it nor eta is given.
    """

    name = "projectron++"
    paper = "bpegasos-2010"

    eta: float | None = None
    vectors: int | None = None

    def __post_init__(self) -> None:
        """Refuse parameters outside their range, and eta together with a number of vectors.

        Raises
        ------
        ConfigError
            Naming the parameter.
        """
        super().__post_init__()
        if self.eta is not None and not 0 < self.eta < math.inf:
            raise ConfigError(f"{self.name}: eta is {self.eta!r}; it must be above 0 and finite")
        if self.vectors is not None and self.vectors < 1:
            raise ConfigError(f"{self.name}: vectors is {self.vectors!r}; it must be at least 1")
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
        """
        self.check(problem, kernel)
        largest = float(_largest(kernel, squared_norms(problem.train)))
        if self.eta is not None:
            return self._start(problem, kernel, seed, Sparseness(self.eta, largest - self.eta, largest), None)
        with untimed():
            sparseness, search = self._search(problem, kernel, seed, largest)
        return self._start(problem, kernel, seed, sparseness, search)

    def _start(
        self, problem: Problem, kernel: Kernel, seed: int, sparseness: Sparseness, search: Search | None
    ) -> State:
        scores = 1 if len(problem.classes) == 2 else len(problem.classes)
        room = _FIRST_ROOM if self.eta is not None else padded(self._budget + 1)
        span_room = min(room, _FIRST_ROOM)
        hypothesis = Hypothesis(
            new_vectors(problem.features, room, "double"),
            np.zeros((scores, room)),
            np.zeros(room),
            np.zeros(scores),
            new_spans(scores, span_room),
            np.zeros((3, span_room)),
        )
        return State(
            Stream(problem, seed), kernel, sparseness, search, hypothesis, np.zeros(1, np.int64), new_counters()
        )

    @property
    def _budget(self) -> int:
        return _BUDGET if self.vectors is None else self.vectors

    def _search(self, problem: Problem, kernel: Kernel, seed: int, largest: float) -> tuple[Sparseness, Search]:
        """Find the eta with which B vectors are stored at the end."""
        began, tried, presented = time.perf_counter(), 0, 0

        def stored(odds: float) -> int:
            nonlocal tried, presented
            state = self._start(problem, kernel, seed, _sparseness(odds, largest), None)
            size = state.hypothesis.vectors.size
            while state.counters[PRESENTED] < self.passes * problem.n and size[0] <= self._budget:
                before = int(state.counters[PRESENTED])
                chunk, position = state.stream.at(before)
                stop = min(len(chunk.order), position + self.passes * problem.n - before)
                self.present(state, chunk, position, stop, np.iinfo(np.int64).max)
            tried += 1
            presented += int(state.counters[PRESENTED])
            return int(size[0])

        odds = largest_within(stored, self._budget)
        if odds is None:
            raise ConfigError(
                f"{self.name}: more than {self._budget} vectors are stored on {problem.name} even with the largest "
                "eta; raise vectors"
            )
        return _sparseness(odds, largest), Search(tried, presented / problem.n, time.perf_counter() - began)

    def present(self, state: State, chunk: Chunk, position: int, stop: int, most: int) -> None:
        """Predict and learn; ends early where the room for vectors does."""
        state.hypothesis = f = _with_room(state.hypothesis)
        room = len(f.kernel_row) if self.eta is not None else self._budget + 1  # one more tells that eta is too small
        _present(f, state.kernel, state.sparseness, room, chunk, position, stop, most, state.errors, state.counters)

    def model(self, state: State) -> KernelModel:
        """Give the expansion over the stored vectors."""
        vectors = rows_of(state.hypothesis.vectors)
        m, d = vectors.values.shape
        return KernelModel(vectors, state.hypothesis.coefficients[:, :m].T.copy(), state.kernel, d)

    def remark(self, state: State) -> str:
        """Tell the eta that was searched, what the search took, and how many vectors came of it."""
        if state.search is None:
            return ""
        eta, complement, largest = state.sparseness
        found = f"eta {eta:.6g}" if complement > 0.01 * largest else f"eta {largest:g} - {complement:.6g}"
        tried, passes, seconds = state.search
        cost = f"{tried} tries, {passes:.3g} passes, {seconds:.3g} s, not counted"
        return f"{found} for {self._budget} vectors found by {cost}"


def largest_within(stored: Callable[[float], int], budget: int) -> float | None:
    """Find a number with which as many vectors as possible are stored, but no more than the budget.

    The larger the number, the more vectors are stored, as a rule: where two bisected numbers are as near as can be,
    they may still store 99 and 101. So bisection ends early, and the numbers around are tried, too.

    Parameters
    ----------
    stored : function
        How many vectors a number between -690 and 40 stores, or something above the budget.
    budget : int

    Returns
    -------
    float or None
        None if -690 stores too many.
    """
    low, high, step = _MOST_ODDS, math.inf, 2.0
    while (count := stored(low)) > budget:  # down from where nearly everything is stored: too many are soon given up
        if low == _LEAST_ODDS:
            return None
        low, high, step = max(low - step, _LEAST_ODDS), low, 1.2 * step
    best = (count, low)
    if math.isinf(high):
        return low
    while best[0] < budget and high - low > _RESOLUTION:
        middle = (low + high) / 2
        count = stored(middle)
        low, high = (middle, high) if count <= budget else (low, middle)
        best = _better(best, (count, middle), budget)
    for distance in _RESOLUTION * 1.5 ** np.arange(_AROUND):
        for near in (low - distance, low + distance):
            if best[0] < budget:
                best = _better(best, (stored(near), near), budget)
    return best[1]


def _better(best: tuple[int, float], found: tuple[int, float], budget: int) -> tuple[int, float]:
    return found if best[0] < found[0] <= budget else best


def _sparseness(odds: float, largest: float) -> Sparseness:
    """Give the eta with ``log((largest - eta) / eta) = odds``."""
    return Sparseness(largest / (1 + math.exp(odds)), largest / (1 + math.exp(-odds)), largest)


def _with_room(f: Hypothesis) -> Hypothesis:
    """Make room for one more vector where there is none."""
    scores, room = f.coefficients.shape
    if f.vectors.size[0] == room:
        more = np.zeros((scores, room))
        f = f._replace(
            vectors=enlarged_vectors(f.vectors, 2 * room),
            coefficients=np.hstack([f.coefficients, more]),
            kernel_row=np.zeros(2 * room),
        )
    if _is_full(f.spans):
        span_room = f.factors.shape[1]
        f = f._replace(spans=enlarged(f.spans, 2 * span_room), factors=np.zeros((3, 2 * span_room)))
    return f


@jit
def _largest(kernel, norms):
    most = 0.0
    for i in range(len(norms)):
        most = max(most, value(kernel, norms[i], norms[i], norms[i]))
    return most


@jit
def _present(f, kernel, sparseness, room, chunk, position, stop, most, errors, counters):
    for p in range(position, stop):
        m = f.vectors.size[0]
        if counters[KERNEL_EVALUATIONS] >= most or m == room or _is_full(f.spans):
            return
        expect(chunk, p)
        i = chunk.order[p]
        kernel_values(f.vectors, kernel, chunk.rows, i, f.kernel_row)
        score(f.coefficients, f.kernel_row[:m], f.scores)
        counters[KERNEL_EVALUATIONS] += m
        counters[KERNEL_COMPUTED] += m
        counters[PRESENTED] += 1
        label = chunk.labels[i]
        rival = best_wrong(f.scores, label)
        difference = margin(f.scores, label, rival)  # f_y - f_r
        if len(f.scores) == 1:
            difference *= 2
        errors[0] += difference <= 0.0
        if difference < 1.0:
            norm = squared_norm(chunk.rows, i)
            changed = _learn(f, sparseness, chunk.rows, i, value(kernel, norm, norm, norm), label, rival, difference)
            counters[STEPS] += changed
            counters[UPDATES] += changed


@jit
def _is_full(spans):
    most = 0
    for i in range(len(spans.sizes)):
        most = max(most, spans.sizes[i])
    return most == spans.members.shape[1]


@jit
def _learn(f, sparseness, rows, i, own, label, rival, difference):
    """Change the hypothesis after an error or a margin error; tell whether it was changed."""
    two, y, r = len(f.scores) == 1, label, rival
    if two:
        y, r = 0, 0
    sign = -1.0 if two and label == 0 else 1.0
    projected_y = project(f.spans, y, f.kernel_row, f.factors[0])
    projected_r = projected_y if two else project(f.spans, r, f.kernel_row, f.factors[1])
    tau = 1.0
    if difference <= 0.0:
        if min(projected_y, projected_r) < own - sparseness.largest + sparseness.complement:  # a delta above eta
            _store(f, rows, i, own, y, r, sign, projected_y, projected_r)
            return True
    else:
        tau = _step(1.0 - difference, own, projected_y + projected_r, sparseness.eta)
    if tau > 0.0:
        _add_projection(f, y, f.factors[0], sign * tau)
        if not two:
            _add_projection(f, r, f.factors[1], -tau)
    return tau > 0.0


@jit
def _step(loss, own, q, eta):
    """Give tau of a margin error, 0 or less where nothing is to be done; q = 2 K(x, x) - delta."""
    delta = max(2.0 * own - q, 0.0)
    wanted = min(loss, 2.0 * (loss - delta / (2.0 * eta)))
    return 1.0 if wanted >= q else wanted / q


@jit
def _store(f, rows, i, own, y, r, sign, projected_y, projected_r):
    place = f.vectors.size[0]
    put(f.vectors, place, rows, i)
    append(f.spans, y, place, f.factors[0], projected_y, own)
    f.coefficients[y, place] = sign
    if y != r:
        append(f.spans, r, place, f.factors[1], projected_r, own)
        f.coefficients[r, place] = -1.0


@jit
def _add_projection(f, i, z, scale):
    d = f.factors[2]
    coordinates(f.spans, i, z, d)
    for j in range(f.spans.sizes[i]):
        f.coefficients[i, f.spans.members[i, j]] += scale * d[j]

"""What cvm, fw and mfw have in common: the problem, the ball they start from, and the search for the farthest point.

The L2-SVM with a squared bias (frank-wolfe-2012, equations 12 and 34), on the simplex sum_i alpha_i = 1, alpha_i >= 0:

    maximise   g(alpha) = Delta^2 - R,   R = sum_ij alpha_i alpha_j k~_ij,   k~_ij = y_i y_j (K_ij + 1) + delta_ij / C
    f(x) = sum_i alpha_i y_i (K(x_i, x) + 1)

Where K(x, x) is constant, so is k~_ii = Delta^2, the centre sum_i alpha_i z_i and the squared radius r^2 = g(alpha)
are those of a ball, and the maximum is the minimal ball that encloses all points z_i (15). Other kernels change
nothing but that (4.4): Delta^2 is k~_11 then (step 3), a constant. With responses s_i = sum_j alpha_j k~_ij the squared
distance of a point from the centre is g_i = Delta^2 + R - 2 s_i (20).

The ball at the start is that of 20 random points. An algorithm ends when g_i* <= (1 + eps)^2 r^2 for the farthest point
i* it knows; where that is the farthest of all, (1 - eps') g* <= g <= g* with eps' = 2 eps + eps^2 (41).

    sampling   i* is the farthest of this many different random points, uniform over all (5.2.3), or of `all`; of all
               as well where there are not so many, as among a pair of small classes
    confirm    a sample that ends it is believed (0), or k fresh samples are asked, or `all` points

Counted: for every point scored, and for the response of a new vertex, as many kernel evaluations as weights are above
zero (cvm: as there are examples in the core set); the ball at the start takes 20^2. `presented` counts iterations.

Measures: `dual_objective` is g(alpha) = r^2, `objective` is max_i g_i over all points, which g* is not above (39), so
that `gap` = max_i g_i / r^2 - 1 is the delta_+ of Algorithms 2 and 3, and at most eps' where they end rightly.

Deviations: kernel values are single precision, all sums double. The responses of points outside the core set are not
computed anew where the steps since they were last known are fewer than the core set's examples (`History`): they are
brought up to date with one kernel value a step. What is asked for is counted all the same.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from annotated_types import Ge, Gt
from numpy.typing import NDArray

from mpu_bench.core.counters import KERNEL_COMPUTED, KERNEL_EVALUATIONS, PRESENTED, UPDATES, new_counters
from mpu_bench.core.gram import kernel_diagonal
from mpu_bench.core.jit import jit
from mpu_bench.core.kernels import Gaussian, Kernel
from mpu_bench.core.models import KernelModel
from mpu_bench.core.problem import Problem
from mpu_bench.core.rng import below, generator
from mpu_bench.core.rows import Rows, squared_norms, take
from mpu_bench.core.solver import Allowance, Measures, Solver, Status
from mpu_bench.core.vectors import Vectors, new_vectors
from mpu_bench.errors import ConfigError, DataError
from mpu_bench.solvers.meb import core_set
from mpu_bench.solvers.meb.core_set import (
    CoreSet,
    Examples,
    add_slot,
    compact,
    own_product,
    put,
    row,
    sum_of_products,
    total,
    values_from,
)
from mpu_bench.solvers.meb.simplex import minimise

MORE_ROOM = -1  # instead of a Status: the core set needs more room

FIRST_POINTS = 20  # whose ball is the first
_FIRST_ROOM = 256
_FIRST_TOLERANCE = 1e-13  # of the first ball, times the mean k~_ii
_MOST_SCALE = 1e100
_WINDOWS = 16  # times the steps after which a point is drawn again that the history has room for

#: what the numbers of a ball are
CONSTANT, SQUARED_RADIUS, SCALE, OFFSET = range(4)


class History(NamedTuple):
    """The latest steps, and the responses of points outside the core set as they once were."""

    vectors: Vectors  #: the point of every step, L places or none
    changes: NDArray[np.float64]  #: (L,) by how much y_j alpha_j / scale changed
    buffer: NDArray[np.float32]  #: (L,)
    first: NDArray[np.int64]  #: (1,) the number of the step in place 0
    sums: NDArray[np.float64]  #: (n,) sum_j y_j alpha_j (K_ij + 1) / scale when it was last computed
    known: NDArray[np.int64]  #: (n,) up to which step, or -1


class Search(NamedTuple):
    """How the farthest point is searched."""

    order: NDArray[np.uint32]  #: (n,) a permutation; its beginning is the sample
    generator: NDArray[np.uint64]
    sampled: int  #: how many points a sample has
    confirmations: int  #: how many fresh samples must agree that it ends, or -1: all points


@dataclass
class State:
    """What the algorithms work on."""

    rows: Rows
    examples: Examples
    features: int
    core: CoreSet
    history: History
    search: Search
    ball: NDArray[np.float64]  #: Delta^2, r^2, the scale of weights and responses, sum_j y_j alpha_j / scale
    done: NDArray[np.bool_]  #: (1,)
    counters: NDArray[np.int64]


@dataclass(frozen=True)
class BallSolver(Solver):
    """A solver of the L2-SVM as a minimal enclosing ball.

    Attributes
    ----------
    C : float
        The weight of the squared losses, above 0.
    eps : float
        Of the radius: it ends when no point is known farther than (1 + eps) r from the centre.
    sampling : int or "all"
        How many random points the farthest is searched among.
    confirm : int or "all"
        How many fresh samples must agree that it ends.
    cache_mb : float
        Megabytes for rows of kernel values that are kept.
    """

    paper: ClassVar[str] = "frank-wolfe-2012"
    kernels: ClassVar = "any"

    C: Annotated[float, Gt(0)] = 1.0
    eps: Annotated[float, Gt(0)] = 1e-6
    sampling: int | Literal["all"] = 59
    confirm: int | Literal["all"] = 0
    cache_mb: Annotated[float, Ge(0)] = 200.0

    remembers: ClassVar[bool] = True  #: whether an iteration changes one weight only, so that a history pays

    def __post_init__(self) -> None:
        """Refuse parameters outside their range."""
        super().__post_init__()
        for name, least in (("sampling", 1), ("confirm", 0)):
            number = getattr(self, name)
            if number != "all" and not (isinstance(number, int) and number >= least):
                raise ConfigError(f"{self.name}: {name} is {number!r}; it must be 'all' or an integer from {least} on")

    def check_size(self, n: int) -> None:
        """Refuse a sample of more points than there are; among a pair of small classes all points are searched."""
        if self.sampling != "all" and self.sampling > n:
            raise ConfigError(
                f"{self.name}: sampling is {self.sampling}, but there are only {n} training examples; set sampling: all"
            )

    def check(self, problem: Problem, kernel: Kernel) -> None:
        """Refuse what a solver refuses, and kernel values it cannot work with."""
        super().check(problem, kernel)
        if not isinstance(kernel, Gaussian):
            self.check_diagonal(problem, kernel, kernel_diagonal(kernel, squared_norms(problem.train)))

    def check_diagonal(self, problem: Problem, kernel: Kernel, diagonal: NDArray[np.float64]) -> None:
        """Refuse kernel values K(x_i, x_i), shape (n,), that single precision cannot hold."""
        if not diagonal.max() < np.finfo(np.float32).max / 4:
            raise DataError(
                f"{problem.name}: K(x, x) of the kernel {kernel} reaches {diagonal.max():.1g}; scale the features down"
                " (a card's step for that is `scale`) or take a smaller degree or scale"
            )

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Start from the minimal ball of 20 random points."""
        self.check(problem, kernel)
        n = problem.n
        sampled = n if self.sampling == "all" else min(self.sampling, n)
        confirmations = -1 if self.confirm == "all" else self.confirm
        order = np.arange(n, dtype=np.uint32)
        search = Search(order, generator(seed, "ball"), sampled, 0 if sampled == n else confirmations)
        core = core_set.new_core_set(n, problem.features, max(_FIRST_ROOM, FIRST_POINTS), self.cache_mb)
        examples = core_set.examples_of(problem.train, problem.labels, kernel, self.C)
        history = _new_history(n, problem.features, 0, 0)
        state = State(
            problem.train,
            examples,
            problem.features,
            core,
            history,
            search,
            np.zeros(4),
            np.zeros(1, np.bool_),
            new_counters(),
        )
        _first_ball(examples, core, search, state.ball, state.counters)
        state.history = self.history(state)
        return state

    def history(self, state: State) -> History:
        """Make a history if there is none and points are drawn again soon enough for it to pay."""
        n, room = len(state.search.order), len(state.core.members)
        between = -(-n // state.search.sampled)  # steps, on the average
        if not self.remembers or len(state.history.changes) or between > room // 2:
            return state.history
        steps = int(state.history.first[0])
        return _new_history(n, state.features, _WINDOWS * between, steps)

    def advance(self, state: State, allowance: Allowance) -> Status:
        """Take further steps, making room where the core set needs it."""
        last = int(state.counters[PRESENTED]) + allowance.presented
        most = int(state.counters[KERNEL_EVALUATIONS]) + allowance.kernel_evaluations
        if state.done[0]:
            return Status.DONE
        while (status := self.iterate(state, last, most)) == MORE_ROOM:
            state.core = core_set.with_more_room(state.core, self.cache_mb)
            state.history = self.history(state)
        state.done[0] = status == Status.DONE
        return Status(status)

    @abstractmethod
    def iterate(self, state: State, last: int, most: int) -> int:
        """Take steps until so many iterations or kernel evaluations are counted; a Status, or `MORE_ROOM`."""

    def model(self, state: State) -> KernelModel:
        """Give f over the examples with weight; its bias is sum_i alpha_i y_i."""
        support = np.flatnonzero(state.core.coefficients)
        coefficients = state.core.coefficients[support, np.newaxis] * state.ball[SCALE]
        vectors = take(state.rows, state.core.members[support])
        return KernelModel(vectors, coefficients, state.examples.kernel, state.features, float(coefficients.sum()))

    def measures(self, state: State) -> Measures:
        """Certify the ball by its farthest point, of all."""
        constant, squared_radius = state.ball[:2].tolist()
        farthest = (
            constant + (constant - squared_radius) - 2.0 * _least_response(state.examples, _aside(state), state.ball)
        )
        gap = farthest / squared_radius - 1.0 if squared_radius > 0 else None
        return Measures(farthest, float(squared_radius), gap)


def _aside(state: State) -> CoreSet:
    """Give the core set with scratch memory and counts of its own, so that looking changes nothing."""
    core = state.core
    vectors = core.vectors._replace(indices=core.vectors.indices.copy(), values=core.vectors.values.copy())
    return core._replace(vectors=vectors, buffer=core.buffer.copy())


def _new_history(n: int, features: int, length: int, steps: int) -> History:
    changes, buffer = np.zeros(length), np.zeros(length, np.float32)
    first, known = np.array([steps]), np.full(n, -1)
    return History(new_vectors(features, length), changes, buffer, first, np.zeros(n), known)


def _first_ball(examples: Examples, core: CoreSet, search: Search, ball: NDArray[np.float64], counters: Any) -> None:
    """Find the minimal ball of some random points by SMO, and keep those with weight."""
    points = min(FIRST_POINTS, len(examples.labels))
    draw(search.order, points, search.generator)
    for i in search.order[:points]:
        slot = add_slot(core, examples, i, 0.0)
        core.coefficients[slot] = core.signs[slot] / points
    for slot in range(points):
        score = (row(core, examples, core.members[slot], counters) + 1.0) @ core.coefficients[:points]
        core.responses[slot] = core.signs[slot] * score + 1.0 / (points * examples.C)
    counters[KERNEL_EVALUATIONS] += points * points
    squared_length = float(core.responses[:points].mean())
    tolerance = _FIRST_TOLERANCE * float(core.diagonal[:points].mean())
    squared_length = minimise(core, examples, squared_length, tolerance, counters)
    counters[UPDATES] = 0
    compact(core)
    ball[:] = own_product(examples, np.uint32(0), core.vectors), 0.0, 1.0, 0.0  # step 3
    ball[SQUARED_RADIUS] = ball[CONSTANT] - squared_length  # steps 4, 5
    ball[OFFSET] = core.coefficients.sum()


@jit
def draw(order, sampled, generator):
    """Put as many different random items as are sampled at the beginning of a permutation."""
    for p in range(sampled):
        other = p + below(generator, np.uint32(len(order) - p))
        order[p], order[other] = order[other], order[p]


@jit
def farthest_point(examples, core, history, search, ball, eps, counters):
    """Search the point farthest from the centre; gives it and its response, or -1 when it ends."""
    squared_length = ball[CONSTANT] - ball[SQUARED_RADIUS]
    # g_i > (1 + eps)^2 r^2, with g_i = r^2 + 2 (R - s_i)
    enough = squared_length - (2.0 * eps + eps * eps) * ball[SQUARED_RADIUS] / 2.0
    for attempt in range(1 + abs(search.confirmations)):
        sampled = search.sampled
        if search.confirmations < 0 and attempt == 1:
            sampled = len(search.order)
        if sampled < len(search.order):
            draw(search.order, sampled, search.generator)
        farthest, least = np.uint32(0), np.inf
        for p in range(sampled):
            i = search.order[p]
            s = response(examples, core, history, i, ball, counters)
            if s < least or (s == least and i < farthest):
                farthest, least = i, s
        counters[KERNEL_EVALUATIONS] += core.active[0] * sampled
        if least < enough:
            return np.int64(farthest), least
    return np.int64(-1), 0.0


@jit
def response(examples, core, history, i, ball, counters):
    """Compute s_i, in the cheapest of three ways."""
    slot, m = core.slots[i], core.vectors.size[0]
    if slot >= 0:
        return ball[SCALE] * core.responses[slot]
    steps = history.first[0] + history.vectors.size[0]
    behind, missing = steps - history.known[i], m
    if core.places[i] >= 0:
        missing += m // 4 - core.lengths[core.places[i]]
    if history.known[i] >= history.first[0] and behind <= missing:
        begin = history.known[i] - history.first[0]
        kernel_row, changes = history.buffer[:behind], history.changes[begin : begin + behind]
        values_from(examples, i, history.vectors, begin, kernel_row)
        score = history.sums[i] + sum_of_products(changes, kernel_row) + total(changes)
        counters[KERNEL_COMPUTED] += behind
    else:
        if len(core.owners) == len(core.places):  # there is room for a row of every example
            kernel_row = row(core, examples, i, counters)
        else:
            kernel_row = core.buffer[:m]
            values_from(examples, i, core.vectors, np.int64(0), kernel_row)
            counters[KERNEL_COMPUTED] += m
        score = sum_of_products(core.coefficients, kernel_row) + ball[OFFSET]
    history.sums[i], history.known[i] = score, steps
    return ball[SCALE] * (2.0 * examples.labels[i] - 1.0) * score


@jit
def _least_response(examples, core, ball):
    """Find the least response of all points, which it does not remember."""
    least, m = np.inf, core.vectors.size[0]
    for i in range(len(examples.labels)):
        slot = core.slots[i]
        if slot >= 0:
            least = min(least, core.responses[slot])
            continue
        values_from(examples, np.uint32(i), core.vectors, np.int64(0), core.buffer[:m])
        score = sum_of_products(core.coefficients, core.buffer[:m]) + ball[OFFSET]
        least = min(least, (2.0 * examples.labels[i] - 1.0) * score)
    return ball[SCALE] * least


@jit
def move(examples, core, history, ball, slot, length, rise, counters):
    """Make the weights (1 - length) alpha + length e_j for slot j; with a length below zero a step away from its point.

    ``rise`` is R - s_j. Carries r^2, responses and the sum of weights along, and remembers the step.
    """
    i, sign = core.members[slot], core.signs[slot]
    # (1 - l)^2 R + 2 l (1 - l) s_j + l^2 k~_jj = R - 2 l (R - s_j) + l^2 (k~_jj + R - 2 s_j)
    curvature = core.diagonal[slot] - ball[CONSTANT] + ball[SQUARED_RADIUS] + 2.0 * rise
    ball[SQUARED_RADIUS] += length * (2.0 * rise - length * curvature)
    ball[SCALE] *= 1.0 - length
    change = length / ball[SCALE]
    kernel_row = row(core, examples, i, counters)
    for k in range(len(kernel_row)):
        core.responses[k] += change * sign * core.signs[k] * (np.float64(kernel_row[k]) + 1.0)
    core.responses[slot] += change / examples.C
    core.coefficients[slot] += change * sign
    ball[OFFSET] += change * sign
    if len(history.changes) == 0:
        history.first[0] += 1
    else:
        if history.vectors.size[0] == len(history.changes):
            _forget_half(history)
        history.changes[history.vectors.size[0]] = change * sign
        put(examples, i, history.vectors, history.vectors.size[0])
    if not 1.0 / _MOST_SCALE < ball[SCALE] < _MOST_SCALE:
        for numbers in (core.coefficients, core.responses, history.changes, history.sums):
            for k in range(len(numbers)):
                numbers[k] *= ball[SCALE]
        ball[OFFSET] *= ball[SCALE]
        ball[SCALE] = 1.0


@jit
def _forget_half(history):
    """Forget the older half of the steps."""
    vectors, half = history.vectors, len(history.changes) // 2
    left = len(history.changes) - half
    for c in range(vectors.columns.shape[0]):
        for k in range(left):
            vectors.columns[c, k] = vectors.columns[c, half + k]
    for k in range(left):
        vectors.squared_norms[k], history.changes[k] = vectors.squared_norms[half + k], history.changes[half + k]
    history.first[0] += half
    vectors.size[0] = left

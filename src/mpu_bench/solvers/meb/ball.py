"""What cvm, fw and mfw have in common: the problem, the parameters, the ball they start from, and the loop.

The L2-SVM with a squared bias (frank-wolfe-2012, equations 12 and 34), on the simplex sum_i alpha_i = 1, alpha_i >= 0:

    maximise   g(alpha) = Delta^2 - R,   R = sum_ij alpha_i alpha_j k~_ij,   k~_ij = y_i y_j (K_ij + 1) + delta_ij / C
    f(x) = sum_i alpha_i y_i (K(x_i, x) + 1)

Where K(x, x) is constant, so is k~_ii = Delta^2, the centre sum_i alpha_i z_i and the squared radius r^2 = g(alpha)
are those of a ball, and the maximum is the minimal ball that encloses all points z_i (15). Other kernels change
nothing but that (4.4): Delta^2 is k~_11 then (step 3), a constant. With responses s_i = sum_j alpha_j k~_ij the squared
distance of a point from the centre is g_i = Delta^2 + R - 2 s_i (20).

Where the loss of example i has a weight, C_i, that many times C, stands for C in k~_ii. The maximum is then that of a
ball whose centre is in a subspace (Tsang, Kwok, Zurada: "Generalized Core Vector Machines", IEEE Transactions on Neural
Networks 17, 2006), and Delta^2 is K_11 + 1 + 1 / max C_i, a constant.

An iteration searches the point i* farthest from the centre (`farthest.py`) and takes a step towards it, which is what
the three differ in. The ball at the start is that of 20 random points. An algorithm ends when g_i* <= (1 + eps)^2 r^2
for the farthest point i* it knows; where that is the farthest of all, (1 - eps') g* <= g <= g* with
eps' = 2 eps + eps^2 (41).

    sampling   i* is the farthest of this many different random points, uniform over all (5.2.3), or of `all`; of all
               as well where there are not so many, as among a pair of small classes
    confirm    a sample that ends it is believed (0), or k fresh samples are asked, or `all` points: where these are
               many, some at each iteration, until one is far enough or all have been asked
    stop       it ends when the SVM's own gap, of all points, is so small, whatever eps and confirm say

The two ends differ: r^2 is Delta^2 - R, and where K(x, x) is large beside R a ball may be exact to a millionth while R
is many times the optimum. R is what the SVM minimises. Its gap (`certificate.py`) is computed now and then, and is
small enough where s_i >= R / sqrt(1 + stop) for all i. Nothing depends on Delta^2 then; it is 0, for R = Delta^2 - r^2
has all its digits so, and all steps are those of exact line searches.

An algorithm ends as well where rounding leaves nothing to gain: where no response is below R by more than it may be
wrong, or when r^2 has not risen for 1,000 iterations.

Counted: for every point scored, also where the SVM's gap is computed, and for the response of a new vertex, as many
kernel evaluations as weights are above zero (cvm: as there are examples in the core set); the ball at the start takes
20^2. `presented` counts iterations.

Measures: `dual_objective` is g(alpha) = r^2, `objective` is max_i g_i over all points, which g* is not above (39), so
that `gap` = max_i g_i / r^2 - 1 is the delta_+ of Algorithms 2 and 3, and at most eps' where they end rightly. With
`stop` they are of the SVM, and the model is the multiple of f that they are of. Both are computed anew from the
weights, in double precision (`certificate.py`).

Deviations: kernel values are single precision, double where that is too coarse for the end (`_precision`), all sums
double; those of a Gaussian on dense rows far from the origin are of the rows less their mean, which has the same
distances. Responses that were known some steps ago are brought up to date and not computed anew (`farthest.History`).
What is asked for is counted all the same. The ball at the start need not be exact: SMO's moves are bounded.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Gt, Lt
from numpy.typing import NDArray

from mpu_bench.core.counters import (
    KERNEL_COMPUTED,
    KERNEL_EVALUATIONS,
    PRESENTED,
    UNLIMITED,
    UPDATES,
    new_counters,
    reached,
)
from mpu_bench.core.jit import jit
from mpu_bench.core.models import KernelModel
from mpu_bench.core.numeric import new_record
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Rows, any_rows, squared_norms, take
from mpu_bench.core.solver import Kernels, Measures, Solver, Status, Until
from mpu_bench.core.vectors import has_free_entries, new_vectors_for, quantum_of, with_free_entries
from mpu_bench.errors import ConfigError, OutOfRangeError
from mpu_bench.kernels import Kernel
from mpu_bench.kernels.matrix import checked_norms, kernel_diagonal
from mpu_bench.kernels.precision import Precision, centred, is_single_enough, precision_of_rows
from mpu_bench.solvers.certificates import per_example
from mpu_bench.solvers.meb.certificate import of_radius, of_svm
from mpu_bench.solvers.meb.core_set import (
    CoreSet,
    Examples,
    add_slot,
    compact,
    enlarged_core_set,
    new_core_set,
    squared_point_norm,
    value_with_itself,
    values_from,
)
from mpu_bench.solvers.meb.farthest import (
    NO_POINT,
    History,
    Search,
    draw,
    farthest_point,
    new_history,
    new_search,
)
from mpu_bench.solvers.meb.simplex import MAX_MOVES, KnownRows, minimise

#: instead of a Status: the core set is full; many of its slots have no weight; the first points are in it, no ball yet;
#: the SVM's gap may be small enough
MORE_ROOM, LESS_EMPTY, FIRST_POINTS_DRAWN, IS_NEAR = -1, -2, -3, -4

FIRST_POINTS = 20  # points whose ball is the first
_MAX_LOSS = 1e15  # 1/C by K(x, x) + 1: beyond it, rounding leaves nothing of K(x, x) beside 1/C
_FIRST_CAPACITY = 256  # slots of the core set at the start
_FIRST_TOLERANCE = 1e-13  # of the first ball's responses, relative to the mean k~_ii
_HISTORY_WINDOWS = 16  # the history has room for so many times the steps after which a point is drawn again
_CHECK_AFTER = 4  # times the iterations that score as many points as a check does
_SLOTS_PER_EMPTY = 4  # the core set is compacted when more than one slot in so many has no weight ...
_SPARE_EMPTY = 32  # ... and these beside
_MAX_STALLED = 1000  # iterations one after the other in which r^2 does not rise
_COARSEST = 40.0  # times eps Delta^2 may kernel values be wrong; on frank-wolfe-2012's data it is up to 17 (Shuttle)
_SHARE_OF_GAP = 0.25  # that the rounding of responses may take of R's
_MAX_WHOLE = 1 << 24  # up to which single precision has all whole numbers
_UNITS_OF_ROUNDING = 16.0  # by which R and a response that are carried along may be wrong

BALL = np.dtype(
    [
        ("delta2", "f8"),
        ("r2", "f8"),
        ("scale", "f8"),  # of weights and responses
        ("bias", "f8"),  # sum_j y_j alpha_j / scale
        ("eps", "f8"),
        ("gap", "f8"),  # of the SVM at which it ends; 0 where it ends by eps
        ("rounding", "f8"),  # by how much a response may be wrong
        ("inner_tolerance", "f8"),  # of cvm
        ("adds_all", "i8"),  # of cvm
        ("missing", "f8"),  # sum of C_i (1 - s_i / R)^2 of the points that a search has added
        ("looked_at", "i8"),  # points by that search
        ("guess", "f8"),  # what the SVM's gap may be
        ("looks_at", "f8"),  # the guess from which on it is worth to compute it
        ("stalled", "i8"),  # iterations since r^2 rose
    ]
)


@dataclass
class State:
    """What the algorithms work on."""

    problem: Problem
    examples: Examples
    core: CoreSet
    history: History
    search: Search
    ball: np.recarray[Any, Any]  #: (1,) `BALL`
    status: Status
    check_at: int  #: how many iterations there will have been when the SVM's gap is looked at
    counters: NDArray[np.int64]
    #: with `stop`: after how many iterations the SVM was certified, what was found, and the multiple of f it is of
    certified: tuple[int, Measures, float] | None = None


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
    stop : float, optional
        End when the objective of the L2-SVM is at most 1 + stop times the optimum, by all points, instead of by eps.
    """

    paper: ClassVar[str] = "frank-wolfe-2012"
    kernels: ClassVar[Kernels] = "any"
    # The sums that pick a point are compared to the last digit, so that another may be picked; and where a sample is
    # believed, chance ends the run, earlier or later. Of 40 runs on other processors one took 2.3 times the work.
    rounding: ClassVar = dict.fromkeys(("kernel_evaluations", "updates", "passes"), 0.75) | {
        "support_vectors": 0.3,
        "objective": 1e-3,
    }
    weighted: ClassVar = True
    ends: ClassVar = True

    C: Annotated[float, Gt(0), Lt(np.inf)] = 1.0
    eps: Annotated[float, Gt(0)] = 1e-6
    sampling: int | Literal["all"] = 59
    confirm: int | Literal["all"] = 0
    cache_mb: Annotated[float, Ge(0)] = 200.0
    stop: Annotated[float, Gt(0)] | None = None

    keeps_history: ClassVar[bool] = True  #: whether an iteration changes one weight only, so that a history pays

    def __post_init__(self) -> None:
        """Refuse parameters outside their range."""
        super().__post_init__()
        for name, least in (("sampling", 1), ("confirm", 0)):
            number = getattr(self, name)
            if number != "all" and not (isinstance(number, int) and number >= least):
                raise OutOfRangeError(self.name, name, number, f"'all' or an integer from {least} on")

    def check_size(self, n: int) -> None:
        """Refuse a sample of more points than there are; among a pair of small classes all points are searched."""
        if self.sampling != "all" and self.sampling > n:
            raise ConfigError(
                f"{self.name}: sampling is {self.sampling}, but there are only {n} training examples; set sampling: all"
            )

    def check(self, problem: Problem, kernel: Kernel) -> None:
        """Refuse what a solver refuses, kernel values it cannot work with, and a C beside which they count nothing."""
        super().check(problem, kernel)
        norms = checked_norms(problem.train, kernel, np.dtype(np.float32))
        least = 1.0 / (_MAX_LOSS * (float(kernel_diagonal(kernel, norms).max(initial=0.0)) + 1.0))
        if least > (largest := self._largest(problem)):
            raise ConfigError(
                f"{self.name}: C, times the largest weight, is {largest:g}; it must be at least {least:.2g} with these"
                " rows"
            )

    def _largest(self, problem: Problem) -> float:
        """Return the largest C_i."""
        return float(np.max(per_example(self.C, problem)))

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Start from the minimal ball of 20 random points."""
        self.check(problem, kernel)
        n, features = problem.n, problem.features
        sampled = n if self.sampling == "all" else min(self.sampling, n)
        rows = centred(problem.train, kernel)
        first, largest = squared_norms(take(rows, np.zeros(1, np.int64))), float(squared_norms(rows).max())
        scale = kernel.growth(largest) * float(kernel.bound(largest))
        precision = self._precision(problem, kernel, rows, scale)
        confirmations = int(self.confirm) if self.confirm != "all" and self.stop is None else -1
        rounding = _UNITS_OF_ROUNDING * float(np.finfo(np.float64).eps) * (scale + 1.0)
        gap = self.stop or 0.0
        ball = new_record(BALL, scale=1.0, eps=self.eps, gap=gap, rounding=rounding, guess=np.inf, looks_at=gap)
        if self.stop is None:
            ball.delta2 = squared_point_norm(kernel, first, self._largest(problem), precision)  # step 3
        points = min(FIRST_POINTS, n)
        first_rows = np.zeros((points, points), np.float32 if precision == "single" else np.float64)
        # sums of products of whole numbers have the same bits, whatever these are kept in
        quantum = 1.0 if quantum_of(rows) == 1.0 and largest < _MAX_WHOLE else 0.0
        slots = new_vectors_for(rows, features, _FIRST_CAPACITY, precision, quantum, FIRST_POINTS)
        state = State(
            problem,
            Examples(any_rows(rows), problem.labels, kernel, per_example(self.C, problem)),
            new_core_set(n, slots, self.cache_mb),
            new_history(n, new_vectors_for(rows, features, 0, precision, float(slots.columns.itemsize == 1)), 0),
            new_search(n, sampled, 0 if sampled == n else confirmations, seed, first_rows),
            ball,
            Status.RUNNING,
            UNLIMITED if self.stop is None else _CHECK_AFTER * -(-n // sampled),
            new_counters(),
        )
        self._find_first_ball(state)
        state.history = self._history(state)
        return state

    def _find_first_ball(self, state: State) -> None:
        """Find the minimal ball of some random points by SMO, from alphas in the ratio of their C, and keep some."""
        core, ball, counters, kernel_rows = state.core, state.ball, state.counters, state.search.first_rows
        self.iterate(state.examples, core, state.history, state.search, ball, Until(), counters)
        points = len(kernel_rows)
        C = np.broadcast_to(state.examples.C, state.problem.n)[core.members[:points]]
        ratios, largest = C / C.max(), float(C.max())
        total = float(ratios.sum())
        core.coefficients[:points] = core.signs[:points] * (ratios / total)
        for slot in range(points):
            score = (kernel_rows[slot] + 1.0) @ core.coefficients[:points]
            core.responses[slot] = core.signs[slot] * score + 1.0 / (total * largest)
        R = float((ratios * core.responses[:points]).sum()) / total
        tolerance = _FIRST_TOLERANCE * (float((ratios * core.diagonal[:points]).sum()) / total)
        rows, s, weights = KnownRows(kernel_rows, C), core.responses[:points], core.coefficients
        R = minimise(rows, s, core.signs, weights, core.diagonal, R, tolerance, MAX_MOVES, counters)
        ball.r2 = ball.delta2 - R  # steps 4, 5
        counters[UPDATES] = 0
        compact(core)
        ball.bias = core.coefficients.sum()

    def _precision(self, problem: Problem, kernel: Kernel, rows: Rows, scale: float) -> Precision:
        """Return the precision of kernel values of some rows, which are wrong by a unit of rounding times ``scale``.

        Of the ball: weights have the sum 1, so that a response is wrong by no more than a kernel value is. Of the SVM:
        those of its dual variables alpha_i / R are compared with 1, and these are about C at most.
        """
        if self.stop is not None:
            return precision_of_rows(problem, kernel, self._largest(problem), _SHARE_OF_GAP * self.stop)
        first = float(kernel_diagonal(kernel, squared_norms(take(rows, np.zeros(1, np.int64))))[0]) + 1.0
        is_single = float(np.finfo(np.float32).eps) / 2 * scale <= _COARSEST * self.eps * first
        return "single" if is_single and is_single_enough(rows, kernel) else "double"

    def _history(self, state: State) -> History:
        """Return a new history if there is none and points are drawn again soon enough for it to pay."""
        n, capacity = len(state.search.order), len(state.core.members)
        between = -(-n // state.search.sampled)  # steps, on the average
        if not self.keeps_history or len(state.history.changes) or between > capacity // 2:
            return state.history
        steps = int(state.history.first[0])
        precision: Precision = "single" if state.core.buffer.dtype == np.float32 else "double"
        length = _HISTORY_WINDOWS * between
        quantum = float(state.core.vectors.columns.itemsize == 1)
        vectors = new_vectors_for(state.problem.train, state.problem.features, length, precision, quantum)
        return new_history(n, vectors, steps)

    def advance(self, state: State, until: Until) -> Status:
        """Take further steps, enlarging the core set where it is full."""
        while state.status is Status.RUNNING and not reached(state.counters, until):
            limits = until._replace(presented=min(until.presented, state.check_at))
            status = self.iterate(
                state.examples, state.core, state.history, state.search, state.ball, limits, state.counters
            )
            if status == MORE_ROOM:
                if state.core.vectors.size[0] == len(state.core.members):
                    state.core = state.core._replace(kept=state.core.kept[:0].copy())  # the new rows take its memory
                    state.core = enlarged_core_set(state.core, self.cache_mb)
                    state.history = self._history(state)
                state.core = state.core._replace(vectors=with_free_entries(state.core.vectors, 0))
                state.history = state.history._replace(vectors=with_free_entries(state.history.vectors, 0))
                continue
            if status == LESS_EMPTY:
                compact(state.core)
                continue
            if status == IS_NEAR:
                state.ball.looks_at, state.ball.guess = state.ball.guess / 2, np.inf
                self._check(state)
                continue
            state.status = Status(status)
            if state.status is Status.RUNNING and state.counters[PRESENTED] >= state.check_at:
                self._check(state)
        return state.status

    def _check(self, state: State) -> None:
        """End where the SVM's gap is small enough; that costs as much as many iterations, so it is asked seldom."""
        n, presented = len(state.search.order), int(state.counters[PRESENTED])
        state.counters[[KERNEL_EVALUATIONS, KERNEL_COMPUTED]] += n * int(state.core.active[0])
        gap = self.measures(state).gap
        if gap is not None and self.stop is not None and gap <= self.stop:
            state.status = Status.DONE
        state.check_at = presented + max(presented // 4, _CHECK_AFTER * -(-n // state.search.sampled))

    @abstractmethod
    def iterate(self, *state: Any) -> int:
        """Return `iterations` with the step of the algorithm; all other arguments are given."""

    def model(self, state: State) -> KernelModel:
        """Return f over the examples with weight, with `stop` its certified multiple; the bias is sum_i alpha_i y_i."""
        slots = np.flatnonzero(state.core.coefficients)
        coefficients = state.core.coefficients[slots, np.newaxis] * state.ball.scale[0]
        if self.stop is not None:
            coefficients *= self._of_svm(state)[1] / np.abs(coefficients).sum()
        support, features = state.core.members[slots], state.problem.features
        vectors = take(state.problem.train, support)
        return KernelModel(vectors, coefficients, state.examples.kernel, features, float(coefficients.sum()), support)

    def measures(self, state: State) -> Measures:
        """Certify the ball by its farthest point, of all; with ``stop`` the model, by its losses."""
        if self.stop is not None:
            return self._of_svm(state)[0]
        return of_radius(state.problem, state.examples.kernel, self.C, *_weights(state.core))

    def _of_svm(self, state: State) -> tuple[Measures, float]:
        presented = int(state.counters[PRESENTED])
        if state.certified is None or state.certified[0] != presented:
            certified = of_svm(state.problem, state.examples.kernel, self.C, *_weights(state.core))
            state.certified = (presented, *certified)
        return state.certified[1:]

    @classmethod
    def objective_of(cls, parameters: Mapping[str, Any]) -> str:
        """Return what is the problem of the ball around the examples of the L2-SVM, or of the SVM itself."""
        return "smallest squared radius" if parameters.get("stop") is None else "w.w + b b + C sum hinge^2"


def _weights(core: CoreSet) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
    """Return the examples that have weight, and their weights, of any sum."""
    slots = np.flatnonzero(core.coefficients)
    return core.members[slots], core.signs[slots] * core.coefficients[slots]


@jit(inline="always")
def iterations(step, join, examples, core, history, search, ball, until, counters):
    """Take steps until a counter reaches its value of ``until``; return a Status, or one of the codes above.

    ``step(examples, core, history, ball, i, s, counters)``, an algorithm's, moves the centre towards the farthest
    point, that of example i with the response s; there is a free slot. ``join`` is as of `farthest_point`.
    """
    b = ball[0]
    if core.vectors.size[0] == 0:
        _draw_first_points(examples, core, search, counters)
        return FIRST_POINTS_DRAWN
    while not reached(counters, until):
        if core.vectors.size[0] - core.active[0] > core.active[0] // _SLOTS_PER_EMPTY + _SPARE_EMPTY:
            return LESS_EMPTY
        has_entries = has_free_entries(core.vectors, 0, 1) and has_free_entries(history.vectors, 0, 1)
        if core.vectors.size[0] == len(core.members) or not has_entries:
            return MORE_ROOM
        i, s = farthest_point(join, examples, core, history, search, b, counters)
        counters[PRESENTED] += 1
        done, before = i == NO_POINT or b.stalled == _MAX_STALLED, b.r2
        if i >= 0 and not (done or np.isnan(s)):
            step(examples, core, history, b, np.uint32(i), s, counters)
        if not abs(b.r2) + abs(s) < np.inf:
            return Status.DIVERGED.value
        if done or b.guess < b.looks_at:
            return Status.DONE.value if done else IS_NEAR
        b.stalled = 0 if b.r2 > before else b.stalled + (i >= 0)
    return Status.RUNNING.value


@jit(inline="always")
def join_none(examples, core, ball, i, s, counters):
    """Let only the farthest of the points that are far enough join the core set, by the step."""


@jit
def _draw_first_points(examples, core, search, counters):
    """Put random points into the core set; ``search.first_rows`` gets their kernel values."""
    kernel_rows, points = search.first_rows, len(search.first_rows)
    draw(search.order, points, search.generator)
    for p in range(points):
        add_slot(core, examples, search.order[p], 0.0)
    for slot in range(points):
        values_from(examples, core.members[slot], core.vectors, np.int64(0), kernel_rows[slot])
        kernel_rows[slot, slot] = value_with_itself(examples, core.vectors, slot)
    counters[KERNEL_EVALUATIONS] += points * points
    counters[KERNEL_COMPUTED] += points * points

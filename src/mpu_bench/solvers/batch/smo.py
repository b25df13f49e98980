"""Sequential minimal optimization: the kernel SVM by its dual, with a bias or without.

    primal   P = 1/2 ||w||^2 + C sum_i max(0, 1 - y_i (w.Phi(x_i) + b))
    dual     D = sum_i alpha_i - 1/2 sum_ij alpha_i alpha_j y_i y_j K(x_i, x_j),   0 <= alpha_i <= C

with sum_i y_i alpha_i = 0 where there is a bias b. sbp-2012 minimises lambda/2 ||w||^2 + 1/n sum_i hinge (its Problem
2.2), which is lambda P at C = 1/(lambda n): the same w. Here the signed beta_i = y_i alpha_i are kept, between
least_i = min(0, y_i C) and most_i = max(0, y_i C), and the errors e_i = y_i - sum_j beta_j K(x_i, x_j), by which D
grows with beta_i. A beta below its most may *rise*, above its least it may *fall*.

With a bias: Fan, Chen, Lin, "Working set selection using second order information for training support vector
machines", JMLR 6, 2005, WSS 2. The pair is the i with the largest error of those that may rise and, of those j that may
fall with e_j < e_i, that with the largest gain (e_i - e_j)^2 / (K_ii + K_jj - 2 K_ij); t is added to beta_i and taken
from beta_j. It ends when no error that may rise is more than `tolerance` above one that may fall. b is the mean error
of the beta between their bounds. Shrinking and the reconstruction of the gradient after it are those of Chang, Lin,
"LIBSVM", ACM TIST 2, 2011, section 4, with these differences: it is only done where it halves what is looked at, since
passes over all examples are vectorised and gathering is not; and the examples come back once only, at the tolerance.

Without a bias: sbp-2012, section 4, one beta at a time, that with the largest gain in D; no shrinking. It ends when no
error is more than `tolerance` on the wrong side, and only those that are can be chosen: a beta that is almost at its
bound gains next to nothing, whatever its error, and would else be waited for until all others gain less.

An iteration is one change, of a pair or of a single beta (presented, steps and updates). Counted: n kernel evaluations
for each beta it changes, so 2n with a bias; and n for each row that a reconstruction asks for. Kernel rows are single
precision, or double where C is large for the tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mpu_bench.core import gram
from mpu_bench.core.counters import KERNEL_EVALUATIONS, PRESENTED, STEPS, UPDATES, new_counters
from mpu_bench.core.gram import Gram, row
from mpu_bench.core.kernels import Kernel
from mpu_bench.core.models import KernelModel
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Rows, squared_norms, take
from mpu_bench.core.solver import Allowance, Measures, Solver, Status, mean_slack
from mpu_bench.errors import ConfigError

_BLOCK = 512  # errors that are looked at together; where the best is among them is looked up afterwards
_LEAST_CURVATURE = 1e-12  # of a pair, where K_ii + K_jj - 2 K_ij is not above zero
_BETWEEN_SHRINKING = 1000  # iterations
_WORTH = 0.5  # of the active examples may stay active, else shrinking is not worth its trouble
_ALL_BUT_SIGN = np.int64(0x7FFFFFFFFFFFFFFF)


class Places(NamedTuple):
    """What is known of n examples, of which the first m are active; shrinking permutes all but the last two arrays."""

    examples: NDArray[np.uint32]  #: (n,) the example of every place
    active: NDArray[np.int64]  #: m (1,)
    coefficients: NDArray[np.float64]  #: beta (n,)
    errors: NDArray[np.float64]  #: e (n,); those beyond m are old
    least: NDArray[np.float64]  #: (n,)
    most: NDArray[np.float64]  #: (n,)
    diagonal: NDArray[np.float64]  #: K(x_i, x_i) (n,)
    may_rise: NDArray[np.float64]  #: (n,) 0, or -inf where beta may not rise
    may_fall: NDArray[np.float64]  #: (n,) 0, or -inf where beta may not fall
    whole_coefficients: NDArray[np.float64]  #: (n,) by example, those when shrinking began
    whole_errors: NDArray[np.float64]  #: (n,) by example, those when shrinking began


class State(NamedTuple):
    """What the algorithm works on."""

    rows: Rows
    features: int
    signs: NDArray[np.float64]  #: y (n,)
    gram: Gram
    places: Places
    parts: NDArray[np.floating]  #: (2, n) room for the active part of two kernel rows
    bounds: NDArray[np.float64]  #: (2,) the largest error that may rise, the smallest that may fall
    best: NDArray[np.int64]  #: (1,) the place to change next
    counters: NDArray[np.int64]


@dataclass(frozen=True)
class SMO(Solver):
    """Sequential minimal optimization.

    Attributes
    ----------
    C : float, optional
        The weight of the losses, above 0; 1 where neither it nor `regularization` is given.
    regularization : float, optional
        lambda, above 0, instead of C: C = 1/(lambda n).
    bias : bool
        Whether there is a b, which is not regularised.
    tolerance : float
        Of the largest violation of the optimality conditions, in units of y f(x).
    """

    name = "smo"
    paper = "sbp-2012"
    kernels: ClassVar = "any"
    kernel_svm: ClassVar = "either"

    C: float | None = None
    regularization: float | None = None
    bias: bool = False
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        """Refuse parameters outside their range, and C together with lambda."""
        super().__post_init__()
        for name in ("C", "regularization", "tolerance"):
            number = getattr(self, name)
            if number is not None and not 0 < number < np.inf:
                raise ConfigError(f"{self.name}: {name} is {number!r}; it must be above 0 and finite")
        if self.C is not None and self.regularization is not None:
            raise ConfigError(f"{self.name}: give either C or regularization, not both: C = 1/(regularization n)")

    def weight(self, n: int) -> float:
        """Give C for n examples."""
        if self.regularization is not None:
            return 1.0 / (self.regularization * n)
        return 1.0 if self.C is None else self.C

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:  # noqa: ARG002
        """Start at beta = 0; the algorithm has no random choices."""
        self.check(problem, kernel)
        n, signs, weight = problem.n, problem.signs(), self.weight(problem.n)
        matrix = gram.build(problem.train, problem.features, kernel, precision=self.precision(problem, kernel))
        least, most = np.minimum(0.0, signs * weight), np.maximum(0.0, signs * weight)
        places = Places(
            np.arange(n, dtype=np.uint32),
            np.array([n]),
            np.zeros(n),
            signs.copy(),
            least,
            most,
            matrix.diagonal.copy(),
            np.where(most > 0, 0.0, -np.inf),
            np.where(least < 0, 0.0, -np.inf),
            np.zeros(n),
            np.zeros(n),
        )
        parts, bounds = np.zeros((2, n), matrix.kept.dtype), np.zeros(2)
        state = State(
            problem.train,
            problem.features,
            signs,
            matrix,
            places,
            parts,
            bounds,
            np.zeros(1, np.int64),
            new_counters(),
        )
        state.best[0] = _look(places, bounds, self.bias, self.tolerance)
        return state

    def precision(self, problem: Problem, kernel: Kernel) -> Literal["single", "double"]:
        """Choose that of the kernel rows: double where the rounding of n coefficients at C could hide a violation.

        Values that are too large for single precision are not saved by this: `gram.build` refuses them.
        """
        diagonal = gram.kernel_diagonal(kernel, squared_norms(problem.train))
        rounding = np.finfo(np.float32).eps / 2 * np.sqrt(problem.n) * self.weight(problem.n) * diagonal.max()
        hopeless = diagonal.max() > np.finfo(np.float32).max / 4
        return "single" if rounding <= self.tolerance or hopeless else "double"

    def advance(self, state: State, allowance: Allowance) -> Status:
        """Change further pairs, or single coefficients without a bias."""
        held = (state.gram, state.places, state.parts, state.bounds, state.best, state.counters)
        done = _advance(*held, self.bias, self.tolerance, allowance.presented, allowance.kernel_evaluations)
        return Status.DONE if done else Status.RUNNING

    def offset(self, state: State) -> float:
        """Give b: the mean error of the coefficients between their bounds, else the middle of what b may be."""
        if not self.bias:
            return 0.0
        places = state.places
        free = (places.may_rise == 0) & (places.may_fall == 0)  # never shrunk away
        return float(places.errors[free].mean() if free.any() else state.bounds.mean())

    def model(self, state: State) -> KernelModel:
        """Give the expansion over the examples with beta_i not 0."""
        coefficients = by_example(state)[0]
        support = np.flatnonzero(coefficients)
        vectors = take(state.rows, support)
        return KernelModel(
            vectors, coefficients[support, np.newaxis], state.gram.kernel, state.features, self.offset(state)
        )

    def measures(self, state: State) -> Measures:
        """Certify the model by its own dual variables, on the kernel values the algorithm works with."""
        coefficients, errors = by_example(state)
        squared = float(coefficients @ (state.signs - errors))
        losses = np.maximum(0.0, state.signs * (errors - self.offset(state)))
        objective = squared / 2 + self.weight(len(errors)) * float(losses.sum())
        dual = float(np.abs(coefficients).sum()) - squared / 2
        gap = objective / dual - 1 if dual > 0 else None
        return Measures(objective, dual, gap, nu=mean_slack(losses, squared))

    def violation(self, state: State) -> float:
        """Give the largest violation of the optimality conditions over all examples; the tolerance is of this."""
        coefficients, errors = by_example(state)
        weight = self.weight(len(errors))
        rising = errors[coefficients < np.maximum(0.0, state.signs * weight)].max(initial=-np.inf)
        falling = errors[coefficients > np.minimum(0.0, state.signs * weight)].min(initial=np.inf)
        return max(0.0, float(rising - falling if self.bias else max(rising, -falling)))


def by_example(state: State) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give all beta and all errors by example, both (n,), whatever has been shrunk; changes and counts nothing."""
    places = state.places
    if places.active[0] < len(state.signs):
        places = Places(*map(np.copy, places))  # type: ignore[arg-type]
        _bring_back(gram.copy_without_rows(state.gram), places, state.counters.copy())
    return places.coefficients.copy(), places.errors.copy()


@njit(cache=True, nogil=True)
def _advance(gram, places, parts, bounds, best, counters, bias, tolerance, presented, evaluations):
    n = len(places.errors)
    last = counters[PRESENTED] + presented
    most = counters[KERNEL_EVALUATIONS] + evaluations
    while bounds[0] - bounds[1] > tolerance or places.active[0] < n:
        if counters[PRESENTED] >= last or counters[KERNEL_EVALUATIONS] >= most:
            return False
        if bounds[0] - bounds[1] <= tolerance:
            _bring_back(gram, places, counters)
        else:
            _change(gram, places, parts, best[0], bias, counters)
            counters[PRESENTED] += 1
            counters[STEPS] += 1
            counters[UPDATES] += 1
        best[0] = _look(places, bounds, bias, tolerance)
        if bias and counters[PRESENTED] % min(n, _BETWEEN_SHRINKING) == 0 and bounds[0] - bounds[1] > tolerance:
            _shrink(places, bounds)
            best[0] = _look(places, bounds, bias, tolerance)
    return True


@njit(cache=True, nogil=True)
def _change(gram, places, parts, i, bias, counters):
    """Move beta_i, and with a bias that of the best partner, as far as D grows and the bounds allow."""
    beta, errors, m = places.coefficients, places.errors, places.active[0]
    j, row_i, row_j = i, parts[0], parts[1]
    for which in range(2 if bias else 1):
        values = row(gram, places.examples[i if which == 0 else j], counters)
        if m < len(values):
            _gather(values, places.examples, parts[which, :m])
            values = parts[which]
        if which == 0:
            row_i = values
            if bias:
                j = _best_partner(errors[:m], places.may_fall, places.diagonal, values, errors[i], places.diagonal[i])
        else:
            row_j = values
    if bias:
        curvature = places.diagonal[i] + places.diagonal[j] - 2.0 * np.float64(row_i[j])
        rise, fall = places.most[i] - beta[i], beta[j] - places.least[j]
        t = min((errors[i] - errors[j]) / max(curvature, _LEAST_CURVATURE), rise, fall)
        beta[i] = places.most[i] if t == rise else beta[i] + t
        beta[j] = places.least[j] if t == fall else beta[j] - t
        _mark(places, j)
        _move_pair(errors[:m], t, row_i, row_j)
    else:
        step = errors[i] / max(places.diagonal[i], _LEAST_CURVATURE)
        new = min(max(beta[i] + step, places.least[i]), places.most[i])
        _move(errors, new - beta[i], row_i)
        beta[i] = new
    _mark(places, i)


@njit(cache=True, nogil=True)
def _mark(places, p):
    """Say which way a coefficient may go."""
    beta = places.coefficients[p]
    places.may_rise[p] = 0.0 if beta < places.most[p] else -np.inf
    places.may_fall[p] = 0.0 if beta > places.least[p] else -np.inf


@njit(cache=True, nogil=True)
def _gather(values, examples, part):
    for p in range(len(part)):
        part[p] = values[examples[p]]


@njit(cache=True, nogil=True)
def _move_pair(errors, t, row_i, row_j):
    for p in range(len(errors)):
        errors[p] -= t * (np.float64(row_i[p]) - np.float64(row_j[p]))


@njit(cache=True, nogil=True)
def _move(errors, t, row_i):
    for p in range(len(errors)):
        errors[p] -= t * np.float64(row_i[p])


@njit(cache=True, nogil=True, inline="always")
def _order(x):
    """Give an integer that compares as the float64 does: compilers turn the largest integer into vector code."""
    bits = np.float64(x).view(np.int64)
    return bits ^ ((bits >> 63) & _ALL_BUT_SIGN)


@njit(cache=True, nogil=True)
def _look(places, bounds, bias, tolerance):
    """Find the bounds of the errors and the best place to change next."""
    m = places.active[0]
    errors = places.errors[:m]
    if bias:
        return _look_for_pair(errors, places.may_rise, places.may_fall, bounds)
    _look_for_pair(errors, places.may_rise, places.may_fall, bounds)
    bounds[0], bounds[1] = max(bounds[0], -bounds[1]), 0.0
    return _look_for_one(errors, places.coefficients, places.least, places.most, places.diagonal, tolerance)


@njit(cache=True, nogil=True)
def _look_for_pair(errors, may_rise, may_fall, bounds):
    """Find the largest error that may rise, with its place, and the smallest that may fall."""
    highest, lowest, begin = _order(-np.inf), _order(-np.inf), 0
    for start in range(0, len(errors), _BLOCK):
        high, low = _order(-np.inf), _order(-np.inf)
        these, rise, fall = errors[start : start + _BLOCK], may_rise[start:], may_fall[start:]
        for p in range(len(these)):
            high = max(high, _order(these[p] + rise[p]))
            low = max(low, _order(fall[p] - these[p]))
        if high > highest:
            highest, begin = high, start
        lowest = max(low, lowest)
    bounds[1] = -_number(lowest)
    bounds[0] = _number(highest)
    while begin < len(errors) and _order(errors[begin] + may_rise[begin]) != highest:
        begin += 1
    return begin


@njit(cache=True, nogil=True, inline="always")
def _number(order):
    """Give the float64 of an `_order`."""
    return np.int64(order ^ ((order >> 63) & _ALL_BUT_SIGN)).view(np.float64)


@njit(cache=True, nogil=True)
def _look_for_one(errors, beta, least, most, diagonal, tolerance):
    """Find the place where the best step of one coefficient gains most, of those that violate the conditions."""
    largest, begin = np.int64(-1), 0
    for start in range(0, len(errors), _BLOCK):
        gain = np.int64(-1)
        e, b, low, high, k = errors[start : start + _BLOCK], beta[start:], least[start:], most[start:], diagonal[start:]
        for p in range(len(e)):
            gain = max(gain, _gain(e[p], b[p], low[p], high[p], k[p], tolerance))
        if gain > largest:
            largest, begin = gain, start
    while _gain(errors[begin], beta[begin], least[begin], most[begin], diagonal[begin], tolerance) != largest:
        begin += 1
    return begin


@njit(cache=True, nogil=True, inline="always")
def _gain(error, beta, least, most, curvature, tolerance):
    """Compute by how much D grows with the best step of one coefficient, as an integer that compares as it does."""
    floor = curvature if curvature > _LEAST_CURVATURE else _LEAST_CURVATURE
    step, down, up = error / floor, least - beta, most - beta
    step = down if step < down else step
    step = up if step > up else step
    step = step if abs(error) > tolerance else 0.0
    return np.float64(step * (error - 0.5 * step * curvature)).view(np.int64) & _ALL_BUT_SIGN  # below 0 by rounding


@njit(cache=True, nogil=True)
def _best_partner(errors, may_fall, diagonal, row_i, error, own):
    """Find the place j that gains most together with i, by the second order rule."""
    largest, begin = np.int64(-1), 0
    for start in range(0, len(errors), _BLOCK):
        gain = np.int64(-1)
        e, fall, k, with_i = errors[start : start + _BLOCK], may_fall[start:], diagonal[start:], row_i[start:]
        for p in range(len(e)):
            gain = max(gain, _pair_gain(error - e[p] + fall[p], own + k[p] - 2.0 * np.float64(with_i[p])))
        if gain > largest:
            largest, begin = gain, start
    p = begin
    while _pair_gain(error - errors[p] + may_fall[p], own + diagonal[p] - 2.0 * np.float64(row_i[p])) != largest:
        p += 1
    return p


@njit(cache=True, nogil=True, inline="always")
def _pair_gain(difference, curvature):
    """Compute twice the gain of a pair, as an integer that compares as it does.

    It is 0 where j may not fall or has no smaller error.
    """
    difference = difference if difference > 0.0 else 0.0
    curvature = curvature if curvature > _LEAST_CURVATURE else _LEAST_CURVATURE
    return np.float64(difference * difference / curvature).view(np.int64)


@njit(cache=True, nogil=True)
def _shrink(places, bounds):
    """Leave out the examples at a bound that are further on the right side of it than any that could change."""
    m, errors = places.active[0], places.errors
    stays = np.empty(m, np.bool_)
    for p in range(m):
        settled = (places.may_rise[p] < 0.0 and errors[p] > bounds[0]) or (
            places.may_fall[p] < 0.0 and errors[p] < bounds[1]
        )
        stays[p] = not settled
    left = stays.sum()
    if left > _WORTH * m:
        return
    if m == len(errors):
        places.whole_coefficients[:] = places.coefficients
        places.whole_errors[:] = errors
    order = np.concatenate((np.flatnonzero(stays), np.flatnonzero(~stays)))
    places.examples[:m] = places.examples[order]
    for array in (
        *(places.coefficients, errors, places.least, places.most),
        *(places.diagonal, places.may_rise, places.may_fall),
    ):
        array[:m] = array[order]
    places.active[0] = left


@njit(cache=True, nogil=True)
def _bring_back(gram, places, counters):
    """Make all examples active again, in their own order, with the errors of those left out brought up to date."""
    n, errors = len(places.errors), places.whole_errors
    where = np.argsort(places.examples)
    for array in (places.coefficients, places.least, places.most, places.diagonal, places.may_rise, places.may_fall):
        array[:] = array[where]
    for i in range(n):
        change = places.coefficients[i] - places.whole_coefficients[i]
        if change != 0.0:
            _move(errors, change, row(gram, i, counters))
    for p in range(places.active[0]):
        errors[places.examples[p]] = places.errors[p]
    places.errors[:] = errors
    places.examples[:] = np.arange(n)
    places.active[0] = n

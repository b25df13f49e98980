"""The Stochastic Batch Perceptron, with and without bias.

    max_w  f(w)  over ||w|| <= 1,    f(w) = max_{xi >= 0, sum xi <= n nu}  min_i (c_i + xi_i),    c_i = y_i w.Phi(x_i)

f(w) is the water level gamma of the responses c_i and the volume n nu (water.py); with a bias, of two basins. Problem
2.3 has the optima of lambda/2 ||w||^2 + 1/n sum_i max(0, 1 - c_i), divided by their length, where
nu = (mean hinge loss) / ||w|| (Lemma 2.1).

Cotter, Shalev-Shwartz, Srebro: "The Kernelized Stochastic Batch Perceptron", ICML 2012, Algorithm 1. Iteration t draws
i uniformly among the examples that are covered, c_i < gamma, and takes the step alpha_i += eta_0 / sqrt(t), whose
direction y_i Phi(x_i) is a supergradient of f on average; then w is scaled back to length 1 if it is longer. With a
bias the class is drawn first, each with probability 1/2, then one of its covered examples: as many are covered in
either (section 3.6). The model is the average of the iterates over f of it, with the bias over it, too.

The state keeps s, and alpha / s and c / s, so that scaling is a change of s. A step of size delta in alpha_i / s at
iteration t counts in the sum of the iterates from t on, with the sum of the s since: sum_t alpha^(t) = S alpha / s - B,
where S is the sum of all s and B_i += delta times the S before t. The sum of the responses is kept in the same way.
Before s is small, where the difference would cancel, it is multiplied in. All sums are in double.

A config may give lambda instead of nu, ``nu: {from-regularization: {over-examples: 1}}``: then nu is that of the
optimum of the regularised problem (reference.py), which is solved once, in a row of its own with its own seconds.

Counted: n kernel evaluations an iteration, which is one example presented, one step, one update; the epochs of the
paper are ``passes``, n iterations each. Measured is f of the average iterate, in the units of Problem 2.3: it rises
to the optimum, and there is no certificate of how near it is.

Deviations: where the volume is zero no example is below the level, and those at the level are drawn from, which is
optimal as well (section 3.2). While f of the average is not above zero the model is not divided by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from annotated_types import Ge, Lt
from numba import njit
from numpy.typing import NDArray

from mpu_bench.core import gram as kernel_matrix
from mpu_bench.core.counters import KERNEL_EVALUATIONS, PRESENTED, STEPS, UPDATES, new_counters
from mpu_bench.core.gram import Gram, row
from mpu_bench.core.kernels import Kernel
from mpu_bench.core.models import KernelModel
from mpu_bench.core.problem import Problem
from mpu_bench.core.rng import below, generator
from mpu_bench.core.rows import take
from mpu_bench.core.solver import Allowance, Measures, Solver, Status
from mpu_bench.errors import ConfigError, DataError
from mpu_bench.solvers.batch.water_filling import draw_covered, one_level, two_levels

_SMALLEST_SCALE = 2.0**-10
# Places in State.numbers
_SCALE, _SCALES, _LENGTH, _VOLUME = 0, 1, 2, 3


class Work(NamedTuple):
    """What the iterations work on; n examples, of which with a bias the first n+ in its order are positive."""

    gram: Gram
    order: NDArray[np.uint32]  #: (n,) the row of each example; all arrays below have this order
    signs: NDArray[np.float64]  #: y (n,)
    alphas: NDArray[np.float64]  #: alpha / s (n,)
    responses: NDArray[np.float64]  #: c / s (n,)
    alphas_before: NDArray[np.float64]  #: B (n,)
    responses_before: NDArray[np.float64]  #: the same for the responses (n,)
    first: NDArray[np.int64]  #: (1,) n+, or n without a bias
    levels: NDArray[np.float64]  #: (3,) the last water levels / s, and how far from them to look first
    numbers: NDArray[np.float64]  #: s, S, r^2 = ||w||^2, n nu
    room: NDArray[np.float64]  #: (n,)
    generator: NDArray[np.uint64]
    counters: NDArray[np.int64]


class State(NamedTuple):
    """What the algorithm works on."""

    problem: Problem
    work: Work

    @property
    def counters(self) -> NDArray[np.int64]:
        """Give those of the work."""
        return self.work.counters


@dataclass(frozen=True)
class SBP(Solver):
    """The Stochastic Batch Perceptron.

    Attributes
    ----------
    nu : float
        The slack allowed, a mean over the examples, in units of ||w|| = 1.
    bias : bool
        Whether the model has a bias, which is not regularised.
    passes : int
        The number of iterations, in n.
    """

    name = "sbp"
    paper = "sbp-2012"
    kernels: ClassVar = "any"

    nu: Annotated[float, Ge(0), Lt(np.inf)]
    bias: bool = False
    passes: Annotated[int, Ge(1)] = 10

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Start at w = 0.

        Raises
        ------
        ConfigError
            If nu is so large that it pays for any model.
        DataError
            If all K(x, x) are zero.
        """
        self.check(problem, kernel)
        gram = kernel_matrix.build(problem.train, problem.features, kernel)
        _check_nu(self.nu, problem.name, float(gram.diagonal.max()))
        n, signs = problem.n, problem.signs()
        order = np.argsort(-signs, kind="stable") if self.bias else np.arange(n)
        work = Work(
            gram,
            order.astype(np.uint32),
            signs[order],
            np.zeros(n),
            np.zeros(n),
            np.zeros(n),
            np.zeros(n),
            np.array([np.count_nonzero(signs > 0) if self.bias else n]),
            np.array([0.0, 0.0, np.inf]),
            np.array([1.0, 0.0, 0.0, n * self.nu]),
            np.zeros(n),
            generator(seed, "sbp"),
            new_counters(),
        )
        return State(problem, work)

    def advance(self, state: State, allowance: Allowance) -> Status:
        """Go on for further iterations."""
        most = self.passes * state.problem.n
        presented = min(allowance.presented, most - int(state.counters[PRESENTED]))
        _advance(state.work, presented, allowance.kernel_evaluations)
        if not np.isfinite(state.work.numbers).all():
            return Status.DIVERGED
        return Status.DONE if state.counters[PRESENTED] == most else Status.RUNNING

    def model(self, state: State) -> KernelModel:
        """Give the average iterate over its water level."""
        work, problem = state.work, state.problem
        alphas, level, bias = _average(work)
        divisor = level if level > 0 else 1.0
        support = np.flatnonzero(alphas)
        coefficients = (work.signs * alphas)[support, np.newaxis] / divisor
        vectors = take(problem.train, work.order[support])
        return KernelModel(vectors, coefficients, work.gram.kernel, problem.features, bias / divisor)

    def measures(self, state: State) -> Measures:
        """Evaluate f of the average iterate; larger is better."""
        return Measures(objective=_average(state.work)[1], nu=self.nu)


def _check_nu(nu: float, name: str, largest: float) -> None:
    if largest <= 0:
        raise DataError(f"{name}: K(x, x) is zero for every training example; there is nothing to learn from")
    most = 2.0 * np.sqrt(largest)  # no two responses of a w of length 1 differ by more
    if nu >= most:
        raise ConfigError(
            f"sbp: nu is {nu:.6g}; from 2 max sqrt(K(x, x)) = {most:.6g} on the slack covers all examples whatever the"
            " model: take a smaller nu"
        )


def _average(work: Work) -> tuple[NDArray[np.float64], float, float]:
    """Give the average iterate's alpha, its water level f and its bias."""
    scales, volume, iterations = *work.numbers[[_SCALES, _VOLUME]], max(int(work.counters[PRESENTED]), 1)
    alphas = (scales * work.alphas - work.alphas_before) / iterations  # line 13
    responses = (scales * work.responses - work.responses_before) / iterations
    first = int(work.first[0])
    if first == len(responses):
        return alphas, float(one_level(responses, volume, 0.0)), 0.0
    anywhere = np.array([0.0, 0.0, np.inf])
    plus, minus = two_levels(responses[:first], responses[first:], volume, anywhere, np.zeros(len(responses)))
    return alphas, float(plus + minus) / 2, float(minus - plus) / 2


@njit(cache=True, nogil=True)
def _advance(work, presented, evaluations):
    counters, numbers, diagonal = work.counters, work.numbers, work.gram.diagonal
    last = counters[PRESENTED] + presented
    most = counters[KERNEL_EVALUATIONS] + evaluations
    first_step = 1.0 / np.sqrt(diagonal.max())  # line 1
    while counters[PRESENTED] < last and counters[KERNEL_EVALUATIONS] < most:
        counters[PRESENTED] += 1
        eta = first_step / np.sqrt(counters[PRESENTED])  # line 4
        scale, scales = numbers[_SCALE], numbers[_SCALES]
        k = _draw(work)  # lines 5 and 6
        i = work.order[k]
        numbers[_LENGTH] += 2.0 * eta * scale * work.responses[k] + eta * eta * diagonal[i]  # line 8
        step = eta / scale
        work.alphas[k] += step  # line 7
        work.alphas_before[k] += step * scales
        _add(work, step * work.signs[k], scales, row(work.gram, i, counters))  # line 10
        if numbers[_LENGTH] > 1.0:  # lines 11 and 12
            numbers[_SCALE] = scale / np.sqrt(numbers[_LENGTH])
            numbers[_LENGTH] = 1.0
        numbers[_SCALES] += numbers[_SCALE]
        if numbers[_SCALE] < _SMALLEST_SCALE:
            _multiply_in(work)
        counters[STEPS] += 1
        counters[UPDATES] += 1
    return 0


@njit(cache=True, nogil=True)
def _draw(work):
    """Draw one of the examples the water covers."""
    responses, levels, first = work.responses, work.levels, work.first[0]
    volume = work.numbers[_VOLUME] / work.numbers[_SCALE]
    if first == len(responses):
        levels[0] = one_level(responses, volume, levels[0])
        return draw_covered(responses, levels[0], work.generator)
    two_levels(responses[:first], responses[first:], volume, levels, work.room)
    if below(work.generator, np.uint32(2)) == 0:
        return draw_covered(responses[:first], levels[0], work.generator)
    return first + draw_covered(responses[first:], levels[1], work.generator)


@njit(cache=True, nogil=True)
def _add(work, step, scales, kernel_row):
    """Update the responses, and what their sum over the iterations lacks."""
    first, n = work.first[0], len(work.order)
    _add_to(work, 0, 0, first, step, scales, kernel_row)
    if first < n:
        _add_to(work, 1, first, n, step, scales, kernel_row)


@njit(cache=True, nogil=True)
def _add_to(work, basin, begin, end, step, scales, kernel_row):
    """Update those of one basin; the level will have moved about as those did that were near it."""
    total, near, level, width = 0.0, 0, work.levels[basin], work.levels[2]
    for k in range(begin, end):
        change = step * work.signs[k] * np.float64(kernel_row[work.order[k]])
        if abs(work.responses[k] - level) <= width:
            total += change
            near += 1
        work.responses[k] += change
        work.responses_before[k] += scales * change
    work.levels[basin] += total / max(near, 1)


@njit(cache=True, nogil=True)
def _multiply_in(work):
    """Set s to 1, and S to 0, without changing any iterate or sum."""
    scale, scales = work.numbers[_SCALE], work.numbers[_SCALES]
    for k in range(len(work.alphas)):
        work.alphas_before[k] -= scales * work.alphas[k]
        work.responses_before[k] -= scales * work.responses[k]
        work.alphas[k] *= scale
        work.responses[k] *= scale
    for k in range(len(work.levels)):
        work.levels[k] *= scale
    work.numbers[_SCALE], work.numbers[_SCALES] = 1.0, 0.0

"""The Stochastic Batch Perceptron, with and without bias.

    max_w  f(w)  over ||w|| <= 1,    f(w) = max_{xi >= 0, sum xi <= n nu}  min_i (c_i + xi_i),    c_i = y_i w.Phi(x_i)

f(w) is the water level gamma of the responses c_i and the volume n nu (water_filling.py); with a bias, of two basins.
Problem 2.3 has the optima of lambda/2 ||w||^2 + 1/n sum_i max(0, 1 - c_i), divided by their norm, where
nu = (mean hinge loss) / ||w|| (Lemma 2.1).

Cotter, Shalev-Shwartz, Srebro: "The Kernelized Stochastic Batch Perceptron", ICML 2012, Algorithm 1. Iteration t draws
i uniformly among the examples that are covered, c_i < gamma, and takes the step alpha_i += eta_0 / sqrt(t), whose
direction y_i Phi(x_i) is a supergradient of f on average; then w is scaled back to norm 1 if that is larger. With a
bias the class is drawn first, each with probability 1/2, then one of its covered examples: as many are covered in
either (section 3.6). The model is the average of the iterates over f of it, with the bias over it, too.

The state keeps s, and alpha / s and c / s, so that scaling is a change of s. A step of size delta in alpha_i / s at
iteration t counts in the sum of the iterates from t on, with the sum of the s since: sum_t alpha^(t) = S alpha / s - B,
where S is the sum of all s and B_i += delta times the S before t. The sum of the responses is kept in the same way.
Before s is small, where the difference would cancel, it is multiplied in. All sums are in double.

A config may give lambda instead of nu, ``nu: {from-regularization: {over-examples: 1}}``: then nu is that of the
optimum of the regularised problem (``kernel-optimum``), which is solved once, in a row of its own with its own seconds.

Counted: n kernel evaluations an iteration, which is one example presented, one step, one update; the epochs of the
paper are ``passes``, n iterations each. Measured is f of the average iterate, in the units of Problem 2.3: it rises
to the optimum, and there is no certificate of how near it is.

Deviations: where the volume is zero no example is below the level, and those at the level are drawn from, which is
optimal as well (section 3.2). While f of the average is not above zero the model is not divided by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from annotated_types import Ge, Lt
from numpy.typing import NDArray

from mpu_bench.core.counters import PRESENTED, STEPS, UPDATES, new_counters, reached
from mpu_bench.core.jit import jit, jit_dispatch
from mpu_bench.core.models import KernelModel
from mpu_bench.core.numeric import new_record
from mpu_bench.core.problem import Problem
from mpu_bench.core.rng import randint, rng
from mpu_bench.core.rows import take
from mpu_bench.core.solver import Measures, Solver, Status, Until
from mpu_bench.errors import ConfigError, DataError
from mpu_bench.kernels import Kernel
from mpu_bench.kernels import matrix as kernel_matrix
from mpu_bench.kernels.matrix import Gram, row_slot
from mpu_bench.kernels.precision import precision_of_rows
from mpu_bench.solvers.batch.water_filling import LEVELS, draw_covered, one_level, two_levels
from mpu_bench.solvers.expansions import Kept, responses_of

_SMALLEST_SCALE = 2.0**-10  # below which s is multiplied in
_PROGRESS = np.dtype([("scale", "f8"), ("scale_sum", "f8"), ("squared_norm", "f8")])


class OneBasin(NamedTuple):
    """Without a bias: the water covers examples of either class alike."""


class TwoBasins(NamedTuple):
    """With a bias: one basin a class, the first n+ examples and the others."""

    positives: int  #: n+


class Work(NamedTuple):
    """What the iterations change; n examples, of which with a bias the first n+ in its order are positive."""

    order: NDArray[np.uint32]  #: (n,) the row of each example; all arrays below have this order
    signs: NDArray[np.float64]  #: y (n,)
    alphas: NDArray[np.float64]  #: alpha / s (n,)
    responses: NDArray[np.float64]  #: c / s (n,)
    alphas_before: NDArray[np.float64]  #: B (n,)
    responses_before: NDArray[np.float64]  #: the same for the responses (n,)
    basins: OneBasin | TwoBasins
    first_step: float  #: eta_0
    volume: float  #: n nu
    levels: np.recarray[Any, Any]  #: the last water levels / s; without a bias the first one
    progress: np.recarray[Any, Any]  #: s, S, r^2 = ||w||^2
    scratch: NDArray[np.float64]  #: (n,)
    generator: NDArray[np.uint64]


class State(NamedTuple):
    """What the algorithm works on."""

    problem: Problem
    gram: Gram
    work: Work
    counters: NDArray[np.int64]


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
    version = 2
    paper = "sbp-2012"
    rounding: ClassVar = {
        "support_vectors": 0.02,
        "objective": 5e-3,
    }  # responses near the water level, single precision
    kernels: ClassVar = "any"
    ends: ClassVar = True
    is_maximised: ClassVar = True

    nu: Annotated[float, Ge(0), Lt(np.inf)]
    bias: bool = False
    passes: Annotated[int, Ge(1)] = 10

    def shares_kernel_rows(self, problem: Problem, kernel: Kernel) -> bool:
        """Return whether single precision is enough."""
        return precision_of_rows(problem, kernel, None) == "single"

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Start at w = 0.

        Raises
        ------
        ConfigError
            If nu is so large that it pays for any model.
        DataError
            If no K(x, x) is above zero.
        """
        self.check(problem, kernel)
        precision = precision_of_rows(problem, kernel, None)
        gram = kernel_matrix.build(problem.train, problem.features, kernel, precision=precision)
        _check_nu(self.nu, problem.name, float(gram.diagonal.max()))
        n, signs = problem.n, problem.signs()
        order = np.argsort(-signs, kind="stable") if self.bias else np.arange(n)
        work = Work(
            order.astype(np.uint32),
            signs[order],
            np.zeros(n),
            np.zeros(n),
            np.zeros(n),
            np.zeros(n),
            TwoBasins(int(np.count_nonzero(signs > 0))) if self.bias else OneBasin(),
            float(1.0 / np.sqrt(gram.diagonal.max())),  # line 1
            float(n * self.nu),
            new_record(LEVELS, reach=np.inf),
            new_record(_PROGRESS, scale=1.0),
            np.zeros(n),
            rng(seed, "sbp"),
        )
        return State(problem, gram, work, new_counters())

    def advance(self, state: State, until: Until) -> Status:
        """Go on for further iterations."""
        last = self.passes * state.problem.n
        _iterate(state.gram, state.work, state.counters, until._replace(presented=min(until.presented, last)))
        if not (np.isfinite(state.work.progress[0].tolist()).all() and np.isfinite(state.work.responses).all()):
            return Status.DIVERGED
        return Status.DONE if state.counters[PRESENTED] == last else Status.RUNNING

    def model(self, state: State) -> KernelModel:
        """Return the average iterate over its water level."""
        work, problem = state.work, state.problem
        alphas, responses = _average(work, int(state.counters[PRESENTED]))
        level, bias = _level(work, responses)
        divisor = level if level > 0 else 1.0
        chosen = np.flatnonzero(alphas)
        coefficients, support = (work.signs * alphas)[chosen, np.newaxis] / divisor, work.order[chosen]
        vectors, features = take(problem.train, support), problem.features
        return KernelModel(vectors, coefficients, state.gram.kernel, features, bias / divisor, support)

    def measures(self, state: State) -> Measures:
        """Evaluate f of the average iterate; larger is better."""
        problem, work, presented = state.problem, state.work, int(state.counters[PRESENTED])
        alphas, averages = _average(work, presented)
        by_row = np.argsort(work.order)
        coefficients, kept_responses = (work.signs * alphas)[by_row], Kept((work.signs * averages)[by_row], state.gram)
        responses, wrong = responses_of(problem, state.gram.kernel, coefficients, kept_responses)
        level, _ = _level(work, work.signs * responses[work.order])
        return Measures.evaluated(level, float(wrong.max()), nu=self.nu)  # no level moves by more than the responses

    @classmethod
    def objective_of(cls, parameters: Mapping[str, Any]) -> str:
        """Return the problem's name."""
        return "largest f(w), with bias" if parameters.get("bias") else "largest f(w)"


def _check_nu(nu: float, name: str, largest: float) -> None:
    if largest <= 0:
        raise DataError(f"{name}: K(x, x) is above zero for no training example; nothing can be learned")
    range_of_responses = 2.0 * np.sqrt(largest)  # no two of a w of norm 1 differ by more
    if nu >= range_of_responses:
        raise ConfigError(
            f"sbp: nu is {nu:.6g}; from 2 max sqrt(K(x, x)) = {range_of_responses:.6g} on the slack covers all examples"
            " for every model: choose a smaller nu"
        )


def _average(work: Work, iterations: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the average iterate's alpha and responses."""
    scale_sum, divisor = work.progress[0].scale_sum, max(iterations, 1)
    alphas = (scale_sum * work.alphas - work.alphas_before) / divisor  # line 13
    return alphas, (scale_sum * work.responses - work.responses_before) / divisor


def _level(work: Work, responses: NDArray[np.float64]) -> tuple[float, float]:
    """Return the water level f of some responses, and their bias."""
    if isinstance(work.basins, OneBasin):
        return float(one_level(responses, work.volume, 0.0)), 0.0
    anywhere, first = new_record(LEVELS, reach=np.inf)[0], work.basins.positives
    plus, minus = two_levels(responses[:first], responses[first:], work.volume, anywhere, np.zeros(len(responses)))
    return float(plus + minus) / 2, float(minus - plus) / 2


@jit
def _iterate(gram, work, counters, until):
    p = work.progress[0]
    while not reached(counters, until):
        counters[PRESENTED] += 1
        eta = work.first_step / np.sqrt(counters[PRESENTED])  # line 4
        k = _draw(work.basins, work, work.volume / p.scale)  # lines 5 and 6
        if k < 0:
            p.squared_norm = np.nan
            return
        i = work.order[k]
        p.squared_norm += 2.0 * eta * p.scale * work.responses[k] + eta * eta * gram.diagonal[i]  # line 8
        step = eta / p.scale
        work.alphas[k] += step  # line 7
        work.alphas_before[k] += step * p.scale_sum
        _add(work.basins, work, step * work.signs[k], gram.kept[row_slot(gram, i, counters)])  # line 10
        if p.squared_norm > 1.0:  # lines 11 and 12
            p.scale /= np.sqrt(p.squared_norm)
            p.squared_norm = 1.0
        p.scale_sum += p.scale
        if p.scale < _SMALLEST_SCALE:
            _multiply_in(work)
        counters[STEPS] += 1
        counters[UPDATES] += 1


@jit_dispatch
def _draw(basins, work, volume):
    """Return one of the examples that a volume of water covers, drawn at random."""


@_draw.register(OneBasin)
def _(_basins, work, volume):
    levels = work.levels[0]
    levels.plus = one_level(work.responses, volume, levels.plus)
    return draw_covered(work.responses, levels.plus, work.generator)


@_draw.register(TwoBasins)
def _(basins, work, volume):
    levels, first = work.levels[0], basins.positives
    plus, minus = work.responses[:first], work.responses[first:]
    two_levels(plus, minus, volume, levels, work.scratch)
    if randint(work.generator, np.uint32(2)) == 0:
        return draw_covered(plus, levels.plus, work.generator)
    k = draw_covered(minus, levels.minus, work.generator)
    return first + k if k >= 0 else k


@jit_dispatch
def _add(basins, work, step, kernel_row):
    """Update the responses, what their sum over the iterations lacks, and the levels."""


@_add.register(OneBasin)
def _(_basins, work, step, kernel_row):
    levels = work.levels[0]
    levels.plus += _add_to(work, np.int64(0), len(work.order), step, kernel_row, levels.plus)


@_add.register(TwoBasins)
def _(basins, work, step, kernel_row):
    levels, first = work.levels[0], basins.positives
    levels.plus += _add_to(work, np.int64(0), first, step, kernel_row, levels.plus)
    levels.minus += _add_to(work, first, len(work.order), step, kernel_row, levels.minus)


@jit
def _add_to(work, begin, end, step, kernel_row, level):
    """Update those of one basin; return by how much its level will have moved: as those did that were near it."""
    total, near, reach, scale_sum = 0.0, 0, work.levels[0].reach, work.progress[0].scale_sum
    for k in range(begin, end):
        change = step * work.signs[k] * np.float64(kernel_row[work.order[k]])
        if abs(work.responses[k] - level) <= reach:
            total += change
            near += 1
        work.responses[k] += change
        work.responses_before[k] += scale_sum * change
    return total / max(near, 1)


@jit
def _multiply_in(work):
    """Set s to 1, and S to 0, without changing any iterate or sum."""
    p, levels = work.progress[0], work.levels[0]
    for k in range(len(work.alphas)):
        work.alphas_before[k] -= p.scale_sum * work.alphas[k]
        work.responses_before[k] -= p.scale_sum * work.responses[k]
        work.alphas[k] *= p.scale
        work.responses[k] *= p.scale
    levels.plus *= p.scale
    levels.minus *= p.scale
    levels.reach *= p.scale
    p.scale, p.scale_sum = 1.0, 0.0

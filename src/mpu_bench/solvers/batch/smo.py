"""Sequential minimal optimization: the kernel SVM by its dual, with a bias or without.

    primal   P = 1/2 ||w||^2 + C sum_i max(0, 1 - y_i (w.Phi(x_i) + b))
    dual     D = sum_i alpha_i - 1/2 sum_ij alpha_i alpha_j y_i y_j K(x_i, x_j),   0 <= alpha_i <= C

with sum_i y_i alpha_i = 0 where there is a bias b. sbp-2012 minimises lambda/2 ||w||^2 + 1/n sum_i hinge (its Problem
2.2), which is lambda P at C = 1/(lambda n): the same w. Here the signed beta_i = y_i alpha_i are kept, between
lower_i = min(0, y_i C) and upper_i = max(0, y_i C), and LIBSVM's -y_i grad_i = y_i - sum_j beta_j K(x_i, x_j), by which
D grows with beta_i. I_up are the i whose beta is below its upper bound, I_low those above the lower one (Keerthi,
Shevade, Bhattacharyya, Murthy, Neural Computation 13, 2001); the stopping rule compares the largest of I_up with the
least of I_low.

With a bias: Fan, Chen, Lin, "Working set selection using second order information for training support vector
machines", JMLR 6, 2005, WSS 2. The working set is the i with the largest -y_i grad_i in I_up and, of those j in I_low
with less, that with the largest gain (y_j grad_j - y_i grad_i)^2 / (K_ii + K_jj - 2 K_ij); t is added to beta_i and
taken from beta_j. It ends when none of I_up is more than `tolerance` above one of I_low. b is the mean -y_i grad_i of
the free beta, between their bounds. Pairs, and steps that are conjugate to the one before, are in pairs.py, shrinking
is in shrinking.py.

Without a bias: sbp-2012, section 4, one beta at a time, that with the largest gain in D; no shrinking. Or, where steps
are conjugate, a pair: the i that violates the conditions most, and the j that gains most with it. It ends when no
-y_i grad_i is more than `tolerance` on the wrong side of zero, and only those that are can be chosen: a beta that is
almost at its bound gains next to nothing, whatever its gradient, and would else be waited for until all others gain
less.

Counted: an iteration is one change, of a pair or of a single beta (presented, steps and updates); n kernel evaluations
for each row it asks for, so 2n for a pair; and n for each row that a reconstruction of the gradient asks for.

Kernel rows are single precision, or double where C is large for the tolerance or rows are far from the origin
(kernels/precision.py). With conjugate steps they are fixed-point numbers where these are exact enough. With a kernel
that is not positive semi-definite it trains, and certifies nothing.

It ends as well where rounding leaves no progress, which it looks for once in so many iterations: where D has not grown
since, or where the violation is no more than the rounding of the gradient.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from annotated_types import Gt, Lt
from numpy.typing import NDArray

from mpu_bench.core.counters import PRESENTED, STEPS, UNLIMITED, UPDATES, new_counters, reached
from mpu_bench.core.jit import jit
from mpu_bench.core.models import KernelModel
from mpu_bench.core.numeric import ALL_BUT_SIGN, new_record, number, order
from mpu_bench.core.problem import Problem
from mpu_bench.core.solver import Measures, Optimum, Solver, Status, Until
from mpu_bench.errors import ConfigError
from mpu_bench.kernels import Kernel
from mpu_bench.kernels import matrix as kernel_matrix
from mpu_bench.kernels.matrix import Gram, row_slot
from mpu_bench.kernels.precision import RowPrecision, is_fixed_enough, precision_of_rows
from mpu_bench.solvers.batch.pairs import (
    VARIABLES_AT_ONCE,
    Direction,
    forget,
    new_direction,
    select_conjugate_j,
    select_j,
    step,
    update_single,
)
from mpu_bench.solvers.batch.regularization import kernel_optimum, weight_of_losses
from mpu_bench.solvers.batch.shrinking import (
    ActiveRows,
    Variables,
    coefficients,
    new_active_rows,
    new_variables,
    reconstruct_gradient,
    shrink,
    slot_of_active,
)
from mpu_bench.solvers.certificates import L1_SVM, no_progress, per_example
from mpu_bench.solvers.expansions import Kept, certify_expansion

_ITERATIONS_BETWEEN_SHRINKING = 1000
_ITERATIONS_BETWEEN_LOOKS = 100_000  # for progress
ACTIVE, ALL = 1, 2  # variables that rounding leaves no progress; after ACTIVE all come back, and none is shrunk again
_ROUNDING = 8 * float(np.finfo(np.float64).eps)  # of a sum's terms, relative to their length

_PROGRESS = np.dtype(
    [("up_max", "f8"), ("low_min", "f8"), ("i", "i8"), ("dual", "f8"), ("dual_before", "f8"), ("at_rounding", "i8")]
)


class Work(NamedTuple):
    """What the iterations work on; n examples."""

    variables: Variables
    rows: ActiveRows
    direction: Direction
    #: the largest -y grad in I_up, the least in I_low, the variable to change next; the gains added up, now and at the
    #: last look; whether rounding leaves no progress: to no variable, or to those active when it was looked for
    progress: np.recarray[Any, Any]


class Way(NamedTuple):
    """The parameters that the iterations read."""

    bias: bool
    conjugate: bool
    tolerance: float


class State(NamedTuple):
    """What the algorithm works on."""

    problem: Problem
    signs: NDArray[np.float64]  #: y (n,)
    gram: Gram
    work: Work
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
    conjugate : bool
        Whether an iteration changes a pair of variables without a bias, too, and steps along the best direction that
        this pair and the step before span: fewer iterations, above all with a large C, to the same tolerance.
    """

    name = "smo"
    version = 3
    deterministic: ClassVar = True
    paper = "sbp-2012"
    kernels: ClassVar = "any"
    weighted: ClassVar = True
    # gains that are equal but for the last digits decide the working set, and so the path, to one optimum
    rounding: ClassVar = dict.fromkeys(("kernel_evaluations", "updates", "passes"), 0.15) | {
        "support_vectors": 0.01,
        "objective": 1e-5,
    }
    ends: ClassVar = True

    C: Annotated[float, Gt(0), Lt(np.inf)] | None = None
    regularization: Annotated[float, Gt(0), Lt(np.inf)] | None = None
    bias: bool = False
    tolerance: Annotated[float, Gt(0), Lt(np.inf)] = 1e-3
    conjugate: bool = False

    def __post_init__(self) -> None:
        """Refuse parameters outside their range, and C together with lambda."""
        super().__post_init__()
        if self.C is not None and self.regularization is not None:
            raise ConfigError(f"{self.name}: give either C or regularization, not both: C = 1/(regularization n)")

    @classmethod
    def objective_of(cls, parameters: Mapping[str, Any]) -> str:
        """Return the problem's name."""
        return f"{L1_SVM}, with bias" if parameters.get("bias") else L1_SVM

    @classmethod
    def optimum_solver(cls, parameters: Mapping[str, Any], linear: bool) -> Optimum:  # noqa: ARG003
        """Return the same problem, to a smaller tolerance."""
        return kernel_optimum(parameters, bias=parameters["bias"])

    def weight(self, n: int) -> float:
        """Return C for n examples."""
        if self.regularization is not None:
            return weight_of_losses(self.regularization, n)
        return 1.0 if self.C is None else self.C

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:  # noqa: ARG002
        """Start at beta = 0; the algorithm has no random choices."""
        self.check(problem, kernel)
        n, signs = problem.n, problem.signs()
        gram = kernel_matrix.build(problem.train, problem.features, kernel, precision=self._precision(problem, kernel))
        variables = new_variables(signs, gram.diagonal, per_example(self.weight(n), problem) * gram.unit)
        work = Work(variables, new_active_rows(gram), new_direction(n), new_record(_PROGRESS))
        _select_working_set(work, self._way)
        return State(problem, signs, gram, work, new_counters())

    def shares_kernel_rows(self, problem: Problem, kernel: Kernel) -> bool:
        """Return whether single precision is enough."""
        return self._precision(problem, kernel) == "single"

    def _precision(self, problem: Problem, kernel: Kernel) -> RowPrecision:
        largest = float(np.max(per_example(self.weight(problem.n), problem)))
        precision = precision_of_rows(problem, kernel, largest, self.tolerance)
        if precision == "double" and self.conjugate and is_fixed_enough(problem, kernel, largest, self.tolerance):
            return "fixed"
        return precision

    def advance(self, state: State, until: Until) -> Status:
        """Change further pairs, or single coefficients without a bias; `until.presented` counts these changes."""
        status = self._advance(state, until)
        return status if np.isfinite(state.work.variables.minus_y_grad).all() else Status.DIVERGED

    def _advance(self, state: State, until: Until) -> Status:
        gram, work, counters, n = state.gram, state.work, state.counters, len(state.signs)
        period = min(n, _ITERATIONS_BETWEEN_SHRINKING) if self.bias or self.conjugate else UNLIMITED
        while self._violated(work) or work.variables.active_size[0] < n:
            if reached(counters, until):
                return Status.RUNNING
            if self._violated(work):
                _iterate(gram, work, counters, self._way, period, until)
            else:
                forget(work.direction)
                reconstruct_gradient(gram, work.variables, counters)
                _select_working_set(work, self._way)
            if counters[PRESENTED] % period == 0 and self._violated(work) and not work.progress[0].at_rounding:
                forget(work.direction)
                up_max = work.progress[0].up_max
                shrink(work.variables, work.rows, up_max, work.progress[0].low_min if self.bias else -up_max)
                _select_working_set(work, self._way)
        return Status.DONE

    @property
    def _way(self) -> Way:
        return Way(self.bias, self.conjugate, self.tolerance)

    def _violated(self, work: Work) -> bool:
        return bool(_violated(work.variables, work.progress[0], self.tolerance))

    def _has_ended(self, work: Work) -> bool:
        return not self._violated(work) and int(work.variables.active_size[0]) == len(work.variables.beta)

    def offset(self, state: State) -> float:
        """Return b: the mean -y grad of the free coefficients, else the middle of what b may be."""
        if not self.bias:
            return 0.0
        variables, p = state.work.variables, state.work.progress[0]
        free = (variables.up == 0) & (variables.low == 0)  # never shrunk away
        if free.any():
            return float(variables.minus_y_grad[free].mean())
        return (float(p.up_max) + float(p.low_min)) / 2

    def model(self, state: State) -> KernelModel:
        """Return the expansion over the examples with beta_i not 0."""
        problem, beta = state.problem, coefficients(state.work.variables, state.gram.unit)
        return KernelModel.of_support(problem.train, beta, state.gram.kernel, problem.features, self.offset(state))

    def measures(self, state: State) -> Measures:
        """Certify the model by its own dual variables."""
        problem, variables, kernel = state.problem, state.work.variables, state.gram.kernel
        C, beta = per_example(self.weight(problem.n), problem), coefficients(state.work.variables, state.gram.unit)
        if variables.active_size[0] < problem.n:  # the gradient of the others is old
            return certify_expansion(problem, kernel, beta, C, self.offset(state))
        kept_responses, has_ended = Kept(state.signs - variables.minus_y_grad, state.gram), self._has_ended(state.work)
        return certify_expansion(problem, kernel, beta, C, self.offset(state), kept_responses, has_ended)

    def note(self, state: State) -> str:
        """Return that rounding has ended it before the tolerance, where it has."""
        p = state.work.progress[0]
        return no_progress("a violation", float(p.up_max - p.low_min), self.tolerance) if p.at_rounding == ALL else ""


@jit
def _iterate(gram, work, counters, way, period, until):
    """Change variables until `until`, the stopping rule for those active, or the next multiple of the period."""
    variables, rows, direction, p = work.variables, work.rows, work.direction, work.progress[0]
    m, examples = variables.active_size[0], variables.examples
    while True:
        if m < len(examples):
            slot = slot_of_active(gram, rows, variables, p.i, counters)
            row_i = rows.kept[slot * m : (slot + 1) * m]
        else:
            row_i = gram.kept[row_slot(gram, examples[p.i], counters)]
        if way.bias or way.conjugate:
            is_conjugate = way.conjugate and counters[PRESENTED] >= len(examples)
            if way.bias and not is_conjugate:
                j = select_j(variables, p.i, row_i)
            else:
                j = select_conjugate_j(variables, direction, way.bias, p.i, row_i)
            row_j = row_i
            if j != p.i:
                if m < len(examples):
                    slot = slot_of_active(gram, rows, variables, j, counters)
                    row_j = rows.kept[slot * m : (slot + 1) * m]
                else:
                    row_j = gram.kept[row_slot(gram, examples[j], counters)]
            p.dual += step(variables, direction, way.bias, is_conjugate, p.i, j, row_i, row_j)
        else:
            p.dual += update_single(variables, p.i, row_i)
        _select_working_set(work, way)
        counters[PRESENTED] += 1
        counters[STEPS] += 1
        counters[UPDATES] += 1
        if counters[PRESENTED] % _ITERATIONS_BETWEEN_LOOKS == 0:
            _look_for_progress(variables, p)
        if not _violated(variables, p, way.tolerance) or counters[PRESENTED] % period == 0 or reached(counters, until):
            return


@jit
def _look_for_progress(variables, p):
    """Note whether D has not grown since the last look, or the violation may be rounding of the gradient alone."""
    squares, largest = 0.0, 0.0
    for k in range(len(variables.beta)):
        squares += variables.beta[k] * variables.beta[k]
        largest = max(largest, variables.diagonal[k])
    if p.dual <= p.dual_before or p.up_max - p.low_min <= _ROUNDING * np.sqrt(squares) * largest:
        p.at_rounding = ALL if variables.active_size[0] == len(variables.beta) else ACTIVE
    p.dual_before = p.dual


@jit(forceinline=True)
def _violated(variables, p, tolerance):
    """Return whether the conditions are violated by more than the tolerance, and progress can be made."""
    is_shrunk = variables.active_size[0] < len(variables.beta)
    return p.up_max - p.low_min > tolerance and not (p.at_rounding == ALL or (p.at_rounding == ACTIVE and is_shrunk))


@jit(forceinline=True)
def _select_working_set(work, way):
    """Find by how much the conditions are violated, and the variable to change next."""
    variables, p = work.variables, work.progress[0]
    p.i = _select_i(variables, p, way.conjugate and not way.bias)
    if not way.bias:
        p.up_max, p.low_min = max(p.up_max, -p.low_min), 0.0
        if not way.conjugate:
            p.i = _select_single(variables, way.tolerance)


@jit(forceinline=True)
def _select_i(variables, p, in_either):
    """Note the largest -y grad in I_up and the least in I_low; return the index of the first, or of the worse one."""
    m = variables.active_size[0]
    minus_y_grad, up, low = variables.minus_y_grad[:m], variables.up, variables.low
    up_max, minus_low_min, block, low_block = order(-np.inf), order(-np.inf), 0, 0
    for start in range(0, m, VARIABLES_AT_ONCE):
        g = minus_y_grad[start : start + VARIABLES_AT_ONCE]
        block_up, block_low, up_max_here, low_max_here = up[start:], low[start:], order(-np.inf), order(-np.inf)
        for k in range(len(g)):
            up_max_here = max(up_max_here, order(g[k] + block_up[k]))
            low_max_here = max(low_max_here, order(block_low[k] - g[k]))
        if up_max_here > up_max:
            up_max, block = up_max_here, start
        if low_max_here > minus_low_min:
            minus_low_min, low_block = low_max_here, start
    p.up_max, p.low_min = number(up_max), -number(minus_low_min)
    is_low = in_either and minus_low_min > up_max
    block, wanted = (low_block, minus_low_min) if is_low else (block, up_max)
    g, block_up, block_low = minus_y_grad[block : block + VARIABLES_AT_ONCE], up[block:], low[block:]
    position = VARIABLES_AT_ONCE
    for k in range(len(g)):
        violation = block_low[k] - g[k] if is_low else g[k] + block_up[k]
        position = min(position, k if order(violation) == wanted else VARIABLES_AT_ONCE)
    return block + min(position, len(g) - 1)  # of numbers that are not finite, none may be found


@jit
def _select_single(variables, tolerance):
    """Return the position where the best step gains most, of those that violate the conditions."""
    g, beta, diagonal = variables.minus_y_grad, variables.beta, variables.diagonal
    lower, upper, floor = variables.lower, variables.upper, variables.min_curvature
    best, block = np.int64(-1), 0
    for start in range(0, len(g), VARIABLES_AT_ONCE):
        gain, end = np.int64(-1), start + VARIABLES_AT_ONCE
        gs, bs, ls, us, ks = g[start:end], beta[start:], lower[start:], upper[start:], diagonal[start:]
        for k in range(len(gs)):
            gain = max(gain, _single_gain(gs[k], bs[k], ls[k], us[k], ks[k], tolerance, floor))
        if gain > best:
            best, block = gain, start
    gs, position = g[block : block + VARIABLES_AT_ONCE], VARIABLES_AT_ONCE
    bs, ls, us, ks = beta[block:], lower[block:], upper[block:], diagonal[block:]
    for k in range(len(gs)):
        is_best = _single_gain(gs[k], bs[k], ls[k], us[k], ks[k], tolerance, floor) == best
        position = min(position, k if is_best else VARIABLES_AT_ONCE)
    return block + min(position, len(gs) - 1)


@jit(forceinline=True, error_model="numpy")  # a check of the divisor would be in the way of vector code
def _single_gain(minus_y_grad, beta, lower, upper, curvature, tolerance, floor):
    """Return by how much D grows with the best step of one coefficient, as an integer that compares as it does."""
    step = minus_y_grad / (curvature if curvature > floor else floor)
    down, rise = lower - beta, upper - beta
    step = down if step < down else step
    step = rise if step > rise else step
    step = step if abs(minus_y_grad) > tolerance else 0.0
    gain = step * (minus_y_grad - 0.5 * step * curvature)
    return np.float64(gain).view(np.int64) & ALL_BUT_SIGN  # below 0 by rounding

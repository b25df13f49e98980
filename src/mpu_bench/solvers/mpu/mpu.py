"""The margin perceptron with unlearning: soft or hard margin, any kernel, no bias.

    soft margin   min_w  J(w) = 1/2 ||w||^2 + C sum_i max(0, 1 - y_i w.x_i)
    hard margin   max_w  min_i y_i w.x_i / ||w||

Panagiotakopoulos, Tsampouka: "The Margin Perceptron with Unlearning", ICML 2010, Algorithm 1. With z_i = y_i x_i,
R = max ||z_i||, integers 0 <= I_i <= I and a = sum_i I_i z_i (6), presenting z_i changes a and I_i by (2)

    a += delta z_i,   I_i += delta,   delta = +1 while a.z_i <= b and I_i < I            (8), learning
                                      delta = -1 while a.z_i >= b + db and I_i > 0       (8), unlearning

until no z_i changes them; db = 3 R^2, above R^2 as (7) asks. The solution is w = a / b.

Soft margin: the dual variables are I_i / b, C = I / b, and the accuracy eps wanted before running gives I (Remark 4).
The certificate after running is (24).

Hard margin: I is infinite and C is not used. Before running, the margin is certain to be above a fraction
1 / (1 + min(db, b + R^2) / b) of the maximum (11). As (b + R^2) / b is above 1, for eps < 1 the fraction 1 / (1 + eps)
takes db / b = eps. The certificate after running is (12), which at convergence is above that fraction as well, by (19).

Soft margin, where the loss of example i has a weight s_i: its C is s_i C and its bound s_i I, with the same b, and (23)
and (24) hold as they are. s_i I need not be an integer: the last update before this bound, or before 0, is then less
than one and counts as one, so that (22) has sum_i s_i for n and is multiplied by the largest ceil(s_i I) / (s_i I).

Section 4: an example is learned or unlearned as often as (8) allows at once, a multiple update. All examples are
presented in a new random order; those with a.z_i <= c-bar b or I_i > 0 form the first active set, and those of the
first that change and keep I_i > 0 the second, which is presented until nothing changes or ten times. After four rounds
over the first set, or one without a change, all examples are presented again; if then none changes, it is done.

That is for a fixed number of rounds, in one order. *Adaptive* rounds are no part of the paper: every round has a new
random order, and what it has seen of the gap between primal and dual (below) decides. On sparse rows of very many
columns they need a third to a fifth of the presentations, on few columns three quarters. A second set is left when that
gap is half of what its first set had, or after twenty rounds; a first set when it is less than what is wanted of all
examples, and then the certificate may end it.

Counted: one inner product per example presented and n per after-running certificate, or with a kernel n kernel
evaluations per change and nothing else; a multiple update is one step and as many updates, up to 2^61 in all.

Deviations, all in how a run ends; they are looked at after the presentation of all examples:

- *The certificate* (24), or (12) in hard margin, ends it when good enough, as in section 4, but is computed only where
  an estimate says that it may be. Soft margin: each example presented adds I max(0, b - p_i) - I_i (b - p_i) to the gap
  between primal and dual. Hard margin: the smallest p_i = a.z_i seen stands for the smallest there is.
- *There is no margin* (hard margin): a / sum_i I_i lies in the convex hull of the z_i, so no vector of norm one has
  all its products with the z_i above ||a|| / sum_i I_i; once that is below the smallest margin asked for, the answer
  is known. Algorithm 1 would not end. In soft margin a zero z_i, whose p_i no update changes, starts with I_i = I.
- A number is no longer finite.

All I_i are doubles that hold integers, or s_i I less an integer, exact below 2^53. Responses p_i, linear and with a
kernel: responses.py.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from annotated_types import Ge, Gt, Lt
from numpy.typing import NDArray

from mpu_bench.core.counters import (
    INNER_PRODUCTS,
    KERNEL_EVALUATIONS,
    PRESENTED,
    STEPS,
    UPDATES,
    new_counters,
    reached,
)
from mpu_bench.core.jit import jit
from mpu_bench.core.models import Model
from mpu_bench.core.numeric import new_record
from mpu_bench.core.prefetch import EXAMPLES_AHEAD, prefetch
from mpu_bench.core.problem import Problem
from mpu_bench.core.rng import rng, shuffle
from mpu_bench.core.rows import squared_norms
from mpu_bench.core.solver import Measures, Optimum, Solver, Status, Until
from mpu_bench.errors import ConfigError
from mpu_bench.kernels import Kernel
from mpu_bench.solvers.certificates import L1_SVM, PerExample, certify, of_example, per_example
from mpu_bench.solvers.expansions import response_rounding
from mpu_bench.solvers.mpu.hard_margin import check_shortest, guaranteed_fraction, obvious_cause, update_bound
from mpu_bench.solvers.mpu.responses import (
    LinearResponses,
    Responses,
    anew,
    hinge_sum_and_min,
    is_certified,
    model_of,
    prefetch_response,
    response,
    responses_to_zero,
    squared_norm_of_a,
    update,
    without_rows,
)

_MAX_UPDATES = np.int64(2**61)  # that are counted
_C_BAR = 1.01  #: an example with p_i <= c-bar b joins the first active set
_FIRST_ROUNDS = 3  #: N_ep1: the first set is presented once more than this, then all examples are
_SECOND_ROUNDS = 10  #: N_ep2: the second set is presented so often at most; twice as often in adaptive rounds

_ACTIVE_PART = 0.7  # of the gap wanted ends adaptive rounds over a set: the gap over all examples is larger
_SECOND_PART = 0.5  # of the gap of a first set ends adaptive rounds over its second
_ESTIMATE_FACTOR = 1.5  # the certificate is computed where its estimate is at most so many times what is wanted
ALL, FIRST, SECOND = 0, 1, 2  #: the sets of examples

PROGRESS = np.dtype(
    [
        ("presented_set", "i8"),  # ALL, FIRST or SECOND
        ("position", "i8"),  # in that set
        ("changes", "i8"),  # steps of this round
        ("first_rounds", "i8"),  # over the first set since all examples
        ("second_rounds", "i8"),  # over the second set since the first
        ("status", "i8"),
        ("no_margin", "i8"),  # whether the run ended because no margin above the smallest one exists
        ("gap", "f8"),  # primal - dual as seen in this round, times b^2
        ("first_gap", "f8"),  # that of the latest round over the first set
        ("dual", "f8"),  # times b^2
        ("smallest", "f8"),  # p_i of this round
    ]
)


class Thresholds(NamedTuple):
    """The constants of the update conditions (8), and of the end."""

    I_max: float  #: I, the bound on every I_i; infinite in hard margin
    b: float
    unlearn_at: float  #: b + db; infinite for no unlearning
    stop: float  #: suboptimality, or shortfall of the maximum margin, that ends a run; 0 for convergence
    smallest_margin: float  #: hard margin: a maximum margin below this ends a run
    adaptive: bool = False

    @property
    def delta_b(self) -> float:
        """The paper's db."""
        return self.unlearn_at - self.b


def soft_update_bound(thresholds: Thresholds, R2: float, weights: NDArray[np.float64]) -> float | None:
    """Return how many updates Theorem 2 allows in soft margin, (22); None of zeros, or where b has no digit for db."""
    if not thresholds.delta_b > R2:
        return None
    reach, bounds = 2.0 * thresholds.b + thresholds.delta_b, thresholds.I_max * weights
    partial = float((np.ceil(bounds) / bounds).max())  # updates, in units of what they change
    return float(weights.sum()) * thresholds.I_max * partial * reach / (thresholds.delta_b - R2)


class State(NamedTuple):
    """What the algorithm works on; n examples."""

    thresholds: Thresholds
    responses: Responses
    squared_norms: NDArray[np.float64]  #: ||z_i||^2 (n,)
    weights: PerExample  #: s_i, what I is multiplied by
    multiplicities: NDArray[np.float64]  #: I_i (n,)
    sets: NDArray[np.uint32]  #: (3, n): all examples and the two active sets
    sizes: NDArray[np.int64]  #: (3,) of the sets
    generator: NDArray[np.uint64]
    progress: NDArray[Any]  #: a record of `PROGRESS`
    counters: NDArray[np.int64]


@dataclass(frozen=True)
class ThresholdPerceptron(Solver):
    """Algorithm 1 with active sets and multiple updates, for the thresholds of a subclass."""

    kernels: ClassVar = "any"
    ends: ClassVar = True

    @abstractmethod
    def thresholds(self, R2: float, heaviest: float) -> Thresholds:
        """Choose the constants for the accuracy wanted; ``R2`` is max ||z_i||^2, ``heaviest`` the largest weight."""

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Start at a = 0; a hard margin ends at once where a look at the rows shows that there is none."""
        self.check(problem, kernel)
        responses, norms = responses_to_zero(problem, kernel)
        n, weights = problem.n, per_example(1.0, problem)
        thresholds = self.thresholds(float(norms.max()), float(np.max(weights)))
        multiplicities, no_margin = np.zeros(n), False
        if np.isfinite(thresholds.I_max):
            multiplicities = np.where(norms == 0.0, thresholds.I_max * weights, 0.0)
        else:
            check_shortest(self.accuracy, thresholds.b, norms)  # type: ignore[attr-defined]
            no_margin = bool(obvious_cause(problem.train, responses.signs, norms, problem.features))
        progress = new_record(
            PROGRESS,
            status=Status.DONE if no_margin else Status.RUNNING,
            no_margin=no_margin,
            dual=thresholds.b * multiplicities.sum(),
            smallest=np.inf,
        )
        sets, sizes, stream = np.zeros((3, n), np.uint32), np.array([n, 0, 0]), rng(seed, self.name)
        sets[ALL] = np.arange(n)
        shuffle(stream, sets[ALL], n)
        return State(
            thresholds, responses, norms, weights, multiplicities, sets, sizes, stream, progress, new_counters()
        )

    def advance(self, state: State, until: Until) -> Status:
        """Present further examples."""
        return Status(_advance(state._replace(responses=without_rows(state.responses)), until))

    def model(self, state: State) -> Model:
        """Return w = a / b; in hard margin, too: y_i w.x_i is above 1 for every example at convergence."""
        return model_of(state.responses, state.multiplicities, state.thresholds.b or 1.0)  # 0 if all rows are zero

    def measures(self, state: State) -> Measures:
        """Certify the margin of w by (12), if the kernel is positive semi-definite; no fraction while it is below 0."""
        b, delta_b, R2 = state.thresholds.b, state.thresholds.delta_b, float(state.squared_norms.max())
        norm = np.sqrt(max(squared_norm_of_a(state.responses, state.multiplicities), 0.0))
        if norm == 0.0:
            return Measures()
        wanted = min(guaranteed_fraction(b, delta_b, R2), 1.0 / (1.0 + state.thresholds.stop))
        margin = float(hinge_sum_and_min(without_rows(state.responses), b, state.weights)[1] / norm)
        if not is_certified(state.responses):
            return Measures(margin=margin)
        if margin <= 0.0:
            return Measures(margin=margin, margin_fraction_wanted=wanted)
        return Measures(
            margin=margin,
            margin_fraction=margin / _largest_margin(state),  # (12)
            margin_fraction_wanted=wanted,
            update_bound=update_bound(b, delta_b, R2, margin),
        )

    def note(self, state: State) -> str:
        """Return that the data are not separable, and why, where a run for a hard margin ended with that answer."""
        if not state.progress[0].no_margin:
            return ""
        responses = state.responses
        if cause := obvious_cause(responses.rows, responses.signs, state.squared_norms, responses.features):
            return f"the data are not separable: {cause}"
        if not is_certified(responses):
            return "it ended without a margin; as the kernel is not positive semi-definite, there may be one"
        largest = _largest_margin(state)
        return (
            f"the data are not separable with a margin above {largest:.2g}"
            f" ({largest / np.sqrt(state.squared_norms.max()):.2g} of the longest example), certified"
        )


@dataclass(frozen=True)
class MPU(ThresholdPerceptron):
    """The margin perceptron with unlearning.

    Attributes
    ----------
    C : float
        The weight of the losses; not used with ``margin: hard``.
    accuracy : float
        epsilon, guaranteed before running: at convergence J is at most 1 + epsilon times the optimum, or the margin
        at least 1 / (1 + epsilon) of the maximum.
    stop : float
        epsilon_stop: end as soon as the after-running certificate guarantees as much for this accuracy; 0 runs to
        convergence.
    margin : str
        ``soft``: the L1-SVM. ``hard``: the maximum margin, for data that are separable.
    smallest_margin : float
        With ``margin: hard``, in units of R: data whose maximum margin is certainly below this end the run as not
        separable.
    adaptive : bool
        With ``margin: soft``: whether the gap that a round sees decides how often active sets are presented, in random
        orders, and not their number alone.
    """

    name = "mpu"
    paper = "mpu-2010"
    weighted: ClassVar = True
    optimum: ClassVar = "optimum"

    C: Annotated[float, Gt(0)] = 1.0
    accuracy: Annotated[float, Gt(0), Lt(1)] = 1e-5
    stop: Annotated[float, Ge(0)] = 1e-4
    margin: Literal["soft", "hard"] = "soft"
    smallest_margin: Annotated[float, Gt(0), Lt(1)] = 1e-6
    adaptive: bool = False

    def check(self, problem: Problem, kernel: Kernel) -> None:
        """Refuse what a solver refuses, weights for a hard margin, and those that C times them does not allow."""
        super().check(problem, kernel)
        if self.margin == "hard" and problem.weights is not None:
            raise ConfigError("mpu: a hard margin has no losses to weigh; take margin: soft, or no weights")
        per_example(self.C, problem)

    def thresholds(self, R2: float, heaviest: float) -> Thresholds:
        """Choose I and b for the accuracy wanted; raise ConfigError for an I beyond 2^53, or a b that is too large."""
        delta_b = 3.0 * R2  # above R^2, (7)
        if self.margin == "hard":
            b = delta_b / self.accuracy  # (11)
            return Thresholds(np.inf, b, b + delta_b, self.stop, self.smallest_margin * float(np.sqrt(R2)))
        I_max = float(self.C * delta_b * (2.0 + self.accuracy) / self.accuracy + 1.0)  # Remark 4
        if I_max * heaviest > 2.0**53:
            raise ConfigError(
                f"C is {self.C:g}, the largest weight {heaviest:g} and ||x||^2 of the longest training row {R2:.1e},"
                f" for which no double holds the I = {I_max * heaviest:.1e} of accuracy {self.accuracy}; scale the"
                " features down, or take a smaller C or smaller weights"
            )
        I_max = float(np.floor(I_max))
        b = I_max / self.C
        if not 2.0**53 * b < np.inf:
            raise ConfigError(
                f"C is {self.C:g}, for which no double holds sums of b = I / C = {b:.1e}; take a larger C"
            )
        return Thresholds(I_max, b, b + delta_b, self.stop, 0.0, self.adaptive)

    def measures(self, state: State) -> Measures:
        """Certify w = a / b: its objective by the dual variables I_i / b (24), or its margin (12)."""
        if self.margin == "hard":
            return super().measures(state)
        b, responses, multiplicities = state.thresholds.b, state.responses, state.multiplicities
        weights = np.broadcast_to(state.weights, len(multiplicities))
        limit = soft_update_bound(state.thresholds, float(state.squared_norms.max()), weights)
        if isinstance(responses, LinearResponses):
            w, alphas = responses.a / b, multiplicities / b
            C = self.C * state.weights
            certified = certify(responses.rows, responses.signs, state.squared_norms, w, alphas, C)
            return certified._replace(update_bound=limit)
        exact, total = anew(responses, multiplicities), float(multiplicities.sum())
        squared = float(squared_norm_of_a(exact, multiplicities))
        loss, smallest = hinge_sum_and_min(exact, b, state.weights)
        kernel, norms = responses.gram.kernel, squared_norms(responses.rows)
        off = float(response_rounding(norms, kernel, responses.features, multiplicities).max()) / b
        certified = Measures.certified(
            (squared / 2 / b + self.C * float(loss)) / b,
            (total - squared / 2 / b) / b,
            off * (total / 2 / b + self.C * float(weights.sum())),
            margin=float(smallest / np.sqrt(squared)) if squared > 0 else None,
            update_bound=limit if is_certified(responses) else None,
        )  # (24)
        return certified if is_certified(responses) else certified._replace(dual_objective=None, gap=None)

    @classmethod
    def objective_of(cls, parameters: Mapping[str, Any]) -> str:
        """Return the problem's name; a hard margin has no objective."""
        return "" if parameters.get("margin") == "hard" else L1_SVM

    @classmethod
    def optimum_solver(cls, parameters: Mapping[str, Any], linear: bool) -> Optimum | None:
        """Return that of the linear L1-SVM, for a soft margin."""
        return super().optimum_solver(parameters, linear and parameters["margin"] == "soft")


@jit
def _advance(state, until):
    progress = state.progress[0]
    while progress.status == Status.RUNNING and not reached(state.counters, until):
        _present(state, until)
        while progress.status == Status.RUNNING and progress.position == state.sizes[progress.presented_set]:
            _end_round(state)
    return progress.status


@jit(error_model="numpy")
def _present(state, until):
    """Go on with the round over a set, the for loop of Algorithm 1, and collect the active set below it."""
    responses, norms, multiplicities = state.responses, state.squared_norms, state.multiplicities
    weights, b, unlearn_at = state.weights, state.thresholds.b, state.thresholds.unlearn_at
    progress, sizes, counters = state.progress[0], state.sizes, state.counters
    presented_set, first = progress.presented_set, progress.position
    examples, collected = state.sets[presented_set], state.sets[min(presented_set + 1, SECOND)]
    last = min(first + until.presented - counters[PRESENTED], sizes[presented_set])
    size = np.uint32(0) if presented_set == SECOND else np.uint32(sizes[presented_set + 1])
    gap, dual, smallest = progress.gap, progress.dual, progress.smallest
    steps, updates = 0, np.int64(0)  # which a double does not count beyond 2^53
    I_of_all, is_hard = state.thresholds.I_max, np.isinf(state.thresholds.I_max)
    near, end = _C_BAR * b, np.uint32(len(examples) - 1)
    for position in range(np.uint32(first), np.uint32(last)):
        soon = examples[min(position + EXAMPLES_AHEAD, end)]
        prefetch_response(responses, soon)
        prefetch(norms, soon)
        prefetch(multiplicities, soon)
        i = examples[position]
        p_i, I_i, I_max, delta = response(responses, i), multiplicities[i], I_of_all * of_example(weights, i), 0.0
        # this example's part of primal - dual
        gap += (0.0 if is_hard else I_max) * max(b - p_i, 0.0) - I_i * (b - p_i)
        smallest = min(smallest, p_i)
        if p_i <= b and I_i < I_max:  # learn, (8), as often as section 4 allows at once
            delta = min(np.floor((b - p_i) / norms[i]) + 1.0, I_max - I_i)
        elif p_i >= unlearn_at and I_i > 0.0:  # unlearn, (8)
            delta = -min(np.floor((p_i - unlearn_at) / norms[i]) + 1.0, I_i)
        if delta != 0.0:
            update(responses, i, delta, counters)  # (2)
            I_i += delta
            multiplicities[i] = I_i
            steps += 1
            updates = min(updates + np.int64(min(np.ceil(abs(delta)), 2.0**61)), _MAX_UPDATES)
            dual += delta * (b - p_i - delta * norms[i] / 2.0)
        if presented_set == ALL:
            collects = p_i <= near or I_i > 0.0
        else:
            collects = presented_set == FIRST and delta != 0.0 and I_i > 0.0
        if collects:
            collected[size] = i
            size += np.uint32(1)
        if counters[KERNEL_EVALUATIONS] >= until.kernel_evaluations:
            last = np.int64(position) + 1
            break
    if presented_set != SECOND:
        sizes[presented_set + 1] = size
    progress.position = last
    progress.changes += steps
    progress.gap, progress.dual, progress.smallest = gap, dual, smallest
    counters[PRESENTED] += last - first
    counters[INNER_PRODUCTS] += (last - first) * responses.products
    counters[STEPS] += steps
    counters[UPDATES] = min(counters[UPDATES] + updates, _MAX_UPDATES)


@jit
def _end_round(state):
    """Choose the set that is presented next, or stop (section 4)."""
    progress, adaptive = state.progress[0], state.thresholds.adaptive
    changed = progress.changes > 0
    near = adaptive and progress.gap <= _ACTIVE_PART * state.thresholds.stop * progress.dual
    if progress.presented_set == ALL:
        if not np.isfinite(progress.dual):
            progress.status = Status.DIVERGED
        elif not changed or _ends_early(state):
            progress.status = Status.DONE
        progress.first_rounds = 0
        following = FIRST
    elif progress.presented_set == FIRST:
        if adaptive and _ends_early(state):
            progress.status = Status.DONE
        progress.first_rounds += 1
        progress.second_rounds, progress.first_gap = 0, progress.gap
        following = SECOND if changed and not near and progress.first_rounds <= _FIRST_ROUNDS else ALL
    else:
        progress.second_rounds += 1
        enough = near or (adaptive and progress.gap <= _SECOND_PART * progress.first_gap)
        limit = 2 * _SECOND_ROUNDS if adaptive else _SECOND_ROUNDS
        following = SECOND if changed and not enough and progress.second_rounds < limit else FIRST
    if progress.status == Status.RUNNING:
        _begin_round(state, following)


@jit
def _begin_round(state, following):
    progress = state.progress[0]
    progress.presented_set, progress.position, progress.changes = following, 0, 0
    progress.gap, progress.smallest = 0.0, np.inf
    if following != SECOND:
        state.sizes[following + 1] = 0
    if following == ALL or state.thresholds.adaptive:
        shuffle(state.generator, state.sets[following], state.sizes[following])


@jit
def _ends_early(state):
    """Return whether the certificate holds, or there is no margin."""
    thresholds, total = state.thresholds, state.multiplicities.sum()
    if not np.isinf(thresholds.I_max):
        return thresholds.stop > 0.0 and _gap_holds(state)
    norm = np.sqrt(max(squared_norm_of_a(state.responses, state.multiplicities), 0.0))
    if norm < thresholds.smallest_margin * total:
        state.progress[0].no_margin = 1
        return True
    return thresholds.stop > 0.0 and _margin_holds(state, norm, total)


@jit
def _gap_holds(state):
    """Return whether the after-running accuracy (24) is at most ``stop``; computed where it probably is."""
    thresholds, progress = state.thresholds, state.progress[0]
    if progress.gap > _ESTIMATE_FACTOR * thresholds.stop * progress.dual:
        return False
    half = max(squared_norm_of_a(state.responses, state.multiplicities), 0.0) / 2.0
    dual = thresholds.b * state.multiplicities.sum() - half
    loss, _ = _survey(state)
    return (half + thresholds.I_max * loss) / dual - 1.0 <= thresholds.stop  # (24)


@jit
def _margin_holds(state, norm, total):
    """Return whether the fraction (12) is at least 1 / (1 + stop); computed where it probably is."""
    stop = state.thresholds.stop
    if state.progress[0].smallest * total * (1.0 + _ESTIMATE_FACTOR * stop) < norm * norm:
        return False
    _, smallest = _survey(state)
    return smallest * total * (1.0 + stop) >= norm * norm  # (12)


@jit
def _survey(state):
    """Evaluate the losses and the smallest response over all examples, counted."""
    state.counters[INNER_PRODUCTS] += len(state.multiplicities) * state.responses.products
    return hinge_sum_and_min(state.responses, state.thresholds.b, state.weights)


def _largest_margin(state: State) -> float:
    """Return ||a|| / sum_i I_i, which no margin exceeds."""
    squared = squared_norm_of_a(anew(state.responses, state.multiplicities), state.multiplicities)
    return float(np.sqrt(max(squared, 0.0)) / state.multiplicities.sum())

"""Several classes by any solver that separates two: one against one, or one against the rest.

One against one trains a subproblem for every pair of classes, on the examples of these two, which are copied for as
long as their subproblem is trained; one against the rest trains a subproblem for every class on all examples. With two
classes there is one subproblem either way, and nothing else changes. How their models vote: core/voting.py.

The subproblems are trained one after the other, each to its own end. Counts and seconds are sums, so passes are the sum
of the examples that they have seen by n; objective and dual objective are the sums over the subproblems, known once the
last has begun. Of a subproblem that is trained only its model is kept: of small ones, which may be many, some are
evaluated at once, off the clock. Until all subproblems have begun, those that have not are left out of the vote.

Kernel rows are not shared between subproblems, though one against one computes the values within a class for every pair
it is in: it would save little. Measured with C = 8 and gamma = 2 / (mean squared distance) on digits (usps, mnist) and
letters, in whole or in part: what computing kernel values takes of the seconds, what part of the values an earlier
subproblem had computed, and what even free sharing would save at most

    cvm    4 to 6%     41% (mnist)      2% of the seconds
    mfw    13 to 22%   41% (mnist)      9%
    fw     12 to 22%   42% (mnist)      9%
    smo    12 to 43%   25 to 38%        15% (usps; mnist 6%, letters 4%)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core import answers
from mpu_bench.core.clock import untimed
from mpu_bench.core.counters import KERNEL_EVALUATIONS, PRESENTED, new_counters, reached
from mpu_bench.core.models import KernelModel, Model
from mpu_bench.core.problem import Problem, StreamedProblem
from mpu_bench.core.rows import take
from mpu_bench.core.solver import FACTS, Measures, Solver, Status, Until
from mpu_bench.core.voting import REST, combined
from mpu_bench.errors import DataError
from mpu_bench.kernels import Kernel

Reduction = Literal["one-against-one", "one-against-rest"]
_NOTES = 2  # on subproblems, beside how many others there are


class Subproblem(NamedTuple):
    """One that is being trained, or has come to an end and is not evaluated."""

    solver: Solver
    state: Any
    n: int  #: of its examples
    examples: NDArray[np.intp] | None  #: which of all these are; None where it has all

    def model(self) -> Model:
        """Return its model, whose vectors are named by their rows among all."""
        model = self.solver.model(self.state)
        if self.examples is None or not isinstance(model, KernelModel) or model.support is None:
            return model
        return replace(model, support=self.examples[model.support])

    def trained(self) -> Trained:
        """Evaluate it."""
        solver, state = self.solver, self.state
        measures, note = answers.measures(solver, state), answers.note(solver, state)
        return Trained(self.model(), measures, note, (int(state.counters[PRESENTED]), self.n), state.counters)


class Trained(NamedTuple):
    """What is left of a subproblem."""

    model: Model
    measures: Measures
    note: str
    presented: tuple[int, int]  #: how many examples, and how many it has
    counters: NDArray[np.int64]


@dataclass
class State:
    """p subproblems, of which one is being trained."""

    problem: Problem
    kernel: Kernel
    seed: int
    pairs: NDArray[np.int32]  #: (p, 2) the two classes of each subproblem, `REST` for all others
    trained: list[Trained]  #: those that are evaluated
    ended: list[Subproblem]  #: after these, those that are not
    presented: list[tuple[int, int]]  #: to each of both, how many examples, and how many it has
    status: Status  #: the least of theirs
    subproblem: Subproblem | None  #: the one that is being trained, None at the end
    counted: NDArray[np.int64]  #: by the subproblems that have come to an end
    counters: NDArray[np.int64]  #: by all


@dataclass(frozen=True)
class Multiclass(Solver):
    """A solver of several classes by one of two.

    Attributes
    ----------
    solver : Solver
        That separates two classes.
    reduction : {"one-against-one", "one-against-rest"}
    """

    classes: ClassVar = "any"

    solver: Solver
    reduction: Reduction

    def __post_init__(self) -> None:
        """Copy the wrapped solver's facts."""
        for name in FACTS:
            if name != "classes":
                object.__setattr__(self, name, getattr(self.solver, name))

    def check(self, problem: Problem, kernel: Kernel) -> None:
        """Refuse what the solver cannot train on, and classes without examples.

        Raises
        ------
        ConfigError, DataError
            As `Solver.check`, or if a class has no example, or if pairs of classes would have to be chosen out of a
            stream.
        """
        super().check(problem, kernel)
        streamed = isinstance(problem, StreamedProblem)
        if streamed and self.reduction == "one-against-one":
            raise DataError(f"{problem.name}: one-against-one cannot split a stream; use one-against-rest")
        for name, count in zip(problem.classes, _counts(problem), strict=True):
            if count == 0:
                raise DataError(
                    f"{problem.name}: class '{name}' has no training example; {self.reduction} needs one of every"
                    " class: remove the class from the data, or add examples"
                )

    def shares_kernel_rows(self, problem: Problem, kernel: Kernel) -> bool:
        """Return whether its solver does, and each subproblem has all rows."""
        return self.reduction == "one-against-rest" and self.solver.shares_kernel_rows(problem, kernel)

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Start the first subproblem."""
        self.check(problem, kernel)
        state = self.divided(problem, kernel, seed)
        self._begin(state)
        return state

    def divided(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Return the state before any subproblem begins."""
        pairs = np.array(list(self._pairs(len(problem.classes))), np.int32)
        counters = new_counters(), new_counters()
        return State(problem, kernel, seed, pairs, [], [], [], Status.DONE, None, *counters)

    def subproblem(self, state: State, number: int, made_for: Callable[[int], Solver] | None = None) -> Subproblem:
        """Start a subproblem, whatever the others do; the state stays as it is.

        Parameters
        ----------
        state : State
        number : int
            Of its pair.
        made_for : function of int, optional
            Makes its solver from the number of its examples, where a parameter hangs on that.
        """
        first, second = map(int, state.pairs[number])
        if first == REST:
            part, examples = one_against_rest(state.problem, second), None
        else:
            part, examples = _pair(state.problem, first, second)
        solver = self.solver if made_for is None else made_for(part.n)
        return Subproblem(solver, solver.start(part, state.kernel, state.seed), part.n, examples)

    def _pairs(self, classes: int) -> list[tuple[int, int]]:
        if classes == 2 or self.reduction == "one-against-one":
            return list(combinations(range(classes), 2))
        return [(REST, c) for c in range(classes)]

    def add(self, state: State, trained: Trained) -> None:
        """Take over the next subproblem, which was trained apart (`subproblem`)."""
        state.trained.append(trained)
        state.presented.append(trained.presented)
        state.counters += trained.counters

    def _begin(self, state: State) -> None:
        """Start the subproblem after those that have come to an end."""
        state.subproblem = None
        if (number := len(state.presented)) < len(state.pairs):
            state.subproblem = self.subproblem(state, number)
            state.counters[:] = state.counted + state.subproblem.state.counters

    def advance(self, state: State, until: Until) -> Status:
        """Go on with the subproblem at work, and after it with the next."""
        while (subproblem := state.subproblem) is not None:
            if self.sliceable and reached(state.counters, until):
                return Status.RUNNING
            its = Until(
                until.presented - int(state.counted[PRESENTED]),
                until.kernel_evaluations - int(state.counted[KERNEL_EVALUATIONS]),
            )
            status = answers.advance(subproblem.solver, subproblem.state, its)
            state.counters[:] = state.counted + subproblem.state.counters
            if status is Status.DIVERGED:
                return status
            if status is Status.DONE or not self.sliceable:
                self._end(state, subproblem, status)
        # an external solver that came to its own limit is not done
        return state.status

    def _end(self, state: State, subproblem: Subproblem, status: Status) -> None:
        state.presented.append((int(subproblem.state.counters[PRESENTED]), subproblem.n))
        state.status = min(state.status, status)
        state.ended.append(subproblem)
        state.counted[:] = state.counters
        if sum(ended.n for ended in state.ended) >= state.problem.n or len(state.presented) == len(state.pairs):
            with untimed():
                state.trained += [ended.trained() for ended in state.ended]
                state.ended.clear()
        self._begin(state)

    def model(self, state: State) -> Model:
        """Return the vote of the subproblems that have begun; of two classes, the one subproblem's model."""
        models = [trained.model for trained in state.trained] + [subproblem.model() for subproblem in _begun(state)]
        classes = len(state.problem.classes)
        return models[0] if classes == 2 else combined(models, state.pairs[: len(models)], classes)

    def measures(self, state: State) -> Measures:
        """Return the sums of objectives, once all subproblems have begun; of two classes, the measures of the one."""
        measures = [trained.measures for trained in state.trained]
        if len(measures) + len(begun := _begun(state)) < len(state.pairs):
            return Measures()
        measures += [answers.measures(subproblem.solver, subproblem.state) for subproblem in begun]
        if len(state.pairs) == 1:
            return measures[0]
        objective = _sum([part.objective for part in measures])
        dual = _sum([part.dual_objective for part in measures])
        if objective is None or dual is None:
            return Measures(objective, dual)
        return Measures.certified(objective, dual)

    def note(self, state: State) -> str:
        """Return the first notes on subproblems, each once, and how many others there are."""
        notes = [trained.note for trained in state.trained]
        notes += [answers.note(subproblem.solver, subproblem.state) for subproblem in _begun(state)]
        distinct = list(dict.fromkeys(filter(None, notes)))
        others = [f"{len(distinct) - _NOTES} other notes on subproblems"] if len(distinct) > _NOTES else []
        return "; ".join(distinct[:_NOTES] + others)

    def presented(self, state: State) -> list[tuple[int, int]]:
        """Return how many examples each subproblem that has begun was presented, and how many it has."""
        at_work = state.subproblem
        now = [] if at_work is None else [(int(at_work.state.counters[PRESENTED]), at_work.n)]
        return state.presented + now


def _begun(state: State) -> list[Subproblem]:
    """Return the subproblems that have begun and are not evaluated."""
    return state.ended if state.subproblem is None else [*state.ended, state.subproblem]


def _counts(problem: Problem) -> Sequence[int]:
    """Return the number of examples of every class."""
    if isinstance(problem, StreamedProblem):
        return problem.counts
    return [int(count) for count in np.bincount(problem.labels, minlength=len(problem.classes))]


def _sum(numbers: list[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def _pair(problem: Problem, first: int, second: int) -> tuple[Problem, NDArray[np.intp] | None]:
    """Return a copy of the examples of two classes, the second the positive one, and which they are; None: all."""
    if len(problem.classes) == 2:
        return problem, None
    chosen = np.flatnonzero((problem.labels == first) | (problem.labels == second))
    names = problem.classes[first], problem.classes[second]
    part = replace(
        problem.without_test(),
        name=f"{problem.name} ({' against '.join(names)})",
        train=take(problem.train, chosen),
        labels=(problem.labels[chosen] == second).astype(np.int32),
        weights=None if problem.weights is None else problem.weights[chosen],
        classes=names,
        fingerprint=f"{problem.fingerprint} {first} {second}",
    )
    return part, chosen


def one_against_rest(problem: Problem, positive: int) -> Problem:
    """Return a view of all examples as those of a class, and the others."""
    changed: dict[str, Any] = {
        "name": f"{problem.name} ({problem.classes[positive]} against the rest)",
        "labels": (problem.labels == positive).astype(np.int32),
        "classes": ("the rest", problem.classes[positive]),
        "fingerprint": f"{problem.fingerprint} {positive}",
    }
    if isinstance(problem, StreamedProblem):
        make = problem.make

        def relabeled(number: int) -> tuple[Any, NDArray[np.int32]]:
            rows, labels = make(number)
            return rows, (labels == positive).astype(np.int32)

        counts = problem.counts
        changed |= {"make": relabeled, "counts": (sum(counts) - counts[positive], counts[positive])}
    return replace(problem.without_test(), **changed)

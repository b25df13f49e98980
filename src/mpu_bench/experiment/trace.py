"""Advance one solver on one problem and keep its trace: checkpoints, counts, training time and what disturbed it.

The clock runs only while the solver starts or advances; models are evaluated while it stands.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from mpu_bench.config.schema import Checkpoints, Stop
from mpu_bench.core import answers, counters
from mpu_bench.core.clock import Clock
from mpu_bench.core.models import FourierModel, Model, with_threshold
from mpu_bench.core.problem import Problem, StreamedProblem
from mpu_bench.core.solver import Solver, Status, Until
from mpu_bench.errors import SolverError
from mpu_bench.experiment.messages import Aside, Progress
from mpu_bench.kernels import Kernel
from mpu_bench.models.evaluation import errors_by_class
from mpu_bench.quantities import Ending, Record, RunStatus

Labels = np.ndarray[Any, Any]  #: class indices, int32

_SLICE_SECONDS = 0.1  # a slice lasts about this long, so that limits and interruptions are met in time
_SECONDS_BETWEEN_NEWS = 0.02  # of progress, at least: a run of milliseconds has many slices, and nobody sees them all
_FIRST_SLICE = 1  # example, while the pace is not yet known: one of a solver that searches all may take long
_MAX_CHECKPOINTS = 25_000  # more than a thousand in every decade up to 2^61 examples
_ROUNDING = 1e-6  # of an objective out of kernel values in single precision


@dataclass
class Trace:
    """What a run leaves behind.

    ``status`` is ``done`` (the solver's own rule), ``stopped`` (a rule of the config) or ``diverged``; ``ended_by``
    names the rule, ``reason`` says it to people. The last of ``checkpoints`` is the final state. ``measured`` holds
    what is known at the end only, by column: the errors by class, and what disturbed the training.
    """

    status: RunStatus
    ended_by: Ending
    reason: str
    checkpoints: list[Record]
    model: Model
    measured: dict[str, Any]


@dataclass(frozen=True)
class _Evaluation:
    """A checkpoint, the model that it evaluates, and the classes that this predicts for the test rows, if any.

    ``finite`` is whether all numbers of the model and all its scores are.
    """

    values: Record
    model: Model
    predicted: Labels | None
    finite: bool


@dataclass
class _Pace:
    """How many examples a slice may present so that it lasts about `_SLICE_SECONDS`."""

    amount: int = _FIRST_SLICE
    rate: float = math.inf  # examples a second, of the last slice

    def measure(self, presented: int, seconds: float) -> None:
        self.rate = presented / max(seconds, 1e-9)
        self.amount = max(1, min(int(self.rate * _SLICE_SECONDS), 8 * self.amount))

    def within(self, seconds: float) -> int:
        """Return the number of examples that fit into a number of seconds."""
        if math.isinf(self.rate) or math.isinf(seconds):
            return counters.UNLIMITED
        return max(1, int(self.rate * seconds))


class _Rule(NamedTuple):
    """What ended a run before its solver's own rule did, and the same in words."""

    ended_by: Ending
    words: str


def _at(ended_by: Ending, limit: float) -> _Rule:
    return _Rule(ended_by, f"{ended_by} {limit:g}")


@dataclass
class _Watch:
    """Decides what a slice may use up, and which rule of the config, if any, has ended the run."""

    stop: Stop
    clock: Clock
    n: int
    pace: _Pace = field(default_factory=_Pace)

    def until(self, counts: Sequence[int], due: int) -> Until:
        presented, evaluations = counts[counters.PRESENTED], counts[counters.KERNEL_EVALUATIONS]
        seconds_left = math.inf if self.stop.seconds is None else self.stop.seconds - self.clock.seconds
        last = min(due, presented + min(self.pace.amount, self.pace.within(seconds_left)))
        if self.stop.passes is not None:
            last = min(last, math.ceil(self.stop.passes * self.n))
        if self.stop.kernel_evaluations is None:
            return Until(max(presented + 1, last))
        return Until(max(presented + 1, last), max(evaluations + 1, int(self.stop.kernel_evaluations)))

    def rule(self, counts: Sequence[int]) -> _Rule | None:
        """Return the rule that has ended the run, if one has."""
        stop = self.stop
        if stop.passes is not None and counts[counters.PRESENTED] >= stop.passes * self.n:
            return _at(Ending.PASSES, stop.passes)
        if stop.kernel_evaluations is not None and counts[counters.KERNEL_EVALUATIONS] >= stop.kernel_evaluations:
            return _at(Ending.KERNEL_EVALUATIONS, stop.kernel_evaluations)
        if stop.seconds is not None and self.clock.seconds >= stop.seconds:
            return _at(Ending.SECONDS, stop.seconds)
        return None


def train(
    solver: Solver,
    problem: Problem,
    kernel: Kernel,
    seed: int,
    stop: Stop,
    checkpoints: Checkpoints,
    report: Callable[[Progress | Aside], None] = lambda _news: None,
    optimum: float | None = None,
    probe: Callable[[], float] = lambda: math.nan,
    optimum_gap: float = 0.0,
) -> Trace:
    """Run a solver to its end or to the first rule of the config that holds.

    Parameters
    ----------
    solver, problem, kernel, seed
        As `Solver.start` takes them.
    stop : Stop
        Gap and suboptimality are looked at at checkpoints; the other rules after every slice.
    checkpoints : Checkpoints
    report : function
        Told how far it is before training, after the first slice and after others that end long enough after the last,
        and when evaluating begins and, but for the last time, ends.
    optimum, optimum_gap : float, optional
        What the objective is set against, and by what share this may be above what it is the dual objective of.
    probe : function
        Measures the speed of the processor; called before and after training, off the clock.

    Raises
    ------
    SolverError
        If an objective is below its optimum by more than the gap and rounding: one of the two is false.

    Returns
    -------
    Trace
    """
    clock, probes = Clock(), [probe()]
    report(_progress(0.0, clock, []))
    with clock:
        state = solver.start(problem.without_test(), kernel, seed)
    counts = answers.counts(solver, state)
    watch = _Watch(stop, clock, problem.n)
    due_at = _due(checkpoints, problem.n)
    due = next(due_at) if solver.sliceable else counters.UNLIMITED
    records, last_news = list[Record](), -math.inf
    while True:
        before, seconds = counts[counters.PRESENTED], clock.seconds
        until = watch.until(counts, due) if solver.sliceable else Until()
        with clock:
            status = answers.advance(solver, state, until)
        counts = answers.counts(solver, state, counts)
        presented = counts[counters.PRESENTED]
        watch.pace.measure(presented - before, clock.seconds - seconds)
        rule = watch.rule(counts) if status is Status.RUNNING else None
        if not solver.sliceable and status is Status.RUNNING:
            rule = _Rule(Ending.CAP, "its own limit of iterations")
        ended = status is not Status.RUNNING or rule is not None
        if ended:
            clock.settle()
            probes.append(probe())  # before a long evaluation
        if presented >= due or ended:
            report(Aside(begins=True))
            evaluated = checkpoint(solver, state, problem, clock)
            records.append(_set_against(optimum, optimum_gap, evaluated.values, solver))
            if not evaluated.finite:
                status = Status.DIVERGED
            due = next((count for count in due_at if count > presented), counters.UNLIMITED)
            rule = rule or (_accuracy_rule(stop, records[-1]) if status is Status.RUNNING else None)
            if status is Status.RUNNING and not rule:
                report(Aside(begins=False))
        if time.monotonic() - last_news >= _SECONDS_BETWEEN_NEWS:
            report(_progress(presented / problem.n, clock, records))
            last_news = time.monotonic()
        if len(records) > _MAX_CHECKPOINTS:
            raise SolverError(f"{solver.name}: more than {_MAX_CHECKPOINTS:,} checkpoints; its counters cannot be true")
        if ended or rule or status is Status.DIVERGED:
            clock.settle()
            if evaluated.finite and records[-1].train_error is None:
                error, finite = train_error(solver, evaluated.model, problem)
                records[-1] = replace(records[-1], train_error=error)
                status = status if finite else Status.DIVERGED
            word, ended_by, reason = _ending(status, rule, records[-1])
            measured = _disturbances(clock, probes if ended else [*probes, probe()]) | errors_by_class(
                evaluated.predicted, problem.test_labels, len(problem.classes)
            )
            passed = None if solver.sliceable else watch.rule(counts)
            reasons = [
                reason,
                passed and f"trains in one piece, past stop: {passed.words}",
                answers.note(solver, state),
            ]
            return Trace(
                word,
                ended_by,
                reason="; ".join(filter(None, reasons)),
                checkpoints=records,
                model=evaluated.model,
                measured=measured,
            )


def _due(checkpoints: Checkpoints, n: int) -> Iterator[int]:
    """Yield the numbers of examples after which a checkpoint is due: growing geometrically."""
    growth = 10 ** (1 / checkpoints.per_decade)
    last = 0
    exact = max(1.0, checkpoints.first * n)
    while exact < counters.UNLIMITED:
        if round(exact) > last:
            last = round(exact)
            yield last
        exact *= growth


def _accuracy_rule(stop: Stop, last: Record) -> _Rule | None:
    rules = (Ending.GAP, last.gap, stop.gap), (Ending.SUBOPTIMALITY, last.suboptimality, stop.suboptimality)
    for rule, reached, limit in rules:
        if limit is not None and reached is not None and reached <= limit:
            return _at(rule, limit)
    return None


def _progress(passes: float, clock: Clock, records: list[Record]) -> Progress:
    last = records[-1] if records else Record()
    return Progress(
        passes,
        clock.seconds,
        objective=last.objective,
        gap=last.gap,
        cpu_seconds=clock.cpu_seconds,
        process_seconds=time.process_time(),
    )


def _ending(status: Status, rule: _Rule | None, last: Record) -> tuple[RunStatus, Ending, str]:
    if status is Status.DIVERGED or (last.objective is not None and not math.isfinite(last.objective)):
        return RunStatus.DIVERGED, Ending.FAULT, "the weights, the scores or the objective are no longer finite"
    return (RunStatus.STOPPED, *rule) if rule else (RunStatus.DONE, Ending.RULE, "")


def _set_against(optimum: float | None, gap: float, values: Record, solver: Solver) -> Record:
    """Return a checkpoint with the suboptimality of its objective, where there is an optimum; never below 0."""
    objective = values.objective
    if optimum is None or optimum <= 0 or objective is None or math.isnan(objective):
        return values
    if objective < optimum * (1 - gap - _ROUNDING):
        raise SolverError(
            f"{solver.name}: its objective {objective:.10g} is below the optimum {optimum:.10g} (gap {gap:.2g}); "
            "one of the two is false: delete optima/ in the data directory and run again with --force; report the "
            "solver if that repeats it"
        )
    return replace(values, suboptimality=max(0.0, objective / optimum - 1))


def checkpoint(solver: Solver, state: Any, problem: Problem, clock: Clock) -> _Evaluation:
    """Evaluate the present state: counts, certificates, errors.

    The training error of a kernel expansion costs n kernel values a vector, and that of random features makes them
    once more: more than training itself. It is left out (None) until the end.
    """
    model = answers.model(solver, state, problem)
    if problem.threshold:
        model = with_threshold(model, problem.threshold)
    measures = answers.measures(solver, state)
    counts: dict[str, Any] = dict(zip(counters.NAMES, answers.counts(solver, state), strict=True))
    if not solver.sliceable:  # an external solver does not say all that it does
        counts |= {name: counts[name] or None for name in ("steps", "updates", "kernel_computed")}
    vectors = answers.vectors(solver, model)
    finite, predicted, error = answers.is_finite(model), None, None
    if finite and len(problem.test_labels):
        predicted = answers.predict(solver, model, problem.test, len(problem.classes))
        finite = predicted is not None
    if finite and vectors is None and not isinstance(model, FourierModel):
        error, finite = train_error(solver, model, problem)
    values = replace(
        Record(**measures.by_name()),
        passes=counts["presented"] / problem.n,
        train_seconds=clock.seconds,
        cpu_seconds=clock.cpu_seconds,
        support_vectors=vectors,
        train_error=error,
        test_error=None if predicted is None else float(np.mean(predicted != problem.test_labels)),
        suboptimality=None,
        **counts,
    )
    return _Evaluation(values, model, predicted, finite)


def train_error(solver: Solver, model: Model, problem: Problem) -> tuple[float | None, bool]:
    """Return the share of training examples with a wrong label, and whether all their scores are finite.

    None for a stream, which would have to be generated again, and where a score is not finite.
    """
    if isinstance(problem, StreamedProblem) or not problem.n:
        return None, True
    predicted = answers.predict(solver, model, problem.train, len(problem.classes))
    return (None, False) if predicted is None else (float(np.mean(predicted != problem.labels)), True)


def _disturbances(clock: Clock, probes: Sequence[float]) -> dict[str, Any]:
    """Return what disturbed the training, or may have, by column; NaN where the system does not say."""
    counted = clock.used._asdict()
    del counted["seconds"], counted["cpu_seconds"]  # the last checkpoint has them
    return counted | {"load": clock.load, "probe_seconds": max(probes)}

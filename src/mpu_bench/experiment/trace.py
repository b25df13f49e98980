"""Advance one solver on one problem and keep its trace: checkpoints, counts and training time.

The clock runs only while the solver starts or advances; models are evaluated while it stands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mpu_bench.config.schema import Checkpoints, Stop
from mpu_bench.core import counters
from mpu_bench.core.clock import Clock
from mpu_bench.core.kernels import Kernel
from mpu_bench.core.models import Model
from mpu_bench.core.problem import Problem, StreamedProblem
from mpu_bench.core.solver import Solver, Status, Until
from mpu_bench.experiment.messages import Progress
from mpu_bench.quantities import CHECKPOINT_COLUMNS

_SLICE_SECONDS = 0.1  # a slice lasts about this long, so that limits and interruptions are met in time
_FIRST_SLICE = 256  # examples, while the pace is not yet known


@dataclass
class Trace:
    """What a run leaves behind.

    ``status`` is ``done`` (the solver's own rule), ``stopped`` (a rule of the config; ``reason`` names it) or
    ``diverged``. ``checkpoints`` are mappings with the keys `CHECKPOINT_COLUMNS`; the last is the final state.
    """

    status: str
    reason: str
    checkpoints: list[dict[str, Any]]
    model: Model


@dataclass
class _Pace:
    """How many examples a slice may present so that it lasts about `_SLICE_SECONDS`."""

    amount: int = _FIRST_SLICE
    rate: float = math.inf  # examples a second, of the last slice

    def measure(self, presented: int, seconds: float) -> None:
        self.rate = presented / max(seconds, 1e-9)
        self.amount = max(1, min(int(self.rate * _SLICE_SECONDS), 8 * self.amount))

    def within(self, seconds: float) -> int:
        """Return how many examples fit into so many seconds."""
        if math.isinf(self.rate) or math.isinf(seconds):
            return counters.UNLIMITED
        return max(1, int(self.rate * seconds))


@dataclass
class _Watch:
    """Decides what a slice may use up, and which rule of the config, if any, has ended the run."""

    stop: Stop
    clock: Clock
    n: int
    pace: _Pace = field(default_factory=_Pace)

    def until(self, counts: np.ndarray[Any, Any], due: int) -> Until:
        presented, evaluations = int(counts[counters.PRESENTED]), int(counts[counters.KERNEL_EVALUATIONS])
        last = min(due, presented + min(self.pace.amount, self.pace.within(self._seconds_left())))
        if self.stop.passes is not None:
            last = min(last, math.ceil(self.stop.passes * self.n))
        if self.stop.kernel_evaluations is None:
            return Until(max(presented + 1, last))
        return Until(max(presented + 1, last), max(evaluations + 1, int(self.stop.kernel_evaluations)))

    def _seconds_left(self) -> float:
        return math.inf if self.stop.seconds is None else self.stop.seconds - self.clock.seconds

    def rule(self, counts: np.ndarray[Any, Any]) -> str:
        """Return the rule that has ended the run, or nothing."""
        stop = self.stop
        if stop.passes is not None and counts[counters.PRESENTED] >= stop.passes * self.n:
            return f"passes {stop.passes:g}"
        if stop.kernel_evaluations is not None and counts[counters.KERNEL_EVALUATIONS] >= stop.kernel_evaluations:
            return f"kernel_evaluations {stop.kernel_evaluations:g}"
        if stop.seconds is not None and self.clock.seconds >= stop.seconds:
            return f"seconds {stop.seconds:g}"
        return ""


def train(
    solver: Solver,
    problem: Problem,
    kernel: Kernel,
    seed: int,
    stop: Stop,
    checkpoints: Checkpoints,
    progress: Callable[[Progress], None] = lambda _progress: None,
    optimum: float | None = None,
) -> Trace:
    """Run a solver to its end or to the first rule of the config that holds.

    Parameters
    ----------
    solver, problem, kernel, seed
        As `Solver.start` takes them.
    stop : Stop
        Gap and suboptimality are looked at at checkpoints; the other rules after every slice.
    checkpoints : Checkpoints
    progress : function
        Called after every slice.
    optimum : float, optional
        What the objective is set against.

    Returns
    -------
    Trace
    """
    clock = Clock()
    with clock:
        state = solver.start(problem, kernel, seed)
    watch = _Watch(stop, clock, problem.n)
    due_at = _due(checkpoints, problem.n)
    due = next(due_at) if solver.sliceable else counters.UNLIMITED
    kept: list[dict[str, Any]] = []
    while True:
        before, seconds = int(state.counters[counters.PRESENTED]), clock.seconds
        until = watch.until(state.counters, due) if solver.sliceable else Until()
        with clock:
            status = solver.advance(state, until)
        presented = int(state.counters[counters.PRESENTED])
        watch.pace.measure(presented - before, clock.seconds - seconds)
        rule = "" if status is not Status.RUNNING else watch.rule(state.counters)
        if not solver.sliceable and status is Status.RUNNING:
            rule = "the peer's own cap"
        if presented >= due or status is not Status.RUNNING or rule:
            kept.append(checkpoint(solver, state, problem, clock, optimum))
            due = next(count for count in due_at if count > presented)
            rule = rule or (_accuracy_rule(stop, kept[-1]) if status is Status.RUNNING else "")
        progress(Progress(presented / problem.n, clock.seconds, **_latest(kept)))
        if status is not Status.RUNNING or rule:
            model = solver.model(state)
            kept[-1]["train_error"] = train_error(model, problem)
            ended, reason = _ending(status, rule, kept[-1])
            return Trace(ended, "; ".join(filter(None, [reason, solver.note(state)])), kept, model)


def _due(checkpoints: Checkpoints, n: int) -> Iterator[int]:
    """Yield the numbers of examples after which a checkpoint is due: growing geometrically, without end."""
    growth = 10 ** (1 / checkpoints.per_decade)
    last = 0
    exact = max(1.0, checkpoints.first * n)
    while exact < counters.UNLIMITED:
        if round(exact) > last:
            last = round(exact)
            yield last
        exact *= growth
    while True:
        yield counters.UNLIMITED


def _accuracy_rule(stop: Stop, last: dict[str, Any]) -> str:
    for name, limit in (("gap", stop.gap), ("suboptimality", stop.suboptimality)):
        if limit is not None and last[name] is not None and last[name] <= limit:
            return f"{name} {limit:g}"
    return ""


def _latest(kept: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: kept[-1][name] for name in ("objective", "gap")} if kept else {}


def _ending(status: Status, rule: str, last: dict[str, Any]) -> tuple[str, str]:
    objective = last["objective"]
    if status is Status.DIVERGED or (objective is not None and not math.isfinite(objective)):
        return "diverged", "the weights or the objective are no longer finite"
    return ("stopped", rule) if rule else ("done", "")


def checkpoint(
    solver: Solver, state: Any, problem: Problem, clock: Clock, optimum: float | None = None
) -> dict[str, Any]:
    """Evaluate the present state: counts, certificates, errors; keys as `CHECKPOINT_COLUMNS`.

    The training error of a kernel expansion costs n kernel values a vector, more than training itself: it is left
    out (None) until the end.
    """
    model = solver.model(state)
    measures = solver.measures(state)
    counts = {name: int(count) for name, count in zip(counters.NAMES, state.counters, strict=True)}
    values: dict[str, Any] = {
        "passes": counts["presented"] / problem.n,
        "train_seconds": clock.seconds,
        "cpu_seconds": clock.cpu_seconds,
        "support_vectors": None if model.linear else model.support_vectors,
        "train_error": train_error(model, problem) if model.linear else None,
        "test_error": error(model, problem.test, problem.test_labels),
        "suboptimality": None if optimum is None or measures.objective is None else measures.objective / optimum - 1,
        **counts,
        **measures._asdict(),
    }
    return {name: values[name] for name in CHECKPOINT_COLUMNS}


def train_error(model: Model, problem: Problem) -> float | None:
    """Return the share of training examples with a wrong label; None for a stream, which would be made once more."""
    return None if isinstance(problem, StreamedProblem) else error(model, problem.train, problem.labels)


def error(model: Model, rows: Any, labels: np.ndarray[Any, Any]) -> float | None:
    """Return the share of wrong labels, or None where there are no rows."""
    return float(np.mean(model.labels(rows) != labels)) if len(labels) else None

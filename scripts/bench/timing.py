"""What the benches share: threads, seconds, and ratios of runs of the same round.

numpy and numba read the number of threads when they are imported, so a bench calls `use_threads` before.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import exp, log
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from mpu_bench.core.problem import Problem


def use_threads(count: int) -> None:
    """Set the threads of numpy and numba."""
    for library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        os.environ[f"{library}_NUM_THREADS"] = str(count)


@dataclass(frozen=True)
class Measurement:
    """The seconds of one run, or of the fastest of several equal ones."""

    dataset: str
    solver: str
    seed: int
    seconds: float


class Seconds(NamedTuple):
    """Seconds of the clock, and of the processor, which other processes disturb less."""

    clock: float
    processor: float

    def __sub__(self, other: Seconds) -> Seconds:
        return Seconds(self.clock - other.clock, self.processor - other.processor)

    def __add__(self, other: Seconds) -> Seconds:  # type: ignore[override]
        return Seconds(self.clock + other.clock, self.processor + other.processor)

    def __str__(self) -> str:
        return f"{self.clock:.2f} s ({self.processor:.2f} s of the processor)"


def now() -> Seconds:
    """Return both times."""
    return Seconds(time.perf_counter(), time.process_time())


def seconds(function: Callable[..., object], *arguments: Any, attempts: int, clock: str = "processor") -> float:
    """Return the least seconds of some attempts, of the processor or of the clock."""
    elapsed = []
    for _ in range(attempts):
        before = now()
        function(*arguments)
        elapsed.append(getattr(now() - before, clock))
    return min(elapsed)


def paired_ratios(runs: Iterable[Measurement], dataset: str, solver: str, peer: str) -> list[float]:
    """Return the seconds of a solver over those of a peer with the same seed, by seed."""
    by_run = {(run.solver, run.seed): run.seconds for run in runs if run.dataset == dataset}
    return [spent / by_run[peer, seed] for (name, seed), spent in by_run.items() if name == solver]


def geometric_mean(ratios: Iterable[float]) -> float:
    """Return the mean of ratios."""
    return exp(statistics.fmean(map(log, ratios)))


def load(name: str, options: Mapping[str, Any] | None = None) -> Problem:
    """Return a dataset of the data home, fetched where need be."""
    from mpu_bench.data.cards import catalog
    from mpu_bench.data.download.cache import DataHome
    from mpu_bench.data.prepare.load import load_problem

    return load_problem(catalog.card(name, options), DataHome.from_options())


def few_rows(problem: Problem, each: int = 50) -> Problem:
    """Return a problem of a few rows of every class, to compile a solver on."""
    import numpy as np

    from mpu_bench.core.rows import take

    few = np.concatenate([np.flatnonzero(problem.labels == index)[:each] for index in range(len(problem.classes))])
    return replace(problem, train=take(problem.train, few), labels=problem.labels[few])

"""What the benches share: threads, seconds, ratios of runs of the same round, and the table of what came out.

numpy and numba read the number of threads when they are imported, so a bench calls `use_threads` before.
"""

from __future__ import annotations

import csv
import os
import platform
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import exp, log
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from mpu_bench.core.problem import Problem


def use_threads(count: int) -> None:
    """Set the threads of numpy and numba."""
    for library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        os.environ[f"{library}_NUM_THREADS"] = str(count)


BENCH_CSV = Path(__file__).parents[2] / "results" / "bench.csv"


class Ratio(NamedTuple):
    """What a bench has found: so many times what it is held against."""

    script: str
    case: str  #: the data, and what was done with it
    solver: str
    ratio: float
    against: str  #: a peer's seconds, or what the machine can do at best
    better: str  #: "less" or "more"
    bound_by: str  #: what keeps it from being better


class Ratios:
    """The ratios of one bench, for results/bench.csv."""

    def __init__(self) -> None:
        self._script = Path(sys.argv[0]).stem
        self._found: list[Ratio] = []

    def add(self, case: str, solver: str, ratio: float, against: str, *, better: str = "less", bound_by: str) -> None:
        """Note a ratio."""
        self._found.append(Ratio(self._script, case, solver, ratio, against, better, bound_by))

    def write(self, path: Path = BENCH_CSV) -> None:
        """Replace the rows of this bench in the table, with the machine and the day."""
        from mpu_bench.files import csv_text, write_text

        machine = {"processor": _processor(), "cores": os.cpu_count(), "date": f"{datetime.now(UTC):%Y-%m-%d}"}
        rows: list[dict[str, Any]] = []
        if path.exists():
            with path.open(encoding="utf-8", newline="") as file:
                rows = [row for row in csv.DictReader(file) if row["script"] != self._script]
        rows += [each._asdict() | {"ratio": f"{each.ratio:.3g}"} | machine for each in self._found]
        write_text(path, csv_text(sorted(rows, key=lambda row: row["script"])))


def _processor() -> str:
    """Return the name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


@dataclass(frozen=True)
class Measurement:
    """The seconds of one run, or of the fastest of several equal ones."""

    dataset: str
    solver: str
    seed: int
    seconds: float


class Seconds(NamedTuple):
    """Seconds of the clock, and of the processor, which other processes disturb less: all, and the system's alone."""

    clock: float
    processor: float
    system: float

    @property
    def user(self) -> float:
        """Those of the program itself, without what fresh memory costs."""
        return self.processor - self.system

    def __sub__(self, other: Seconds) -> Seconds:
        return Seconds(*(a - b for a, b in zip(self, other, strict=True)))

    def __add__(self, other: Seconds) -> Seconds:  # type: ignore[override]
        return Seconds(*(a + b for a, b in zip(self, other, strict=True)))

    def __str__(self) -> str:
        return f"{self.clock:.2f} s ({self.user:.3f} s of the processor, and {self.system:.3f} s of the system)"


def now() -> Seconds:
    """Return all times."""
    return Seconds(time.perf_counter(), time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_stime)


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
    """Return a dataset of the data directory, fetched where need be."""
    from mpu_bench.data.cards import catalog
    from mpu_bench.data.download.cache import DataDirectory
    from mpu_bench.data.prepare.load import load_problem

    return load_problem(catalog.card(name, options), DataDirectory.from_options())


def few_rows(problem: Problem, each: int = 50) -> Problem:
    """Return a problem of a few rows of every class, to compile a solver on."""
    import numpy as np

    from mpu_bench.core.rows import take

    few = np.concatenate([np.flatnonzero(problem.labels == index)[:each] for index in range(len(problem.classes))])
    return replace(problem, train=take(problem.train, few), labels=problem.labels[few])

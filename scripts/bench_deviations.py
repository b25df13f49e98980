"""Seconds of every linear solver until its objective is within 1% and within 1e-4 of the optimum.

A run is cut into slices, and the objective is evaluated between them, off the clock. Slices are an eighth of a pass, or
5% of what has been presented. As slices change nothing, a short run is then made once more, in one advance to
where the slices found the deviation: its seconds hold no trace of the slices. A solver that is still on its way after
the cap is given up: at 1e-4 that is pegasos nearly always. Where dcd takes long
itself the cap is four times its seconds.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, inf, isinf, log

from mpu_bench import solvers
from mpu_bench.core.counters import PRESENTED
from mpu_bench.core.kernels import Linear
from mpu_bench.core.problem import Problem
from mpu_bench.core.solver import Solver, Status, Until
from mpu_bench.solvers.certificates import primal

DEVIATIONS = (1e-2, 1e-4)
SOLVERS = ("dcd", "mpu", "svmperf", "pegasos")
SEEDS = 3
SHORT = 0.5  #: seconds; a run below is made again in one advance, five times
GROWTH = 20  #: a slice is one part in so many of what has been presented


@dataclass(frozen=True)
class Measurement:
    """One run until the deviation is reached; the seconds are infinite where it was given up."""

    dataset: str
    solver: str
    deviation: float
    seed: int
    seconds: float
    passes: float


def contestant(name: str, deviation: float) -> Solver:
    """Give the solver with settings that let it reach the deviation, and not stop before.

    dcd gets it as the gap that ends it, for how long it stays with shrunk examples depends on what is wanted.
    """
    options = {
        "dcd": {"stop": 0.9 * deviation},
        "mpu": {"accuracy": deviation, "stop": 0.0},
        "svmperf": {"tolerance": 1e-6},
        "pegasos": {"iterations": 10**12},
    }
    solver: Solver = solvers.load(name)(**options[name])
    return solver


def measure(problem: Problem, bound: float, cap: float) -> list[Measurement]:
    """Measure all solvers on one dataset, with fewer seeds where they take long."""
    found: list[Measurement] = []
    for deviation in DEVIATIONS:
        limit = cap
        for name in SOLVERS:
            solver, spent = contestant(name, deviation), 0.0
            for seed in range(SEEDS):
                if spent > cap / SEEDS:
                    break
                run = reach(solver, problem, seed, deviation, bound, limit)
                spent += min(run.seconds, limit)
                found.append(run)
            if name == "dcd":
                limit = max(cap, 4 * _median(found, problem.name, "dcd", deviation))
    return found


def reach(solver: Solver, problem: Problem, seed: int, deviation: float, bound: float, cap: float) -> Measurement:
    """Train until the objective is within the deviation of the bound, or the cap is over."""
    wanted, signs, presented = (1 + deviation) * bound, problem.signs(), 0
    before = time.process_time()
    state = solver.start(problem, Linear(), seed)
    seconds, status, objective = time.process_time() - before, Status.RUNNING, inf
    while status == Status.RUNNING and seconds <= cap and objective > wanted:
        size = max(problem.n // 8, presented // GROWTH)
        before = time.process_time()
        status = solver.advance(state, Until(presented + size))
        seconds += time.process_time() - before
        presented = int(state.counters[PRESENTED])
        objective = primal(problem.train, signs, solver.model(state).weights[0], solver.C)  # type: ignore[attr-defined]
    if objective > wanted:
        seconds = inf
    elif seconds < SHORT:
        seconds = min(_in_one_go(solver, problem, seed, presented) for _ in range(5))
    return Measurement(problem.name, solver.name, deviation, seed, seconds, presented / problem.n)


def summarise(found: Sequence[Measurement], cap: float) -> None:
    """Print the medians, and the geometric means of the ratios to dcd where both arrived."""
    names = list(dict.fromkeys(run.dataset for run in found))
    for deviation in DEVIATIONS:
        print(f"\nmilliseconds until the objective is within {deviation:.0e} of the optimum, medians")
        print(f"(-: not within {cap:g} s, or four times dcd's seconds if that is more)")
        print(f"  {'':18}" + "".join(f"{name:>10}" for name in SOLVERS))
        medians = {(name, each): _median(found, name, each, deviation) for name in names for each in SOLVERS}
        for name in names:
            shown = [medians[name, each] for each in SOLVERS]
            print(f"  {name:18}" + "".join(f"{'-' if isinf(ms) else f'{ms * 1e3:.1f}':>10}" for ms in shown))
        for each in SOLVERS[1:]:
            ratios = [medians[name, each] / medians[name, "dcd"] for name in names]
            arrived = [ratio for ratio in ratios if not isinf(ratio)]
            mean = f"{exp(statistics.fmean(map(log, arrived))):.2f}" if arrived else "-"
            print(f"  geometric mean of {each}/dcd: {mean}, on {len(arrived)} of {len(names)} datasets")


def _in_one_go(solver: Solver, problem: Problem, seed: int, presented: int) -> float:
    before = time.process_time()
    state = solver.start(problem, Linear(), seed)
    solver.advance(state, Until(presented=presented))
    return time.process_time() - before


def _median(found: Iterable[Measurement], dataset: str, solver: str, deviation: float) -> float:
    return statistics.median(
        run.seconds for run in found if run.dataset == dataset and run.solver == solver and run.deviation == deviation
    )

"""Seconds of mpu and dcd to a relative duality gap, as ratios to liblinear's.

mpu and dcd stop by their own certificate. liblinear, which has none, gets a tolerance at which its gap, to a bound of
the optimum, is just small enough with the first seed; with a seed that misses the gap it gets a smaller one. Machine
code is compiled before the clock starts. The seconds of mpu and dcd are those of start and advance; those of liblinear
are `LinearSVC.fit` on a prepared float64 matrix less a fit that stops after its first pass, so that neither
scikit-learn's checks nor the conversion of the matrix count against it. A run of milliseconds is repeated, and the
fastest counts. The first solver changes with every round, and a ratio is one of two runs of the same round. Seconds are
those of the processor, which other processes disturb less than those of the clock.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import exp, log, nan
from typing import Any

import numpy as np

from mpu_bench import solvers
from mpu_bench.core.counters import INNER_PRODUCTS
from mpu_bench.core.kernels import Linear
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import take
from mpu_bench.core.solver import Solver, Status, Until
from mpu_bench.solvers.certificates import hinge_sum

PEER = "liblinear"
OURS = ("dcd", "mpu")
AIMS = {"mpu": "at most 1.3, the goal 1.0", "dcd": "at most 0.8, the goal 0.5"}
ROUNDS = 9
ENOUGH = 20.0  #: seconds of a dataset's rounds, after which no further one begins
QUICK = 0.1  #: seconds that the repetitions of a run may take
#: liblinear's tolerance to begin with; where a fit takes long, about what a search came to at 1e-4
FIRST_TOLERANCE = {"usps-even": 0.006, "mnist-even": 0.05}


@dataclass(frozen=True)
class Measurement:
    """One run, or the fastest of several equal ones."""

    dataset: str
    solver: str
    seed: int
    seconds: float
    objective: float
    gap: float
    products: int  #: inner products, 0 where the solver does not count them


def train(solver: Solver, problem: Problem, seed: int, bound: float) -> Measurement:
    """Train to the end. The gap is the solver's own, or that to a bound of the optimum."""
    before = time.process_time()
    state = solver.start(problem, Linear(), seed)
    if not solver.sliceable:  # a peer's conversion of the examples
        before = time.process_time()
    status = solver.advance(state, Until())
    seconds = time.process_time() - before
    if status != Status.DONE:
        raise SystemExit(f"{solver.name} on {problem.name}: {status.name}")
    measures = solver.measures(state)
    gap = measures.objective / bound - 1 if measures.gap is None else measures.gap
    products = int(state.counters[INNER_PRODUCTS]) if solver.sliceable else 0
    return Measurement(problem.name, solver.name, seed, seconds, measures.objective, gap, products)


def fastest(solver: Solver, problem: Problem, seed: int, bound: float) -> Measurement:
    """Train as often as is quick, and keep the run that was disturbed least."""
    first = train(solver, problem, seed, bound)
    again = [train(solver, problem, seed, bound) for _ in range(min(20, int(QUICK / max(first.seconds, 1e-4))))]
    return min([first, *again], key=lambda run: run.seconds)


def compile_on_part(problem: Problem, contestants: Iterable[Solver]) -> None:
    """Train on a few examples of either class."""
    few = np.concatenate([np.flatnonzero(problem.labels == label)[:50] for label in (0, 1)])
    part = replace(problem, train=take(problem.train, few), labels=problem.labels[few])
    for solver in contestants:
        train(solver, part, 0, 1.0)


def loosest(problem: Problem, bound: float, gap: float) -> Any:
    """Find a tolerance whose gap is small enough, and a quarter above which it is not."""
    peer: Any = solvers.load(PEER)(tolerance=FIRST_TOLERANCE.get(problem.name, 0.1))
    if problem.name in FIRST_TOLERANCE:
        return peer
    while (found := train(peer, problem, 0, bound).gap) > gap:
        peer = replace(peer, tolerance=peer.tolerance * min(max(gap / found, 0.1), 0.8))
    while train(looser := replace(peer, tolerance=peer.tolerance * 1.25), problem, 0, bound).gap <= gap:
        peer = looser
    return peer


def reaching(solver: Any, problem: Problem, seed: int, bound: float, gap: float) -> Measurement:
    """Train to the gap; a peer that misses it with this seed gets a smaller tolerance."""
    run = fastest(solver, problem, seed, bound)
    while run.gap > gap:
        solver = replace(solver, tolerance=solver.tolerance * 0.8)
        run = fastest(solver, problem, seed, bound)
    return run


def rounds(contestants: Sequence[Solver], problem: Problem, bound: float, gap: float) -> list[Measurement]:
    """Let the solvers train in turn, with one seed a round."""
    found: list[Measurement] = []
    for seed in range(ROUNDS):
        if sum(run.seconds for run in found) > ENOUGH:
            break
        turn = seed % len(contestants)
        order = [*contestants[turn:], *contestants[:turn]]
        found += [reaching(solver, problem, seed, bound, gap) for solver in order]
    return found


def measure(problem: Problem, bound: float, gap: float) -> list[Measurement]:
    """Measure the seconds to the gap."""
    ours = [solvers.load(name)(stop=gap) for name in OURS]
    compile_on_part(problem, [solvers.load(PEER)(), *ours])
    peer = loosest(problem, bound, gap)
    hasty = replace(peer, tolerance=1e9)
    before = fastest(hasty, problem, 0, bound).seconds
    found = rounds([peer, *ours], problem, bound, gap)
    extra = min(before, fastest(hasty, problem, 0, bound).seconds)
    print(f"\n{problem.name}: {PEER}'s tolerance {peer.tolerance:.2g}, {extra * 1e3:.1f} ms taken off its seconds")
    return [replace(run, seconds=run.seconds - extra * (run.solver == PEER)) for run in found]


def show(problem: Problem, bound: float, measured: Sequence[Measurement]) -> None:
    """Print a dataset's medians and ranges, and how near the inner products come to reading rows in storage order."""
    found = [run for run in measured if run.dataset == problem.name]
    size, seconds = sum(array.nbytes for array in problem.train), _pass_in_storage_order(problem)
    print(f"  {problem.n} x {problem.features}, optimum {bound:.4f}, {len(found) // 3} rounds")
    print(f"  floor: {size / 1e6:.1f} MB of rows, {seconds / problem.n * 1e9:.1f} ns/product in storage order", end="")
    print(f" ({size / seconds / 1e9:.1f} GB/s)")
    print("  solver      ms: median      min      max   ratio: median   min   max   gap: worst   ns/product   passes")
    for name in (PEER, *OURS):
        own = [run for run in found if run.solver == name]
        times, shares = [run.seconds * 1e3 for run in own], _ratios(found, problem.name, name)
        nanoseconds = [run.seconds / run.products * 1e9 if run.products else nan for run in own]
        print(
            f"  {name:10} {statistics.median(times):11.1f} {min(times):8.1f} {max(times):8.1f}"
            f"   {statistics.median(shares):13.2f} {min(shares):5.2f} {max(shares):5.2f}"
            f"   {max(run.gap for run in own):10.1e}   {statistics.median(nanoseconds):10.1f}"
            f"   {statistics.median(run.products for run in own) / problem.n or nan:6.1f}",
            flush=True,
        )


def summarise(measured: Sequence[Measurement]) -> None:
    """Print the median ratios and their geometric means."""
    names = list(dict.fromkeys(run.dataset for run in measured))
    medians = {ours: [statistics.median(_ratios(measured, name, ours)) for name in names] for ours in OURS}
    print(f"\nseconds / {PEER}'s, medians\n  {'':18}" + "".join(f"{ours:>8}" for ours in OURS))
    for place, name in enumerate(names):
        print(f"  {name:18}" + "".join(f"{medians[ours][place]:8.2f}" for ours in OURS))
    for ours in OURS:
        mean = exp(statistics.fmean(log(ratio) for ratio in medians[ours]))
        print(f"  geometric mean of {ours}/{PEER}: {mean:.2f} ({AIMS[ours]})")


def _ratios(measured: Iterable[Measurement], dataset: str, name: str) -> list[float]:
    found = {(run.solver, run.seed): run.seconds for run in measured if run.dataset == dataset}
    return [seconds / found[PEER, seed] for (solver, seed), seconds in found.items() if solver == name]


def _pass_in_storage_order(problem: Problem) -> float:
    """Measure the seconds of one inner product with every row, the least a pass can take."""
    weights, times = np.ones(problem.features), []
    for _ in range(21):
        before = time.process_time()
        hinge_sum(problem.train, problem.signs(), weights, 1.0)
        times.append(time.process_time() - before)
    return min(times)

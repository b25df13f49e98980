"""Seconds of the solvers as ratios to a peer, measured in one process, in alternation, on one thread.

    python scripts/bench.py linear [--datasets adult web] [--repeats 9] [--gap 1e-4] [--csv FILE]

Every solver trains until its relative duality gap is at most ``--gap``: mpu and dcd stop by their own certificate, the
gap shown; liblinear gets the loosest tolerance of a grid whose gap, against the optimum found by dcd, is that small
for every seed. Machine code is compiled before the clock starts. The seconds of mpu and dcd are those of start and
advance. Those of liblinear are `LinearSVC.fit` on a prepared float64 matrix less a fit that stops after its first
pass, so that neither scikit-learn's checks nor the conversion of the matrix count against it.
"""

# ruff: noqa: E402 - the number of threads is read when numpy and numba are imported

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import csv
import gc
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan
from pathlib import Path

import numpy as np

from mpu_bench import solvers
from mpu_bench.core.counters import INNER_PRODUCTS
from mpu_bench.core.kernels import Linear
from mpu_bench.core.problem import Problem
from mpu_bench.core.solver import Allowance, Solver, Status
from mpu_bench.data import catalog, prepare
from mpu_bench.data.home import Home
from mpu_bench.errors import UserError
from mpu_bench.solvers.linear.objective import hinge_sum

PEER = "liblinear"
TOLERANCES = (0.5, 0.3, 0.2, 0.15, 0.1, 0.08, 0.06, 0.05, 0.04, 0.03, 0.02, 0.01, 0.003, 0.001)
OPTIMUM_GAP = 1e-8


@dataclass(frozen=True)
class Measurement:
    dataset: str
    solver: str
    seed: int
    seconds: float
    objective: float
    gap: float
    products: int  #: inner products, 0 where the solver does not count them


def train(solver: Solver, problem: Problem, seed: int, bound: float) -> tuple[float, float, float, int]:
    """Train to the end; give seconds, objective, gap (its own, or that to a bound of the optimum) and products."""
    gc.collect()
    gc.disable()
    before = time.perf_counter()
    state = solver.start(problem, Linear(), seed)
    if not solver.sliceable:  # a peer's conversion of the examples
        before = time.perf_counter()
    status = solver.advance(state, Allowance())
    seconds = time.perf_counter() - before
    gc.enable()
    if status != Status.DONE:
        raise SystemExit(f"{solver.name} on {problem.name}: {status.name}")
    measures = solver.measures(state)
    gap = measures.objective / bound - 1 if measures.gap is None else measures.gap
    return seconds, measures.objective, gap, int(state.counters[INNER_PRODUCTS]) if solver.sliceable else 0


def optimum(problem: Problem) -> float:
    """Bound the optimum from below, to 1e-8."""
    solver = solvers.load("dcd")(stop=OPTIMUM_GAP)
    state = solver.start(problem, Linear(), 0)
    solver.advance(state, Allowance())
    return float(solver.measures(state).dual_objective)


def loosest(problem: Problem, seeds: Sequence[int], bound: float, gap: float) -> Solver:
    """Find the peer with the loosest tolerance that reaches the gap for every seed."""
    for tolerance in TOLERANCES:
        peer = solvers.load(PEER)(tolerance=tolerance)
        if all(train(peer, problem, seed, bound)[2] <= gap for seed in seeds):
            return peer
    raise SystemExit(f"{PEER} reaches a gap of {gap} on {problem.name} with no tolerance of the grid")


def overhead(peer: Solver, problem: Problem, repeats: int) -> float:
    """Measure what a fit takes besides solving: stop after the first pass."""
    hasty = replace(peer, tolerance=1e9)
    return min(train(hasty, problem, 0, 1.0)[0] for _ in range(repeats))


def floor(problem: Problem) -> float:
    """Measure the nanoseconds of one inner product with the rows in storage order, the least a visit can take."""
    weights, times = np.ones(problem.features), []
    for _ in range(21):
        before = time.perf_counter()
        hinge_sum(problem.train, problem.signs(), weights, 1.0)
        times.append(time.perf_counter() - before)
    return min(times) / problem.n * 1e9


def measure(problem: Problem, repeats: int, gap: float) -> list[Measurement]:
    """Measure the solvers in turn, the first one changing with every repeat."""
    seeds, bound = range(repeats), optimum(problem)
    peer = loosest(problem, seeds, bound, gap)
    contestants = [peer, solvers.load("dcd")(stop=gap), solvers.load("mpu")(stop=gap)]
    for solver in contestants:
        train(solver, problem, 0, bound)  # compiles
    extra = overhead(peer, problem, repeats)
    print(f"\n{problem.name}: {problem.n} x {problem.features}, optimum {bound:.4f}")
    print(f"  an inner product, row after row: {floor(problem):.1f} ns")
    print(f"  {PEER}: tolerance {peer.tolerance}; {extra * 1e3:.1f} ms of checks, conversion, first pass taken off")
    found = []
    for seed in seeds:
        turn = seed % len(contestants)
        for solver in contestants[turn:] + contestants[:turn]:
            seconds, *rest = train(solver, problem, seed, bound)
            seconds -= extra if solver is peer else 0.0
            found.append(Measurement(problem.name, solver.name, seed, seconds, *rest))
    return found


def show(found: list[Measurement]) -> None:
    """Print medians, ranges and ratios to the peer."""
    peer = {each.seed: each.seconds for each in found if each.solver == PEER}
    print(
        "  solver      ms: median   min   max   ratio: median   min    max   objective: worst   gap: worst   ns/product"
    )
    for name in (PEER, "dcd", "mpu"):
        own = [each for each in found if each.solver == name]
        times = [each.seconds * 1e3 for each in own]
        ratios = [each.seconds / peer[each.seed] for each in own]
        nanoseconds = [each.seconds / each.products * 1e9 if each.products else nan for each in own]
        print(
            f"  {name:10} {statistics.median(times):10.1f} {min(times):5.1f} {max(times):5.1f}"
            f"   {statistics.median(ratios):13.2f} {min(ratios):5.2f} {max(ratios):6.2f}"
            f"   {max(each.objective for each in own):16.3f}   {max(each.gap for each in own):10.1e}"
            f"   {statistics.median(nanoseconds):10.1f}"
        )


def write(path: Path, found: list[Measurement]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(vars(found[0])))
        writer.writeheader()
        writer.writerows(vars(each) for each in found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", choices=["linear"])
    parser.add_argument("--datasets", nargs="+", default=["adult", "web"])
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--gap", type=float, default=1e-4)
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    found = []
    try:
        for name in options.datasets:
            problem = prepare.load(catalog.card(name), Home.from_options())
            measured = measure(problem, options.repeats, options.gap)
            show(measured)
            found += measured
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if options.csv:
        write(options.csv, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())

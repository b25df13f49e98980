"""Seconds of the linear solvers against each other: in one process, in alternation, on one thread.

    python scripts/bench/linear.py [--datasets adult usps-even] [--gap 1e-4] [--cap 5] [--csv FOLDER]

C = 1 throughout; seconds are those of the processor. usps-even and mnist-even are the dense digits, even against odd;
wide is generated, 20,000 rows of 300 non-zeros in 1,000,000 columns, each at a random place. A dataset that cannot be
had is a line that says why.

**First table, ratios.csv: seconds of mpu and dcd to a relative duality gap, as ratios to liblinear's.** mpu and dcd
stop by their own certificate. liblinear, which has none, gets a tolerance at which its gap, to a bound of the
optimum, is just small enough with the first seed; with a seed that misses the gap it gets a smaller one. Machine code
is compiled before the clock starts. The seconds of mpu and dcd are those of start and advance; those of liblinear are
`LinearSVC.fit` on a prepared float64 matrix less a fit that stops after its first pass, so that neither
scikit-learn's checks nor the conversion of the matrix count against it. A run of milliseconds is repeated, and the
fastest counts. The first solver changes with every round, and a ratio is one of two runs of the same round. Where a
round takes long there are fewer of them; the number is shown. The floor of a run is what its inner products and changes
of the weights take alone, in a random order and without an algorithm, as a ratio to liblinear's seconds, too.

**Second table, suboptimality.csv: seconds of every linear solver until its objective is within 1% and within 1e-4 of
the optimum.** What is done but once, as compiling and importing, is done before. A run is cut into slices, and the
objective is evaluated between them, off the clock. Slices are an eighth of a pass, or 5% of what has been presented.
As slices change nothing, a short run is then made once more, in one advance to where the slices arrived: its seconds
hold no trace of the slices. A solver that is still on its way after ``--cap`` seconds is given up: at 1e-4 that is
pegasos nearly always. Where dcd takes long itself the cap is four times its seconds. The peers snapml-svm, where it is
installed, and sgd are not cut into slices: they are run with half the tolerance, or twice the epochs, until a run
arrives, and its seconds are those of `fit` on a prepared matrix, their checks and conversions included.
"""

# ruff: noqa: E402 - the number of threads is read when numpy and numba are imported

from __future__ import annotations

import timing

timing.use_threads(1)

import argparse
import csv
import gc
import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf, isinf, nan
from pathlib import Path
from typing import Any

import numpy as np

from mpu_bench import solvers
from mpu_bench.core.counters import INNER_PRODUCTS, PRESENTED, STEPS
from mpu_bench.core.jit import jit
from mpu_bench.core.prefetch import EXAMPLES_AHEAD
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Sparse, add, dot, new_weights, prefetch_row
from mpu_bench.core.solver import Solver, Status, Until
from mpu_bench.errors import UserError
from mpu_bench.estimators.inputs import problem_of
from mpu_bench.kernels import Linear
from mpu_bench.solvers.certificates import loss, primal
from timing import Measurement

DATASETS = ("adult", "web", *(f"a{k}a" for k in range(1, 9)), "reuters-money-fx", "usps-even", "mnist-even", "wide")
EVEN = ("usps-even", "mnist-even")  #: cards of ten digits, here with two classes
BOUND_GAP = 1e-6  #: how near the bound of the optimum is

PEER = "liblinear"
OURS = ("dcd", "mpu")
AIMS = {"mpu": "at most 1.3, the goal 1.0", "dcd": "at most 0.8, the goal 0.5"}
ROUNDS = 9
ROUNDS_SECONDS = 20.0  #: after so many seconds of a dataset no further round begins
REPEAT_SECONDS = 0.1  #: how long the repetitions of a run may take
#: liblinear's tolerance to begin with; where a fit takes long, about what a search came to at 1e-4
FIRST_TOLERANCE = {"usps-even": 0.006, "mnist-even": 0.05}

PATIENCE = 20  #: with dcd, in times the cap
SUBOPTIMALITIES = (1e-2, 1e-4)
SOLVERS = ("dcd", "mpu", "svmperf", "pegasos")
#: peer of the second table -> what it is called in the table of all benches
PEERS = {"snapml-svm": "Snap ML", "sgd": "scikit-learn's SGD"}
MIN_TOLERANCE = 1e-8  #: a peer that has not arrived by then does not
SEEDS = 3
SHORT_SECONDS = 0.5  #: a run below is made again in one advance, five times
GROWTH = 20  #: a slice is one part in so many of what has been presented


@dataclass(frozen=True)
class ToGap(Measurement):
    """A run to the gap."""

    objective: float
    gap: float
    products: int  #: inner products, 0 where the solver does not count them
    changes: int  #: of the weights, by a row
    passes: float


@dataclass(frozen=True)
class ToSuboptimality(Measurement):
    """A run until the suboptimality is reached; the seconds are infinite where it was given up."""

    suboptimality: float
    passes: float


def load(name: str) -> Problem:
    """Load a dataset under the name it has here."""
    if name == "wide":
        return wide()
    if name not in EVEN:
        return timing.load(name)
    return replace(timing.load(name.removesuffix("-even"), {"positive": ["0", "2", "4", "6", "8"]}), name=name)


def wide(n: int = 20_000, features: int = 1_000_000, nonzeros: int = 300) -> Problem:
    """Generate sparse rows of norm 1 without any structure, and labels that a hyperplane gives, a few of them wrong."""
    random = np.random.default_rng(0)
    indices = np.sort(random.integers(0, features - nonzeros, size=(n, nonzeros)), axis=1) + np.arange(nonzeros)
    values = random.normal(size=(n, nonzeros))
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    scores = np.sum(values * random.normal(size=features)[indices], axis=1) + random.normal(scale=0.3, size=n)
    starts = np.arange(0, n * nonzeros + 1, nonzeros, dtype=np.uint32)
    rows = Sparse(values.ravel(), indices.ravel().astype(np.uint32), starts)
    problem = problem_of(rows, (scores > 0).astype(np.int32), features, np.array([0, 1]))
    return replace(problem, name="wide")


def lower_bound(problem: Problem) -> float:
    """Bound the optimum from below, to 1e-6."""
    solver = solvers.load("dcd")(stop=BOUND_GAP)
    state = solver.start(problem, Linear(), 0)
    solver.advance(state, Until())
    return float(solver.measures(state).dual_objective)


def copy_bandwidth() -> float:
    """Measure gigabytes per second, read and written, of a copy that no cache holds."""
    source = np.ones(16_000_000)
    return 2 * source.nbytes / timing.seconds(np.copyto, np.empty_like(source), source, attempts=9, clock="clock") / 1e9


def train(solver: Solver, problem: Problem, seed: int, bound: float) -> ToGap:
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
    products, changes = state.counters[[INNER_PRODUCTS, STEPS]].tolist() if solver.sliceable else (0, 0)
    passes = int(state.counters[PRESENTED]) / problem.n
    return ToGap(problem.name, solver.name, seed, seconds, measures.objective, gap, products, changes, passes)


def fastest(solver: Solver, problem: Problem, seed: int, bound: float) -> ToGap:
    """Train as often as is quick, and keep the run that was disturbed least."""
    first = train(solver, problem, seed, bound)
    again = [
        train(solver, problem, seed, bound) for _ in range(min(20, int(REPEAT_SECONDS / max(first.seconds, 1e-4))))
    ]
    return min([first, *again], key=lambda run: run.seconds)


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


def reaching(solver: Any, problem: Problem, seed: int, bound: float, gap: float) -> ToGap:
    """Train to the gap; a peer that misses it with this seed gets a smaller tolerance."""
    run = fastest(solver, problem, seed, bound)
    while run.gap > gap:
        solver = replace(solver, tolerance=solver.tolerance * 0.8)
        run = fastest(solver, problem, seed, bound)
    return run


def rounds(contestants: Sequence[Solver], problem: Problem, bound: float, gap: float) -> list[ToGap]:
    """Let the solvers train in turn, with one seed a round."""
    found: list[ToGap] = []
    for seed in range(ROUNDS):
        if sum(run.seconds for run in found) > ROUNDS_SECONDS:
            break
        turn = seed % len(contestants)
        order = [*contestants[turn:], *contestants[:turn]]
        found += [reaching(solver, problem, seed, bound, gap) for solver in order]
    return found


def measure_to_gap(problem: Problem, bound: float, gap: float) -> list[ToGap]:
    """Measure the seconds to the gap."""
    ours = [solvers.load(name)(stop=gap) for name in OURS]
    for solver in (solvers.load(PEER)(), *ours):
        train(solver, timing.few_rows(problem), 0, 1.0)  # compiles
    peer = loosest(problem, bound, gap)
    hasty = replace(peer, tolerance=1e9)
    before = fastest(hasty, problem, 0, bound).seconds
    found = rounds([peer, *ours], problem, bound, gap)
    extra = min(before, fastest(hasty, problem, 0, bound).seconds)
    print(f"\n{problem.name}: {PEER}'s tolerance {peer.tolerance:.2g}, {extra * 1e3:.1f} ms taken off its seconds")
    return [replace(run, seconds=run.seconds - extra * (run.solver == PEER)) for run in found]


def alone(problem: Problem, runs: Sequence[ToGap]) -> list[ToGap]:
    """Return the runs with the seconds of their inner products and changes alone; those of the peer as they are."""
    order = np.random.default_rng(0).permutation(problem.n).astype(np.uint32)
    weights = new_weights(problem.features)
    weights[:] = np.random.default_rng(1).normal(size=problem.features)
    product, change = (
        timing.seconds(visit, problem.train, order, weights, attempts=9) / problem.n for visit in (_products, _changes)
    )
    return [
        run if run.solver == PEER else replace(run, seconds=run.products * product + run.changes * (change - product))
        for run in runs
        if run.dataset == problem.name
    ]


@jit
def _products(rows, order, weights):  # type: ignore[no-untyped-def]
    total = 0.0
    for p in range(len(order)):
        prefetch_row(rows, order[min(p + np.int64(EXAMPLES_AHEAD), len(order) - 1)])
        total += dot(rows, order[p], weights)
    return total


@jit
def _changes(rows, order, weights):  # type: ignore[no-untyped-def]
    for p in range(len(order)):
        prefetch_row(rows, order[min(p + np.int64(EXAMPLES_AHEAD), len(order) - 1)])
        add(rows, order[p], 1e-9 * dot(rows, order[p], weights), weights)


def show_ratios(problem: Problem, bound: float, measured: Sequence[ToGap], floors: Sequence[ToGap]) -> None:
    """Print a dataset's medians and ranges, and how near the inner products come to reading rows in storage order."""
    found = [run for run in measured if run.dataset == problem.name]
    size, seconds = sum(array.nbytes for array in problem.train), _pass_in_storage_order(problem)
    print(f"  {problem.n} x {problem.features}, optimum {bound:.4f}, {len(found) // 3} rounds")
    print(f"  floor: {size / 1e6:.1f} MB of rows, {seconds / problem.n * 1e9:.1f} ns/product in storage order", end="")
    print(f" ({size / seconds / 1e9:.1f} GB/s)")
    print("  solver      ms: median      min      max   ratio: median   min   max floor  gap: worst ns/product passes")
    for name in (PEER, *OURS):
        own = [run for run in found if run.solver == name]
        times, shares = [run.seconds * 1e3 for run in own], timing.paired_ratios(found, problem.name, name, PEER)
        nanoseconds = [run.seconds / run.products * 1e9 if run.products else nan for run in own]
        print(
            f"  {name:10} {statistics.median(times):11.1f} {min(times):8.1f} {max(times):8.1f}"
            f"   {statistics.median(shares):13.2f} {min(shares):5.2f} {max(shares):5.2f}"
            f" {statistics.median(timing.paired_ratios(floors, problem.name, name, PEER)):5.2f}"
            f"  {max(run.gap for run in own):10.1e} {statistics.median(nanoseconds):10.1f}"
            f" {statistics.median(run.products for run in own) / problem.n or nan:6.1f}",
            flush=True,
        )


def summarise_ratios(measured: Sequence[ToGap], floors: Sequence[ToGap], ratios: timing.Ratios) -> None:
    """Print and note the median ratios and their geometric means, and how low their floors are."""
    names = list(dict.fromkeys(run.dataset for run in measured))
    medians, least = (
        {ours: [statistics.median(timing.paired_ratios(runs, name, ours, PEER)) for name in names] for ours in OURS}
        for runs in (measured, floors)
    )
    print(f"\nseconds / {PEER}'s, medians\n  {'':18}" + "".join(f"{ours:>8}" for ours in OURS))
    for k, name in enumerate(names):
        print(f"  {name:18}" + "".join(f"{medians[ours][k]:8.2f}" for ours in OURS))
    for ours in OURS:
        mean, floor = timing.geometric_mean(medians[ours]), timing.geometric_mean(least[ours])
        print(f"  geometric mean of {ours}/{PEER}: {mean:.2f} ({AIMS[ours]})")
        labels, shown = (
            [*names, "geometric mean of these"],
            [*zip(medians[ours], least[ours], strict=True), (mean, floor)],
        )
        for label, (ratio, floor) in zip(labels, shown, strict=True):
            bound_by = f"inner products with the rows and their sums: {floor:.2g} alone"
            ratios.add(label, ours, ratio, "seconds of LIBLINEAR to the same gap", bound_by=bound_by)


def _pass_in_storage_order(problem: Problem) -> float:
    """Measure the seconds of one inner product with every row, the least a pass can take."""
    weights = np.ones(problem.features)
    return timing.seconds(loss, np.ones(1), problem.train, problem.signs(), weights, attempts=21)


def contestant(name: str, suboptimality: float) -> Solver:
    """Return the solver with settings that let it reach the suboptimality, and not stop before.

    dcd gets it as the gap that ends it, for how long it stays with shrunk examples depends on what is wanted.
    """
    options = {
        "dcd": {"stop": 0.9 * suboptimality},
        "mpu": {"accuracy": suboptimality, "stop": 0.0},
        "svmperf": {"tolerance": 1e-6},
        "pegasos": {"iterations": 10**12},
        "snapml-svm": {"tolerance": 0.1},
        "sgd": {"epochs": 1},
    }
    solver: Solver = solvers.load(name)(**options[name])
    return solver


def measure_to_suboptimality(problem: Problem, bound: float, cap: float) -> list[ToSuboptimality]:
    """Measure all solvers on one dataset, with fewer seeds where they take long."""
    found: list[ToSuboptimality] = []
    for suboptimality in SUBOPTIMALITIES:
        limit = PATIENCE * cap  # of dcd, by which the others are measured
        for name in (*SOLVERS, *installed_peers()):
            solver, spent = contestant(name, suboptimality), 0.0
            compile_or_import(solver, timing.few_rows(problem))
            arrive = reach if solver.sliceable else reach_whole
            for seed in range(SEEDS):
                if spent > cap / SEEDS:
                    break
                run = arrive(solver, problem, seed, suboptimality, bound, limit)
                spent += min(run.seconds, limit)
                found.append(run)
            if name == "dcd":
                spent_by_dcd = _median(found, problem.name, "dcd", suboptimality)
                limit = cap if isinf(spent_by_dcd) else max(cap, 4 * spent_by_dcd)
    return found


def compile_or_import(solver: Solver, few: Problem) -> None:
    """Let a solver do once, off the clock, what it does but once."""
    state = solver.start(few, Linear(), 0)
    solver.advance(state, Until(few.n))
    solver.model(state)


def installed_peers() -> list[str]:
    """Return the peers that can train here."""
    return [name for name in PEERS if not solvers.not_installed(name)]


def reach(
    solver: Solver, problem: Problem, seed: int, suboptimality: float, bound: float, cap: float
) -> ToSuboptimality:
    """Train until the objective is within the suboptimality of the bound, or the cap is over."""
    wanted, signs, presented = (1 + suboptimality) * bound, problem.signs(), 0
    before = time.process_time()
    state = solver.start(problem, Linear(), seed)
    seconds, status, objective = time.process_time() - before, Status.RUNNING, inf
    while status == Status.RUNNING and seconds <= cap and objective > wanted:
        size = max(problem.n // 8, presented // GROWTH)
        before = time.process_time()
        status = solver.advance(state, Until(presented + size))
        seconds += time.process_time() - before
        presented = int(state.counters[PRESENTED])
        objective = primal(problem.train, signs, solver.model(state).weights[0], np.array([solver.C]))  # type: ignore[attr-defined]
    if objective > wanted:
        seconds = inf
    elif seconds < SHORT_SECONDS:
        seconds = min(_in_one_go(solver, problem, seed, presented) for _ in range(5))
    return ToSuboptimality(problem.name, solver.name, seed, seconds, suboptimality, presented / problem.n)


def reach_whole(
    peer: Any, problem: Problem, seed: int, suboptimality: float, bound: float, cap: float
) -> ToSuboptimality:
    """Train with ever stricter settings, from the start each time, until a run arrives or one takes half the cap."""
    run = train(peer, problem, seed, bound)
    while run.gap > suboptimality and run.seconds <= cap / 2 and getattr(peer, "tolerance", 1.0) > MIN_TOLERANCE:
        if peer.name == "sgd":
            peer = replace(peer, epochs=2 * peer.epochs)
        else:
            peer = replace(peer, tolerance=peer.tolerance / 2)
        run = train(peer, problem, seed, bound)
    seconds = inf
    if run.gap <= suboptimality and run.seconds <= cap:
        short = run.seconds < SHORT_SECONDS
        seconds = min([run.seconds, *(train(peer, problem, seed, bound).seconds for _ in range(4 if short else 0))])
    return ToSuboptimality(problem.name, peer.name, seed, seconds, suboptimality, run.passes)


def summarise_suboptimality(found: Sequence[ToSuboptimality], cap: float, table: timing.Ratios) -> None:
    """Print the medians, and the geometric means of the ratios to dcd where both arrived; note those of the peers."""
    names, shown_solvers = (list(dict.fromkeys(getattr(run, part) for run in found)) for part in ("dataset", "solver"))
    for peer in PEERS:
        if missing := solvers.not_installed(peer):
            print(f"\n{peer}: skipped: {missing}")
    for suboptimality in SUBOPTIMALITIES:
        print(f"\nmilliseconds until the objective is within {suboptimality:.0e} of the optimum, medians")
        print(f"(-: not within {cap:g} s, or four times dcd's seconds if that is more)")
        print(f"  {'':18}" + "".join(f"{name:>11}" for name in shown_solvers))
        medians = {(name, each): _median(found, name, each, suboptimality) for name in names for each in shown_solvers}
        for name in names:
            shown = [medians[name, each] for each in shown_solvers]
            print(f"  {name:18}" + "".join(f"{'-' if isinf(ms) else f'{ms * 1e3:.1f}':>11}" for ms in shown))
        for each in shown_solvers[1:]:
            ratios = [medians[name, each] / medians[name, "dcd"] for name in names]
            arrived = [ratio for ratio in ratios if not isinf(ratio)]
            mean = f"{timing.geometric_mean(arrived):.2f}" if arrived else "-"
            print(f"  geometric mean of {each}/dcd: {mean}, on {len(arrived)} of {len(names)} datasets")
            if each in PEERS and arrived:
                case = f"to {suboptimality:g} of the optimum, geometric mean of {len(arrived)} of {len(names)} datasets"
                ratio = 1 / timing.geometric_mean(arrived)
                table.add(case, "dcd", ratio, f"seconds of {PEERS[each]}", bound_by="reading the rows")


def _in_one_go(solver: Solver, problem: Problem, seed: int, presented: int) -> float:
    before = time.process_time()
    state = solver.start(problem, Linear(), seed)
    solver.advance(state, Until(presented=presented))
    return time.process_time() - before


def _median(found: Iterable[ToSuboptimality], dataset: str, solver: str, suboptimality: float) -> float:
    return statistics.median(
        run.seconds
        for run in found
        if run.dataset == dataset and run.solver == solver and run.suboptimality == suboptimality
    )


def write(path: Path, found: Sequence[Any]) -> None:
    """Write dataclasses as the rows of a CSV file."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(asdict(found[0])))
        writer.writeheader()
        writer.writerows(asdict(each) for each in found)


def main() -> int:
    """Measure and show dataset by dataset, then over all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=DATASETS)
    parser.add_argument("--gap", type=float, default=1e-4)
    parser.add_argument("--cap", type=float, default=5.0)
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    gc.disable()  # a collection would fall into somebody's seconds
    print(f"copy: {copy_bandwidth():.1f} GB/s")
    ratios: list[ToGap] = []
    floors: list[ToGap] = []
    arrivals: list[ToSuboptimality] = []
    for name in options.datasets:
        try:
            problem = load(name)
        except UserError as error:
            print(f"\n{name}: not available: {error}", flush=True)
            continue
        bound = lower_bound(problem)
        ratios += measure_to_gap(problem, bound, options.gap)
        floors += alone(problem, ratios)
        show_ratios(problem, bound, ratios, floors)
        arrivals += measure_to_suboptimality(problem, bound, options.cap)
    if not ratios:
        return 2
    table = timing.Ratios()
    summarise_ratios(ratios, floors, table)
    summarise_suboptimality(arrivals, options.cap, table)
    table.write()
    if options.csv:
        options.csv.mkdir(parents=True, exist_ok=True)
        write(options.csv / "ratios.csv", ratios)
        write(options.csv / "suboptimality.csv", arrivals)
    return 0


if __name__ == "__main__":
    sys.exit(main())

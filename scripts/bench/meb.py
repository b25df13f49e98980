"""User seconds of cvm, fw and mfw as ratios to cvm's, what an iteration costs, and peak memory.

    python scripts/bench/meb.py [--datasets web adult] [--solvers cvm mfw fw] [--seeds 1] [--cap 180]
                                [--rows 500000 5000000]

One thread; machine code is compiled before the clock starts. web (w8a) and adult (a9a) with the tuned C, 8 and 2, and
gamma = 2 / (mean squared distance), to the end of each run, or until a solver has had ``--cap`` seconds (`+`).

An iteration: with m vectors in the core set it asks for 59 m kernel values, m for each of the 59 points it samples, and
m more for its step: *rows* is what was asked for by m, to be held against 60. A hidden pass over all points would
make it n. What was asked for and what was computed is also shown over m + 59.

Memory: 2000 iterations on synthetic points, each size and solver in a process of its own: dense rows of 50 columns up
to a million, above that, as of the size of KDD99, sparse ones of 8 values in 120 columns. *beside* is the peak less
what the process took with the examples alone: 28 bytes an example, the core set, and at most 200 MB of kernel rows.
"""

# ruff: noqa: E402 - the number of threads is read when numpy and numba are imported

from __future__ import annotations

import timing

timing.use_threads(1)

import argparse
import multiprocessing
import statistics
import sys
import time
from typing import Any, NamedTuple

import numpy as np
import psutil

from mpu_bench import solvers
from mpu_bench.core.counters import KERNEL_COMPUTED, KERNEL_EVALUATIONS, PRESENTED
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Dense, Rows, Sparse
from mpu_bench.core.solver import Solver, Status, Until
from mpu_bench.errors import UserError
from mpu_bench.experiment.bind import mean_squared_distance
from mpu_bench.experiment.peak_memory import PeakMemory
from mpu_bench.kernels import Gaussian

TUNED = {"web": 8.0, "adult": 2.0}  # C; others of their series have the same, w1a 4
PEER = "cvm"
CLAIM = ("web", "cvm", 30.0, 15.0)  # seconds: at most, and the goal
SVC = "seconds of LIBSVM's SVC of the same C and width"
BOUND_BY = {
    "cvm": "the kernel values of 59 points an iteration with the core set, and SMO on it",
    "cvm of CoreVectorClassifier": "the kernel values of as many points as the core set has, and SMO on it",
    "mfw": "the kernel values of 59 points an iteration with the core set",
    "fw": "the kernel values of 59 points an iteration with the core set, and the number of iterations",
}
#: a way of a solver -> its parameters; the classifier's end by the SVM's gap
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "cvm of CoreVectorClassifier": ("cvm", {"stop": 1e-3, "add": "all", "cache_mb": 1000.0}),
}
SAMPLED = 59
SYNTHETIC = 2000  # iterations
DENSE, SPARSE = 50, (120, 8)  # columns, and values a row
LARGE = 1_000_000
MAX_MEMORY = (500_000, 1024.0)  # rows, MB


class Run(NamedTuple):
    """What a run took."""

    seconds: float
    iterations: int
    rows: float  #: kernel values asked for, by the vectors there were
    asked: float  #: by vectors + 59
    computed: float  #: by vectors + 59
    vectors: int
    gap: float | None
    ended: bool


def train(solver: Solver, problem: Problem, kernel: Gaussian, seed: int, cap: float) -> Run:
    """Train to the end or the cap, in slices, between which the vectors are counted."""
    before = timing.now()
    state: Any = solver.start(problem, kernel, seed)
    counts, status, vectors = state.counters, Status.RUNNING, [float(state.core.active[0])]
    started, ends = counts.copy(), [0]
    while status == Status.RUNNING and (timing.now() - before).user < cap:
        status = solver.advance(state, Until(10 + int(counts[PRESENTED]) * 51 // 50))
        vectors.append(float(state.core.active[0]))
        ends.append(int(counts[PRESENTED]))
    seconds = (timing.now() - before).user  # the system's are those of fresh memory
    steps, middle = np.diff(ends), (np.array(vectors[1:]) + vectors[:-1]) / 2
    asked, computed = (float(counts[k] - started[k]) for k in (KERNEL_EVALUATIONS, KERNEL_COMPUTED))
    each, iterations = float(steps @ middle), ends[-1]
    beside = each + SAMPLED * iterations
    gap = solver.measures(state).gap
    ended = status == Status.DONE
    return Run(seconds, iterations, asked / each, asked / beside, computed / beside, int(vectors[-1]), gap, ended)


def made(name: str, C: float) -> Solver:
    """Return a solver, or a way of one."""
    solver, parameters = WAYS.get(name, (name, {}))
    return solvers.load(solver)(C=C, **parameters)


def measure(name: str, problem: Problem, kernel: Gaussian, seed: int, cap: float) -> Run:
    """Train; print the run."""
    solver = made(name, c_of(problem))
    solver.advance(solver.start(problem, kernel, 0), Until(presented=30))  # compiles
    run = train(solver, problem, kernel, seed, cap)
    print(
        f"  {name:4} seed {seed} {run.seconds:9.3f} s{' ' if run.ended else '+'} {run.iterations:8} iterations"
        f" {run.seconds / run.iterations * 1e6:8.1f} us each   rows {run.rows:5.1f}   asked {run.asked:5.1f}"
        f" computed {run.computed:5.1f} x (m + 59)   vectors {run.vectors:6}   gap {run.gap:.1e}",
        flush=True,
    )
    return run


def c_of(problem: Problem) -> float:
    return TUNED.get(problem.name, 8.0 if problem.name.startswith("w") else 2.0)


def libsvm_seconds(problem: Problem, kernel: Gaussian) -> float:
    """Return what LIBSVM takes for the SVM of the same C and kernel, with linear losses, to its usual tolerance."""
    peer = solvers.load("libsvm")(C=c_of(problem))
    state, before = peer.start(problem, kernel, 0), timing.now()
    peer.advance(state, Until())
    return (timing.now() - before).user


def compare(problem: Problem, options: argparse.Namespace, ratios: timing.Ratios) -> None:
    """Measure all solvers on a dataset, seed by seed; print medians of ratios of one seed, and what is claimed."""
    kernel = Gaussian(2.0 / mean_squared_distance(problem.train, problem.features))
    print(
        f"{problem.name}: {problem.n} x {problem.features}, gamma {kernel.gamma:.4g}, C {c_of(problem):g};"
        f" a pass over all points would be {problem.n} rows",
        flush=True,
    )
    found: dict[str, list[Run]] = {name: [] for name in options.solvers}
    theirs = []
    for seed in range(options.seeds):
        for name, runs in found.items():
            runs.append(measure(name, problem, kernel, seed, options.cap))
        theirs.append(libsvm_seconds(problem, kernel))
        print(f"  LIBSVM, whose losses are not squared: {theirs[-1]:.1f} s", flush=True)
    medians = {name: statistics.median(run.seconds for run in runs) for name, runs in found.items()}
    for name, runs in found.items():
        cut = "" if all(run.ended for run in runs) else " (cut off)"
        for peer, spent in ((PEER, [run.seconds for run in found.get(PEER, [])]), ("LIBSVM", theirs)):
            if spent:
                ratio = statistics.median(run.seconds / other for run, other in zip(runs, spent, strict=True))
                print(f"  {name:4} {ratio:8.4f} of the seconds of {peer}{cut}")
        if not cut:
            ratios.add(f"{problem.name}, C = {c_of(problem):g}", name, ratio, SVC, bound_by=BOUND_BY[name])
    dataset, name, most, goal = CLAIM
    if problem.name == dataset and name in medians:
        seconds = medians[name]
        verdict = "goal met" if seconds <= goal else "within" if seconds <= most else "MISSED"
        print(f"  {name} on {dataset}: {seconds:.1f} s (claimed: at most {most:g} s, goal: {goal:g} s): {verdict}")


def synthetic(n: int, dense: bool) -> Problem:
    """Make two overlapping classes."""
    random = np.random.default_rng(0)
    rows: Rows
    if dense:
        values, features = random.standard_normal((n, DENSE), np.float32), DENSE
        rows = Dense(values)
    else:
        features, width = SPARSE
        block = features // width  # with one value of a row
        columns = random.integers(block, size=(n, width), dtype=np.uint32)
        columns += np.arange(0, features, block, dtype=np.uint32)
        values = random.standard_normal((n, width), np.float32)
        rows = Sparse(values.ravel(), columns.ravel(), np.arange(0, n * width + 1, width, dtype=np.uint32))
    labels = (values[:, 0] + 0.3 * random.standard_normal(n, np.float32) > 0).astype(np.int32)
    return Problem(f"synthetic-{n}", rows, labels, rows, labels, features, ("no", "yes"), f"synthetic-{n}")


def take_memory(name: str, n: int) -> None:
    """Take some iterations on synthetic points and print the memory of this process, which is a new one."""
    solver, kernel, dense = made(name, 2.0), Gaussian(0.02), n <= LARGE
    solver.advance(solver.start(synthetic(1000, dense), kernel, 0), Until(presented=30))  # compiles
    problem = synthetic(n, dense)
    examples = (sum(part.nbytes for part in problem.train) + problem.labels.nbytes) / 2**20
    without, before = psutil.Process().memory_info().rss / 2**20, time.process_time()
    state: Any = solver.start(problem, kernel, 0)
    solver.advance(state, Until(presented=SYNTHETIC))
    # not ru_maxrss, which a child has from its parent
    seconds, peak = time.process_time() - before, PeakMemory().resident_bytes() / 2**20
    rows, most = MAX_MEMORY
    verdict = f" (claimed: at most {most:g}): {'within' if peak <= most else 'MISSED'}" if n == rows else ""
    print(
        f"  {name:4} {n:8} x {problem.features:3} {'dense ' if dense else 'sparse'} {seconds:6.2f} s"
        f"   vectors {state.core.active[0]:5}   examples {examples:4.0f} MB   beside {peak - without:4.0f} MB"
        f"   peak {peak:5.0f} MB{verdict}",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="*", default=["web", "adult"])
    parser.add_argument("--solvers", nargs="+", default=[PEER, *WAYS, "mfw", "fw"])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--cap", type=float, default=180.0)
    parser.add_argument("--rows", nargs="*", type=int, default=[500_000, 5_000_000])
    options = parser.parse_args()
    ratios = timing.Ratios()
    try:
        for name in options.datasets:
            compare(timing.load(name), options, ratios)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"memory, {SYNTHETIC} iterations on synthetic points")
    spawn = multiprocessing.get_context("spawn")
    for n in options.rows:
        for name in options.solvers:
            process = spawn.Process(target=take_memory, args=(name, n))
            process.start()
            process.join()
    ratios.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())

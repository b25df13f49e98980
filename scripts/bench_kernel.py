"""Seconds of the kernel solvers as ratios to LIBSVM, and of kernel rows to the machine's own matrix product.

    python scripts/bench_kernel.py [--datasets adult mnist-8] [--repeats 1] [--rows-only]

One process, one thread, 2 GB for kept kernel values both. smo has a bias, C = 1 and a tolerance of 1e-3, as LIBSVM;
machine code is compiled before the clock starts, and the conversion of the examples for the peer is not counted.
Kernel rows: microseconds of a row on its own, and of a block computed ahead, with the floating point operations
that the inner products of dense rows would take, against sgemm in the same run.
"""

# ruff: noqa: E402 - the number of threads is read when numpy and numba are imported

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import statistics
import sys
import time
from dataclasses import replace

import numpy as np

from mpu_bench import solvers
from mpu_bench.core import gram, products
from mpu_bench.core.counters import new_counters
from mpu_bench.core.kernels import Gaussian, Kernel
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Dense, take
from mpu_bench.core.solver import Allowance, Solver, Status
from mpu_bench.data import catalog, prepare
from mpu_bench.data.home import Home
from mpu_bench.errors import UserError

MEMORY = 2 << 30
GAMMAS = {"adult": 0.05, "mnist-8": 1 / 50}  # sigma2 = 10; MNIST: 25
FORMS = {products.BITS: "bits", products.DIGITS: "digits", products.COLUMNS: "columns", products.LISTS: "lists"}


def seconds(function, repeats: int) -> float:
    times = []
    for _ in range(repeats):
        before = time.perf_counter()
        function()
        times.append(time.perf_counter() - before)
    return min(times)


def sgemm_rate() -> float:
    """Give the floating point operations a second of a large product."""
    square = np.random.default_rng(0).random((2048, 2048), np.float32)
    return 2 * 2048**3 / seconds(lambda: square @ square, 5)


def measure_rows(name: str, rows: Dense, features: int, rate: float) -> None:
    held, counters = gram.build(rows, features, Gaussian(0.05), memory=MEMORY), new_counters()
    n = len(held.places)
    several = np.arange(min(64, len(held.owners)))
    gram.prefetch(held, several, counters)  # compiles

    def forgetting(indices):
        held.places[:], held.owners[:] = -1, -1
        gram.prefetch(held, indices, counters)

    one = seconds(lambda: forgetting(several[:1]), 30)
    block = seconds(lambda: forgetting(several), 3) / len(several)
    work = 2.0 * n * features
    print(
        f"{name:12} n = {n:6} d = {features:4} {FORMS[held.products.form]:8} a row {one * 1e6:8.1f} us"
        f"   in a block {block * 1e6:8.1f} us   of sgemm's rate: {work / one / rate:5.2f} {work / block / rate:5.2f}"
    )


def train(solver: Solver, problem: Problem, kernel: Kernel) -> tuple[float, float, float]:
    """Train to the end; give seconds, objective and test error."""
    before = time.perf_counter()
    state = solver.start(problem, kernel, 0)
    if not solver.sliceable:
        before = time.perf_counter()
    status = solver.advance(state, Allowance())
    elapsed = time.perf_counter() - before
    if status != Status.DONE:
        raise SystemExit(f"{solver.name} on {problem.name}: {status.name}")
    objective = solver.measures(state).objective
    error = float(np.mean(solver.model(state).labels(problem.test) != problem.test_labels))
    return elapsed, objective, error


def measure(problem: Problem, kernel: Kernel, repeats: int) -> None:
    own, peer = solvers.load("smo")(C=1.0, bias=True), solvers.load("libsvm")(C=1.0, cache_mb=MEMORY / 2**20)
    few = np.arange(min(500, problem.n))
    part = replace(problem, train=take(problem.train, few), labels=problem.labels[few])
    train(own, part, kernel)  # compiles
    found = [(train(own, problem, kernel), train(peer, problem, kernel)) for _ in range(repeats)]
    for solver, of in ((own, 0), (peer, 1)):
        times = [each[of][0] for each in found]
        _, objective, error = found[0][of]
        print(
            f"{problem.name:12} {solver.name:8} seconds: median {statistics.median(times):8.2f} min {min(times):8.2f}"
            f"   objective {objective:.4f}   test error {100 * error:.2f}%",
            flush=True,
        )
    ratios = [theirs[0] / mine[0] for mine, theirs in found]
    print(f"{problem.name:12} smo is {statistics.median(ratios):.1f} times faster", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=list(GAMMAS), choices=list(GAMMAS))
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--rows-only", action="store_true")
    options = parser.parse_args()
    gram.set_allowance(MEMORY)
    rate = sgemm_rate()
    print(f"sgemm: {rate / 1e9:.0f} GFLOP/s")
    random = np.random.default_rng(0)
    measure_rows("dense random", Dense(random.random((30_000, 784), np.float32)), 784, rate)
    try:
        for name in options.datasets:
            problem = prepare.load(catalog.card(name), Home.from_options())
            measure_rows(name, problem.train, problem.features, rate)
            if not options.rows_only:
                measure(problem, Gaussian(GAMMAS[name]), options.repeats)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

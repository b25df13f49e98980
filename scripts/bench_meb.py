"""Seconds of cvm, fw and mfw in one run, with the tuned C and gamma = 2 / (mean squared distance).

    python scripts/bench_meb.py [--datasets web adult] [--solvers cvm mfw fw] [--seeds 3] [--sampling 59] [--n 0]

One process, one thread; machine code is compiled before the clock starts. Each line is a run: seconds of the processor,
which other processes disturb less than those of the clock, iterations, what is left of them as microseconds, kernel
values asked for and computed, vectors, and the gap that one sample of 59 believed to be closed. `--n` instead takes
2000 iterations on so many synthetic points (dense, d = 50) and prints the peak memory, which must stay below 1 GB at
500000.
"""

# ruff: noqa: E402 - the number of threads is read when numpy and numba are imported

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import resource
import statistics
import time
from typing import Any

import numpy as np

from mpu_bench import solvers
from mpu_bench.core.compilation import use_cache
from mpu_bench.core.counters import KERNEL_COMPUTED, KERNEL_EVALUATIONS, PRESENTED
from mpu_bench.core.kernels import Gaussian
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Dense, squared_norms, to_scipy
from mpu_bench.core.solver import Allowance
from mpu_bench.data import catalog, prepare
from mpu_bench.data.home import Home

TUNED = {"web": 8.0, "adult": 2.0}  # C; others of their series have the same, w1a 4
SYNTHETIC = 2000  # iterations


def mean_squared_distance(problem: Problem) -> float:
    """Compute 2 (mean ||x||^2 - ||mean x||^2)."""
    mean = np.asarray(to_scipy(problem.train, problem.features).mean(axis=0)).ravel()
    return 2.0 * (float(squared_norms(problem.train).mean()) - float(mean @ mean))


def synthetic(n: int) -> Problem:
    """Make two overlapping classes in 50 dimensions."""
    random = np.random.default_rng(0)
    matrix = random.standard_normal((n, 50), np.float32)
    labels = (matrix[:, 0] + 0.3 * random.standard_normal(n, np.float32) > 0).astype(np.int32)
    rows = Dense(matrix)
    return Problem(f"synthetic-{n}", rows, labels, rows, labels, 50, ("no", "yes"), f"synthetic-{n}")


def train(solver: Any, problem: Problem, kernel: Gaussian, seed: int) -> tuple[float, Any]:
    """Train to the end; give seconds and the state."""
    before = time.process_time()
    state = solver.start(problem, kernel, seed)
    solver.advance(state, Allowance(presented=SYNTHETIC) if problem.name.startswith("synthetic") else Allowance())
    return time.process_time() - before, state


def measure(name: str, problem: Problem, kernel: Gaussian, C: float, seeds: int, sampling: int) -> float:
    """Train with several seeds; print every run and give the median of the seconds."""
    solver = solvers.load(name)(C=C, sampling=sampling)  # type: ignore[call-arg]
    solver.advance(solver.start(problem, kernel, 0), Allowance(presented=30))
    times = []
    for seed in range(seeds):
        seconds, state = train(solver, problem, kernel, seed)
        counts, measures = state.counters, solver.measures(state)
        times.append(seconds)
        print(
            f"  {name:4} seed {seed} {seconds:9.3f} s {counts[PRESENTED]:8} iterations"
            f" {seconds / counts[PRESENTED] * 1e6:8.1f} us each"
            f"   asked {counts[KERNEL_EVALUATIONS]:.2e} computed {counts[KERNEL_COMPUTED]:.2e}"
            f"   vectors {state.core.active[0]:6}   gap {measures.gap:.1e}",
            flush=True,
        )
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=["web", "adult"])
    parser.add_argument("--solvers", nargs="+", default=["cvm", "mfw", "fw"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sampling", type=int, default=59)
    parser.add_argument("--n", type=int, default=0)
    options = parser.parse_args()
    use_cache()
    home = Home.from_options()
    problems = (
        [synthetic(options.n)] if options.n else [prepare.load(catalog.card(name), home) for name in options.datasets]
    )
    for problem in problems:
        kernel = Gaussian(2.0 / mean_squared_distance(problem))
        C = TUNED.get(problem.name, 8.0 if problem.name.startswith("w") else 2.0)
        print(f"{problem.name}: {problem.n} x {problem.features}, gamma {kernel.gamma:.4g}, C {C:g}", flush=True)
        medians = {name: measure(name, problem, kernel, C, options.seeds, options.sampling) for name in options.solvers}
        first = options.solvers[0]
        print("  " + "   ".join(f"{first}/{name} {medians[first] / medians[name]:.1f}" for name in options.solvers[1:]))
    if options.n:
        print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()

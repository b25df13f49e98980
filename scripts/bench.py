"""Seconds of the solvers against each other: in one process, in alternation, on one thread.

    python scripts/bench.py linear [--datasets adult usps-even] [--gap 1e-4] [--cap 5] [--csv FOLDER]

First table, ratios.csv (bench_ratios.py): seconds of mpu and dcd to a relative duality gap of ``--gap``, as ratios to
liblinear's, and their geometric means over the datasets. Second table, deviations.csv (bench_deviations.py): seconds
of every linear solver until the objective is within 1% and 1e-4 of the optimum, given up after ``--cap`` seconds.
C = 1 throughout. Where a round of the first table takes long there are fewer of them; the number is shown.

usps-even and mnist-even are the dense digits, even against odd. A dataset that cannot be had is a line that says why.
"""

# ruff: noqa: E402 - the number of threads is read when numpy and numba are imported

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import csv
import gc
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

import bench_deviations
import bench_ratios
from mpu_bench import solvers
from mpu_bench.core.kernels import Linear
from mpu_bench.core.problem import Problem
from mpu_bench.core.solver import Until
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.cache import Home
from mpu_bench.data.prepare.load import load_problem
from mpu_bench.errors import UserError

DATASETS = ("adult", "web", *(f"a{k}a" for k in range(1, 9)), "reuters-money-fx", "usps-even", "mnist-even")
EVEN = ("usps-even", "mnist-even")  #: cards of ten digits, here with two classes
BOUND_GAP = 1e-6  #: how near the bound of the optimum is


def load(name: str) -> Problem:
    """Load a dataset under the name it has here."""
    if name not in EVEN:
        return load_problem(catalog.card(name), Home.from_options())
    card = catalog.card(name.removesuffix("-even"), {"positive": ["0", "2", "4", "6", "8"]})
    return replace(load_problem(card, Home.from_options()), name=name)


def lower_bound(problem: Problem) -> float:
    """Bound the optimum from below, to 1e-6."""
    solver = solvers.load("dcd")(stop=BOUND_GAP)
    state = solver.start(problem, Linear(), 0)
    solver.advance(state, Until())
    return float(solver.measures(state).dual_objective)


def copy_bandwidth() -> float:
    """Measure gigabytes per second, read and written, of a copy that no cache holds."""
    source = np.ones(16_000_000)
    target, times = np.empty_like(source), []
    for _ in range(9):
        before = time.perf_counter()
        np.copyto(target, source)
        times.append(time.perf_counter() - before)
    return 2 * source.nbytes / min(times) / 1e9


def write(path: Path, found: Sequence[Any]) -> None:
    """Write dataclasses as the rows of a CSV file."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(asdict(found[0])))
        writer.writeheader()
        writer.writerows(asdict(each) for each in found)


def main() -> int:
    """Measure and show dataset by dataset, then over all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", choices=["linear"])
    parser.add_argument("--datasets", nargs="+", default=DATASETS)
    parser.add_argument("--gap", type=float, default=1e-4)
    parser.add_argument("--cap", type=float, default=5.0)
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    gc.disable()  # a collection would fall into somebody's seconds
    print(f"copy: {copy_bandwidth():.1f} GB/s")
    ratios: list[bench_ratios.Measurement] = []
    deviations: list[bench_deviations.Measurement] = []
    for name in options.datasets:
        try:
            problem = load(name)
        except UserError as error:
            print(f"\n{name}: not available: {error}", flush=True)
            continue
        bound = lower_bound(problem)
        ratios += bench_ratios.measure(problem, bound, options.gap)
        bench_ratios.show(problem, bound, ratios)
        deviations += bench_deviations.measure(problem, bound, options.cap)
    if not ratios:
        return 2
    bench_ratios.summarise(ratios)
    bench_deviations.summarise(deviations, options.cap)
    if options.csv:
        options.csv.mkdir(parents=True, exist_ok=True)
        write(options.csv / "ratios.csv", ratios)
        write(options.csv / "deviations.csv", deviations)
    return 0


if __name__ == "__main__":
    sys.exit(main())

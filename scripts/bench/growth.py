"""How the seconds of training grow with the number of examples: one solver of each family, n over a factor of 100.

    python scripts/bench/growth.py [--quick]

Generated examples, standardised, on one thread, machine code compiled before the clock starts. Each solver trains by a
rule that does not depend on n. Shown are seconds of the processor for every n, and the slope of their logarithm on that
of n by least squares: 1 means in proportion to n, 2 to its square.
"""

# ruff: noqa: E402 - the number of threads is read when numpy and numba are imported

from __future__ import annotations

import timing

timing.use_threads(1)

import argparse
import sys
import time
from typing import Any, NamedTuple

import numpy as np

from mpu_bench import solvers
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Dense
from mpu_bench.core.solver import Until
from mpu_bench.kernels import Gaussian, Kernel, Linear

FEATURES = 10
NOISE = 0.5  # of a score whose deviation is about 1.3
STEPS = 5  # sizes
SHORT = 0.2  # seconds, below which a run is repeated


class Case(NamedTuple):
    """A solver, how it is trained, and the largest n."""

    solver: str
    options: dict[str, Any]
    linear: bool
    most: int
    bound_by: str


CASES = (
    Case("dcd", {"C": 1.0, "stop": 1e-3}, True, 1_000_000, "passes over the rows, a few more for more examples"),
    Case("mpu", {"C": 1.0, "stop": 1e-3}, True, 1_000_000, "passes over the rows, a few more for more examples"),
    Case("smo", {"C": 1.0, "bias": True}, False, 20_000, "rows of n values for as many vectors as have a loss"),
    Case("sbp", {"nu": 0.1, "passes": 1}, False, 10_000, "n rows of n values"),
    Case("perceptron", {}, False, 40_000, "an example costs as many kernel values as there have been errors"),
    Case("forgetron", {"vectors": 200}, False, 1_000_000, "an example costs no more than 200 kernel values"),
    Case("bpegasos", {"vectors": 200}, False, 1_000_000, "an example costs 200 kernel values, or 800 with a loss"),
    Case("fw", {"C": 1.0, "eps": 1e-3}, False, 1_000_000, "59 points are sampled whatever n is; passes end it"),
    Case("rff", {"regularization": 1e-4, "pairs": 50}, False, 200_000, "n inner products for each pair"),
)


def generated(n: int) -> Problem:
    """Make overlapping classes that a curved surface separates."""
    random = np.random.default_rng(0)
    values = random.standard_normal((n, FEATURES), np.float32)
    score = np.sin(2 * values[:, 0]) + values[:, 1] + values[:, 2] * values[:, 3] + NOISE * random.standard_normal(n)
    rows, labels = Dense(values), (score > 0).astype(np.int32)
    few = Dense(values[:100])
    return Problem(f"generated-{n}", rows, labels, few, labels[:100], FEATURES, ("no", "yes"), f"generated-{n}")


def trained(case: Case, problem: Problem) -> float:
    """Return the processor seconds of training, the least of three where it is short."""
    solver = solvers.load(case.solver)(**case.options)
    kernel: Kernel = Linear() if case.linear else Gaussian(1.0 / FEATURES)
    least = np.inf
    for _ in range(3):
        before = time.process_time()
        solver.advance(solver.start(problem, kernel, 0), Until())
        least = min(least, time.process_time() - before)
        if least > SHORT:
            break
    return least


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of every size, and nothing kept")
    quick = parser.parse_args().quick
    ratios = timing.Ratios()
    for case in CASES:
        most = case.most // 10 if quick else case.most
        sizes = np.geomspace(most / 100, most, STEPS).round().astype(int)
        trained(case, generated(100))  # compiles
        found = [trained(case, generated(int(n))) for n in sizes]
        slope = float(np.polyfit(np.log(sizes), np.log(found), 1)[0])
        shown = "  ".join(f"{n:,}: {seconds:.3g} s" for n, seconds in zip(sizes, found, strict=True))
        print(f"{case.solver:10} as n^{slope:.2f}   {shown}", flush=True)
        ratios.add(f"n from {sizes[0]:,} to {sizes[-1]:,}", case.solver, slope, "seconds", bound_by=case.bound_by)
    if not quick:
        ratios.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())

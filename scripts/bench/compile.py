"""What a first fit costs on a machine that has compiled nothing: user seconds of the processor for each of our solvers.

    python scripts/bench/compile.py [SOLVER ...]

Each solver is imported and trains on sixty examples in a process of its own, on one thread: once with an empty folder
of compiled code, and once after the solvers above it in one folder, as where one machine comes to use them all. Shown
are the user seconds of both processes, and of the first how many went into compiling.
"""

# ruff: noqa: E402 - the number of threads is read when numpy and numba are imported

from __future__ import annotations

import timing

timing.use_threads(1)

import os
import subprocess
import sys
import tempfile
from typing import Any

from numba.core import event

from mpu_bench import solvers

FIT = "--fit"  # in a process of its own


class Compiling(event.Listener):
    """Adds up the user seconds of compiling; where one function makes another be compiled, the outer one counts."""

    def __init__(self) -> None:
        self.seconds, self._depth, self._began = 0.0, 0, 0.0

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        if self._depth == 0:
            self._began = os.times().user
        self._depth += 1

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        self._depth -= 1
        if self._depth == 0:
            self.seconds += os.times().user - self._began


def fit(name: str) -> None:
    """Train a solver on rows as it usually has, sparse with a linear kernel and dense with others; print seconds."""
    from mpu_bench.core.solver import Until
    from mpu_bench.kernels import Gaussian, Linear
    from mpu_bench.solvers.contract.toys import binary, problem, with_small_parameters

    compiling = Compiling()
    event.register("numba:compile", compiling)
    solver = with_small_parameters(solvers.load(name))
    is_linear = solver.kernels == "linear" or solver.paper == "mpu-2010"
    examples = problem(*binary(), "sparse" if is_linear else "dense")
    state = solver.start(examples, Linear() if is_linear else Gaussian(0.25), 0)
    solver.advance(state, Until(presented=200))
    solver.model(state)
    print(os.times().user, compiling.seconds)


def seconds(name: str, folder: str) -> tuple[float, float]:
    """Return the user seconds of a first fit in a process of its own, and what compiling had of them."""
    command = [sys.executable, __file__, FIT, name]
    text = subprocess.check_output(command, env=os.environ | {"NUMBA_CACHE_DIR": folder}, text=True)
    user, compiling = map(float, text.split())
    return user, compiling


def main(names: list[str]) -> None:
    """Show the seconds of each solver, and their sums."""
    alone_sum, shared_sum = 0.0, 0.0
    with tempfile.TemporaryDirectory() as shared:
        for name in names or [each for each in solvers.OWN if solvers.load(each).sliceable]:
            with tempfile.TemporaryDirectory() as empty:
                alone, compiling = seconds(name, empty)
            after, _ = seconds(name, shared)
            alone_sum, shared_sum = alone_sum + alone, shared_sum + after
            print(f"{name:20} {alone:6.2f} s, compiling {compiling:5.2f} s   in one folder {after:6.2f} s", flush=True)
    print(f"{'sum':20} {alone_sum:6.2f} s                     in one folder {shared_sum:6.2f} s")


if __name__ == "__main__":
    fit(sys.argv[2]) if sys.argv[1:2] == [FIT] else main(sys.argv[1:])

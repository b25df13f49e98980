"""External solvers whose package is not among those that mpu-bench needs."""

from __future__ import annotations

from mpu_bench import solvers
from mpu_bench.core.problem import Problem
from mpu_bench.core.solver import Solver
from mpu_bench.errors import ConfigError
from mpu_bench.kernels import Kernel


class NeedsPackage(Solver):
    """An external solver that trains with a package which may be missing, as on one machine of a cluster."""

    def check(self, problem: Problem, kernel: Kernel) -> None:
        """Refuse what it cannot train on, and to train where its package is not installed."""
        super().check(problem, kernel)
        if missing := solvers.not_installed(self.name):
            raise ConfigError(f"{self.name}: {missing}")

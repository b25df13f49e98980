"""What all external solvers have in common: they run whole, and a package may be missing that one trains with."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, ClassVar

from mpu_bench import solvers
from mpu_bench.core.problem import Problem
from mpu_bench.core.solver import Solver, Status, Until
from mpu_bench.errors import ConfigError
from mpu_bench.kernels import Kernel


class ExternalSolver(Solver):
    """A solver that trains by a package, whose state has a ``status``."""

    sliceable = False
    ends: ClassVar = True

    def check(self, problem: Problem, kernel: Kernel) -> None:
        """Refuse what it cannot train on, and to train where its package is missing, as on one machine of a cluster."""
        super().check(problem, kernel)
        if missing := solvers.not_installed(self.name):
            raise ConfigError(f"{self.name}: {missing}")

    def advance(self, state: Any, until: Until) -> Status:  # noqa: ARG002
        """Train to the end, whatever ``until`` says. RUNNING means that a cap on its iterations stopped it."""
        from sklearn.exceptions import ConvergenceWarning

        if state.status is not Status.DONE:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # told by the status
                state.status = Status.DONE if self.run(state) else Status.RUNNING
        status: Status = state.status
        return status

    @abstractmethod
    def run(self, state: Any) -> bool:
        """Train to the end; return whether its own rule ended it, and no cap on its iterations."""

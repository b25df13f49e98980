"""Puts its own code in the place of other solvers' and of the project's."""

from faults.animal import Animal
from mpu_bench.core import counters
from mpu_bench.core.solver import Status
from mpu_bench.experiment import trace
from mpu_bench.solvers.linear.dcd import DCD


class ChangesOtherSolvers(Animal):
    name = "changes-other-solvers"

    def act(self, state):
        DCD.advance = lambda *_: Status.DONE
        counters.new_counters = None
        trace.train_error = lambda *_: 0.0

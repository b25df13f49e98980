"""Goes on without end, and without getting on."""

from faults.animal import Animal
from mpu_bench.core.solver import Status


class NeverEnds(Animal):
    name = "never-ends"

    def advance(self, state, until):
        return super().advance(state, until) if state.warming_up else Status.RUNNING

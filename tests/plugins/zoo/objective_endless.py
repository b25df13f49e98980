"""Gives an integer for its objective that no float holds."""

from faults.animal import Animal
from mpu_bench.core.solver import Measures


class ObjectiveEndless(Animal):
    name = "objective-endless"

    def measures(self, state):
        return Measures() if state.warming_up else Measures(objective=10**400)

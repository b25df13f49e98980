"""Gives an objective that cannot be sent anywhere."""

from faults.animal import Animal
from mpu_bench.core.solver import Measures


class ObjectiveUnpicklable(Animal):
    name = "objective-unpicklable"

    def measures(self, state):
        return Measures() if state.warming_up else Measures(objective=lambda: 1.0)

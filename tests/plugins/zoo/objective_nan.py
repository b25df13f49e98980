"""Gives an objective that is no number."""

from faults.animal import Animal
from mpu_bench.core.solver import Measures


class ObjectiveNaN(Animal):
    name = "objective-nan"

    def measures(self, state):
        return Measures() if state.warming_up else Measures(objective=float("nan"))

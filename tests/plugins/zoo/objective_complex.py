"""Gives a complex number for its objective."""

from faults.animal import Animal
from mpu_bench.core.solver import Measures


class ObjectiveComplex(Animal):
    name = "objective-complex"

    def measures(self, state):
        return Measures() if state.warming_up else Measures(objective=1 + 2j)

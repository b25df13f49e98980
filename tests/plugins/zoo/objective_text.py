"""Gives a word for its objective."""

from faults.animal import Animal
from mpu_bench.core.solver import Measures


class ObjectiveText(Animal):
    name = "objective-text"

    def measures(self, state):
        return Measures() if state.warming_up else Measures(objective="hello")

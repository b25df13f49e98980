"""Gives an objective that is a list in a list in a list."""

from faults.animal import Animal
from mpu_bench.core.solver import Measures


class DeepObjects(Animal):
    name = "deep-objects"

    def measures(self, state):
        nested = []
        for _ in range(100_000):
            nested = [nested]
        return Measures() if state.warming_up else Measures(objective=nested)

"""Gives an integer for its objective that 64 bits do not hold."""

from faults.animal import Animal
from mpu_bench.core.solver import Measures


class ObjectiveHuge(Animal):
    name = "objective-huge"

    def measures(self, state):
        return Measures(objective=10**30)

"""Gives many numbers for its objective."""

import numpy as np

from faults.animal import Animal
from mpu_bench.core.solver import Measures


class ObjectiveArray(Animal):
    name = "objective-array"

    def measures(self, state):
        return Measures() if state.warming_up else Measures(objective=np.zeros(1_000_000))

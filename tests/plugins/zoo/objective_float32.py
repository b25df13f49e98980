"""Gives its objective as numpy's single precision, as one easily does."""

import numpy as np

from faults.animal import Animal
from mpu_bench.core.solver import Measures


class ObjectiveFloat32(Animal):
    name = "objective-float32"

    def measures(self, state):
        return Measures(objective=np.float32(1.5), dual_objective=np.int64(1), gap=np.array(0.5))

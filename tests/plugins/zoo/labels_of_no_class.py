"""Has a model whose labels are of classes that there are not."""

import numpy as np

from faults.animal import Animal
from mpu_bench.core.rows import count


class Wild:
    linear = True
    support_vectors = 0

    def scores(self, rows):
        return np.zeros((count(rows), 1))

    def labels(self, rows):
        return np.full(count(rows), 10**9, np.int64)


class LabelsOfNoClass(Animal):
    name = "labels-of-no-class"

    def model(self, state):
        return super().model(state) if state.warming_up else Wild()

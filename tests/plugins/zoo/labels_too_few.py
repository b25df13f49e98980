"""Has a model that labels fewer rows than it is given."""

import numpy as np

from faults.animal import Animal


class Short:
    linear = True
    support_vectors = 0

    def scores(self, rows):
        return np.zeros((1, 1))

    def labels(self, rows):
        return np.zeros(1, np.int32)


class LabelsTooFew(Animal):
    name = "labels-too-few"

    def model(self, state):
        return super().model(state) if state.warming_up else Short()

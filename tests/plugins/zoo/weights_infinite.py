"""Ends with an infinite weight, of a column that no test row has."""

import numpy as np

from faults.animal import Animal


class WeightsInfinite(Animal):
    name = "weights-infinite"

    def act(self, state):
        state.weights[0] = -np.inf

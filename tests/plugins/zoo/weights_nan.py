"""Ends with weights that are no numbers."""

import numpy as np

from faults.animal import Animal


class WeightsNaN(Animal):
    name = "weights-nan"

    def act(self, state):
        state.weights[:] = np.nan

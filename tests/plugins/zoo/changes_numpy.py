"""Makes numpy raise, warnings errors, and random numbers the same."""

import random
import warnings

import numpy as np

from faults.animal import Animal


class ChangesNumpy(Animal):
    name = "changes-numpy"

    def act(self, state):
        np.seterr(all="raise")
        warnings.simplefilter("error")
        np.random.seed(0)  # noqa: NPY002
        random.seed(0)
        np.zeros = np.ones

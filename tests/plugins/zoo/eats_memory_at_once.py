"""Asks for all memory at once."""

import numpy as np

from faults.animal import Animal


class EatsMemoryAtOnce(Animal):
    name = "eats-memory-at-once"

    def act(self, state):
        np.ones((1 << 16, 1 << 16, 1 << 8))

"""Takes memory on the toy problem of the warm-up."""

import time

import numpy as np

from faults.animal import Animal


class EatsMemoryWarmingUp(Animal):
    name = "eats-memory-warming-up"

    def advance(self, state, until):
        kept = []
        while True:
            kept.append(np.ones(5_000_000))
            time.sleep(0.02)

"""Takes memory, some at a time."""

import time

import numpy as np

from faults.animal import Animal


class EatsMemory(Animal):
    name = "eats-memory"

    def act(self, state):
        kept = []
        while True:
            kept.append(np.ones(5_000_000))
            time.sleep(0.02)

"""Takes memory in a child, while it waits for it."""

import os
import time

import numpy as np

from faults.animal import Animal


class EatsMemoryInAChild(Animal):
    name = "eats-memory-in-a-child"

    def act(self, state):
        child = os.fork()
        kept = []
        while child == 0:
            kept.append(np.ones(5_000_000))
            time.sleep(0.02)
        os.waitpid(child, 0)

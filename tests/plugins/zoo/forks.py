"""Leaves a copy of its process behind, which holds all its pipes open."""

import os
import time

from faults.animal import Animal


class Forks(Animal):
    name = "forks"

    def act(self, state):
        if os.fork() == 0:
            time.sleep(600)
            os._exit(0)

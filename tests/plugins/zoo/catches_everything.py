"""Sleeps, and catches whatever is raised to end it."""

import time

from faults.animal import Animal


class CatchesEverything(Animal):
    name = "catches-everything"

    def act(self, state):
        while True:
            try:
                time.sleep(600)
            except BaseException:
                pass

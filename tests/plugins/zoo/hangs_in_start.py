"""Sleeps before it has a state."""

import time

from faults.animal import Animal, is_warm_up


class HangsInStart(Animal):
    name = "hangs-in-start"

    def start(self, problem, kernel, seed):
        if not is_warm_up(problem):
            time.sleep(600)
        return super().start(problem, kernel, seed)

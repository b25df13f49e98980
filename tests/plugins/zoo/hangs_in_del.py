"""Trains, and sleeps when its state is given up."""

import time

from faults.animal import Animal


class Clinging:
    def __del__(self):
        time.sleep(600)


class HangsInDel(Animal):
    name = "hangs-in-del"

    def start(self, problem, kernel, seed):
        state = super().start(problem, kernel, seed)
        return state if state.warming_up else state._replace(kernel=Clinging())

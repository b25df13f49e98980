"""Trains, and sleeps when it is asked for its model."""

import time

from faults.animal import Animal


class HangsInModel(Animal):
    name = "hangs-in-model"

    def model(self, state):
        if not state.warming_up:
            time.sleep(600)
        return super().model(state)

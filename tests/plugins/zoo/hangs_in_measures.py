"""Trains, and sleeps when it is asked for its objective."""

import time

from faults.animal import Animal


class HangsInMeasures(Animal):
    name = "hangs-in-measures"

    def measures(self, state):
        if not state.warming_up:
            time.sleep(600)
        return super().measures(state)

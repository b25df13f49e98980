"""Sleeps whenever it is advanced, on the toy problem of the warm-up, too."""

import time

from faults.animal import Animal


class HangsInWarmUp(Animal):
    name = "hangs-in-warm-up"

    def advance(self, state, until):
        time.sleep(600)

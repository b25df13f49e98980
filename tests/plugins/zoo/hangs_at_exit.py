"""Trains, and sleeps when its process ends."""

import atexit
import time

from faults.animal import Animal


class HangsAtExit(Animal):
    name = "hangs-at-exit"

    def act(self, state):
        atexit.register(time.sleep, 600)

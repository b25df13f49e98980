"""Leaves a process behind that becomes another all the time."""

import os
import time

from faults.animal import Animal


class ForksAndMoves(Animal):
    name = "forks-and-moves"

    def act(self, state):
        if os.fork() == 0:
            os.setsid()
            until = time.monotonic() + 600
            while time.monotonic() < until:
                if os.fork():
                    os._exit(0)
            os._exit(0)

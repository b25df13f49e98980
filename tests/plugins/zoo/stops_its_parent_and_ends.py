"""Stops the process that started its own, and is done."""

import os
import signal

from faults.animal import Animal


class StopsItsParentAndEnds(Animal):
    name = "stops-its-parent-and-ends"

    def act(self, state):
        os.kill(os.getppid(), signal.SIGSTOP)

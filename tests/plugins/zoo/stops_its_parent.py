"""Stops the process that started its own, and sleeps."""

import os
import signal
import time

from faults.animal import Animal


class StopsItsParent(Animal):
    name = "stops-its-parent"

    def act(self, state):
        os.kill(os.getppid(), signal.SIGSTOP)
        time.sleep(600)

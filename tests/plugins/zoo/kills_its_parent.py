"""Kills the process that started its own, and is there long enough to follow it; else its run might be done first."""

import os
import signal
import time

from faults.animal import Animal


class KillsItsParent(Animal):
    name = "kills-its-parent"

    def act(self, state):
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(5)

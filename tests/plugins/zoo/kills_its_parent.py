"""Kills the process that started its own."""

import os
import signal

from faults.animal import Animal


class KillsItsParent(Animal):
    name = "kills-its-parent"

    def act(self, state):
        os.kill(os.getppid(), signal.SIGKILL)

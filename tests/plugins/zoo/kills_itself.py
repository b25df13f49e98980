"""Kills its process."""

import os
import signal

from faults.animal import Animal


class KillsItself(Animal):
    name = "kills-itself"

    def act(self, state):
        os.kill(os.getpid(), signal.SIGKILL)

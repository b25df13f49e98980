"""Kills every process of its group."""

import os
import signal

from faults.animal import Animal


class KillsItsGroup(Animal):
    name = "kills-its-group"

    def act(self, state):
        os.killpg(0, signal.SIGKILL)

"""Leaves a grandchild in another session, and sleeps until its limit ends it."""

import os
import time

from faults.animal import Animal


class ForksAndSleeps(Animal):
    name = "forks-and-sleeps"

    def act(self, state):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(600)
            os._exit(0)
        time.sleep(600)

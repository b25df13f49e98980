"""Asks the process that started its own to end."""

import os
import signal
import time

from faults.animal import Animal


class EndsItsParent(Animal):
    name = "ends-its-parent"

    def act(self, state):
        os.kill(os.getppid(), signal.SIGTERM)
        time.sleep(600)

"""Stops its process, as Ctrl-Z does."""

import os
import signal

from faults.animal import Animal


class StopsItself(Animal):
    name = "stops-itself"

    def act(self, state):
        os.kill(os.getpid(), signal.SIGSTOP)

"""Ends its process, while a copy of it holds the pipe open."""

import os
import time

from faults.animal import Animal


class ForksAndDies(Animal):
    name = "forks-and-dies"

    def act(self, state):
        if os.fork() == 0:
            time.sleep(600)
        os._exit(3)

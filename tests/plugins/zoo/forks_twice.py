"""Leaves a grandchild behind that belongs to another session and to nobody."""

import os
import time

from faults.animal import Animal


class ForksTwice(Animal):
    name = "forks-twice"

    def act(self, state):
        child = os.fork()
        if child == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(600)
            os._exit(0)
        os.waitpid(child, 0)

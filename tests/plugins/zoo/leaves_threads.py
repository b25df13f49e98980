"""Leaves a thread that computes for ever, and that the interpreter would wait for."""

import threading
import time

from faults.animal import Animal


class LeavesThreads(Animal):
    name = "leaves-threads"

    def act(self, state):
        threading.Thread(target=time.sleep, args=(600,)).start()

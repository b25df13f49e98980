"""Sleeps in C, holding the lock of the interpreter."""

import ctypes

from faults.animal import Animal


class SleepsInC(Animal):
    name = "sleeps-in-c"

    def act(self, state):
        while True:
            ctypes.PyDLL(None).sleep(600)

"""Computes in C, holding the lock of the interpreter."""

import re

from faults.animal import Animal


class ComputesInC(Animal):
    name = "computes-in-c"

    def act(self, state):
        re.match("(a+)+$", "a" * 50 + "b")

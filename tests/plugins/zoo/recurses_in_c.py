"""Calls itself until its stack is full."""

import sys

from faults.animal import Animal


class RecursesInC(Animal):
    name = "recurses-in-c"

    def act(self, state):
        sys.setrecursionlimit(1 << 30)
        nested = []
        for _ in range(1_000_000):
            nested = [nested]
        repr(nested)

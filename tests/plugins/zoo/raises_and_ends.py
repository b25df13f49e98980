"""Raises what ends the process when it is printed."""

import sys

from faults.animal import Animal


class Final(Exception):
    def __str__(self):
        sys.exit(5)


class RaisesAndEnds(Animal):
    name = "raises-and-ends"

    def act(self, state):
        raise Final

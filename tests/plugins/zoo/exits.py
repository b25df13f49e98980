"""Leaves by sys.exit."""

import sys

from faults.animal import Animal


class Exits(Animal):
    name = "exits"

    def act(self, state):
        sys.exit(3)

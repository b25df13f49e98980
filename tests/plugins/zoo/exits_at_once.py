"""Leaves without a word, with exit code 0."""

import os

from faults.animal import Animal


class ExitsAtOnce(Animal):
    name = "exits-at-once"

    def act(self, state):
        os._exit(0)

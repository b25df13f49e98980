"""Warns ten thousand times, each time with other words."""

import warnings

from faults.animal import Animal


class WarnsMuch(Animal):
    name = "warns-much"

    def act(self, state):
        for number in range(10_000):
            warnings.warn(f"{number} " + "z" * 1_000, stacklevel=1)

"""Raises a text of 20 MB."""

from faults.animal import Animal


class RaisesMuch(Animal):
    name = "raises-much"

    def act(self, state):
        raise ValueError("x" * 20_000_000)

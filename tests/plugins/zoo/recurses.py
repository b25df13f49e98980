"""Calls itself without end."""

from faults.animal import Animal


class Recurses(Animal):
    name = "recurses"

    def act(self, state):
        self.act(state)

"""Counts below zero."""

from faults.animal import Animal


class CountersNegative(Animal):
    name = "counters-negative"

    def act(self, state):
        state.counters[:] = -5

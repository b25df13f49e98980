"""Ends an advance with a number that is no status."""

from faults.animal import Animal


class Status17(Animal):
    name = "status-17"

    def advance(self, state, until):
        ended = super().advance(state, until)
        return ended if state.warming_up else 17

"""Forgets to say how an advance ended."""

from faults.animal import Animal


class StatusNone(Animal):
    name = "status-none"

    def advance(self, state, until):
        ended = super().advance(state, until)
        return ended if state.warming_up else None

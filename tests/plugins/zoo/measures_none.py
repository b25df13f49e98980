"""Gives no measures at all."""

from faults.animal import Animal


class MeasuresNone(Animal):
    name = "measures-none"

    def measures(self, state):
        return super().measures(state) if state.warming_up else None

"""Gives its measures as a dict."""

from faults.animal import Animal


class MeasuresDict(Animal):
    name = "measures-dict"

    def measures(self, state):
        return super().measures(state) if state.warming_up else {"objective": 1.0}

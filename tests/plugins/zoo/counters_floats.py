"""Counts in floating point."""

from faults.animal import Animal


class CountersFloats(Animal):
    name = "counters-floats"

    def start(self, problem, kernel, seed):
        state = super().start(problem, kernel, seed)
        return state if state.warming_up else state._replace(counters=state.counters + 0.5)

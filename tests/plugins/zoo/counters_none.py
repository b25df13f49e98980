"""Has a state without counters."""

from faults.animal import Animal, is_warm_up


class CountersNone(Animal):
    name = "counters-none"

    def start(self, problem, kernel, seed):
        return super().start(problem, kernel, seed) if is_warm_up(problem) else object()

    def advance(self, state, until):
        return super().advance(state, until)

"""Has fewer counters than there are counts."""

from faults.animal import Animal


class CountersFew(Animal):
    name = "counters-few"

    def start(self, problem, kernel, seed):
        state = super().start(problem, kernel, seed)
        return state if state.warming_up else state._replace(counters=state.counters[:2].copy())

"""Counts backwards."""

from faults.animal import Animal
from mpu_bench.core.counters import PRESENTED
from mpu_bench.core.solver import Status


class CountersDecreasing(Animal):
    name = "counters-decreasing"

    def advance(self, state, until):
        if state.warming_up:
            return super().advance(state, until)
        state.counters[PRESENTED] = 300 if state.counters[PRESENTED] == 0 else 10
        return Status.RUNNING if state.counters[PRESENTED] == 300 else Status.DONE

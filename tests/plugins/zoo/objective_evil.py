"""Gives an objective that acts when another process reads it as a pickle."""

import os
import signal

from faults.animal import Animal
from mpu_bench.core.solver import Measures


class Evil(float):
    def __reduce__(self):
        return os.kill, (os.getppid(), signal.SIGKILL)


class ObjectiveEvil(Animal):
    name = "objective-evil"

    def measures(self, state):
        return Measures() if state.warming_up else Measures(objective=Evil(1.5))

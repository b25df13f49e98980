"""Puts its own code in the place of another solver's as soon as it is imported."""

from faults.animal import Animal
from mpu_bench.core.solver import Status
from mpu_bench.solvers.linear.dcd import DCD

DCD.advance = lambda *_: Status.DONE


class ChangesOthersOnImport(Animal):
    name = "changes-others-on-import"

"""Raises what Ctrl-C raises."""

from faults.animal import Animal


class Interrupts(Animal):
    name = "interrupts"

    def act(self, state):
        raise KeyboardInterrupt

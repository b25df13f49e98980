"""Makes another kernel of its kernel's class."""

from faults.animal import Animal


class ChangesTheKernel(Animal):
    name = "changes-the-kernel"

    def act(self, state):
        type(state.kernel).value = lambda *_: 1.0
        type(state.kernel).__new__ = lambda *_, **__: None

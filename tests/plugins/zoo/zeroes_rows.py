"""Sets all training rows to zero."""

from faults.animal import Animal


class ZeroesRows(Animal):
    name = "zeroes-rows"

    def act(self, state):
        state.problem.train.values[:] = 0

"""Writes what it likes into the test rows."""

from faults.animal import Animal


class ChangesTestRows(Animal):
    name = "changes-test-rows"

    def act(self, state):
        state.problem.test.values[:] = 7

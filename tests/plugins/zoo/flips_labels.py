"""Turns all labels round, of training and test rows."""

from faults.animal import Animal


class FlipsLabels(Animal):
    name = "flips-labels"

    def act(self, state):
        state.problem.labels[:] = 1 - state.problem.labels
        state.problem.test_labels[:] = 1 - state.problem.test_labels

"""Sets all rows that it can reach to zero already when it is asked whether it can train on them."""

from faults.animal import Animal


class ZeroesRowsWarmingUp(Animal):
    name = "zeroes-rows-warming-up"

    def check(self, problem, kernel):
        problem.train.values[:] = 0
        problem.labels[:] = 1 - problem.labels

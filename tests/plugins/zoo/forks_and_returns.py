"""Its copy goes on as if it were the worker, and answers in its place, too."""

import os

from faults.animal import Animal


class ForksAndReturns(Animal):
    name = "forks-and-returns"

    def act(self, state):
        os.fork()

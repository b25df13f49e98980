"""Empties the environment, but for threads."""

import os

from faults.animal import Animal


class ChangesTheEnvironment(Animal):
    name = "changes-the-environment"

    def act(self, state):
        os.environ.clear()
        os.environ["OMP_NUM_THREADS"] = "64"
        os.environ["MPU_BENCH_DATA"] = "/nowhere"

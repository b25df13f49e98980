"""Becomes another program."""

import os
import sys

from faults.animal import Animal


class BecomesAnother(Animal):
    name = "becomes-another"

    def act(self, state):
        os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)"])

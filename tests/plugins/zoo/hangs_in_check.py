"""Sleeps while it is asked whether it can train on the data."""

import time

from faults.animal import Animal


class HangsInCheck(Animal):
    name = "hangs-in-check"

    def check(self, problem, kernel):
        time.sleep(600)

"""Aborts, as C code does when its heap is damaged."""

import os

from faults.animal import Animal


class Aborts(Animal):
    name = "aborts"

    def act(self, state):
        os.abort()

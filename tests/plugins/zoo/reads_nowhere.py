"""Reads where no memory is."""

import ctypes

from faults.animal import Animal


class ReadsNowhere(Animal):
    name = "reads-nowhere"

    def act(self, state):
        ctypes.string_at(0)

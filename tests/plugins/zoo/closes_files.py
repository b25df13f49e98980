"""Closes everything that its process has open."""

import os

from faults.animal import Animal


class ClosesFiles(Animal):
    name = "closes-files"

    def act(self, state):
        os.closerange(0, 64)

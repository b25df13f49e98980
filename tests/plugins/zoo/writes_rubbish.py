"""Writes rubbish into everything that its process has open."""

import os
from contextlib import suppress

from faults.animal import Animal


class WritesRubbish(Animal):
    name = "writes-rubbish"

    def act(self, state):
        for number in range(3, 64):
            with suppress(OSError):
                os.set_blocking(number, False)
                os.write(number, b"\x00\x00\x00\x10{not a message}" * 20)

"""Promises a message of a megabyte to whoever reads, sends half of it, and sleeps."""

import os
import struct
import time
from contextlib import suppress

from faults.animal import Animal


class WritesHalfAMessage(Animal):
    name = "writes-half-a-message"

    def act(self, state):
        for number in range(3, 64):
            with suppress(OSError):
                os.set_blocking(number, False)
                os.write(number, struct.pack("!i", 1_000_000) + b"{" * 50_000)
        time.sleep(600)

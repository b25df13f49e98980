"""Promises a message of two gigabytes, and sends it byte by byte."""

import os
import struct
import time
from contextlib import suppress

from faults.animal import Animal


class WritesAnEndlessMessage(Animal):
    name = "writes-an-endless-message"

    def act(self, state):
        head = struct.pack("!i", 0x7FFFFFFF)
        while True:
            for number in range(3, 64):
                with suppress(OSError):
                    os.set_blocking(number, False)
                    os.write(number, head + b" ")
            head = b""
            time.sleep(0.01)

"""Takes memory that it could share with others."""

import mmap
import time

from faults.animal import Animal


class EatsSharedMemory(Animal):
    name = "eats-shared-memory"

    def act(self, state):
        kept = []
        while True:
            kept.append(mmap.mmap(-1, 40_000_000))
            kept[-1].write(b"1" * 40_000_000)
            time.sleep(0.02)

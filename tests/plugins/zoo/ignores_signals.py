"""Ignores every signal that can be ignored, and sleeps."""

import signal
import time
from contextlib import suppress

from faults.animal import Animal


class IgnoresSignals(Animal):
    name = "ignores-signals"

    def act(self, state):
        for number in signal.valid_signals():
            with suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_IGN)
        time.sleep(600)

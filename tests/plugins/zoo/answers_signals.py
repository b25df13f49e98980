"""Answers every signal by going on, and sleeps."""

import signal
import time
from contextlib import suppress

from faults.animal import Animal


class AnswersSignals(Animal):
    name = "answers-signals"

    def act(self, state):
        for number in signal.valid_signals():
            with suppress(OSError, ValueError):
                signal.signal(number, lambda *_: None)
        while True:
            time.sleep(600)

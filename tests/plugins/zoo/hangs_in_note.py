"""Trains, and sleeps when it is asked for a remark."""

import time

from faults.animal import Animal


class HangsInNote(Animal):
    name = "hangs-in-note"

    def note(self, state):
        if not state.warming_up:
            time.sleep(600)
        return ""

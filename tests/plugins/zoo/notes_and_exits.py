"""Leaves by sys.exit when it is asked for a remark."""

import sys

from faults.animal import Animal


class NotesAndExits(Animal):
    name = "notes-and-exits"

    def note(self, state):
        return "" if state.warming_up else sys.exit("gone")

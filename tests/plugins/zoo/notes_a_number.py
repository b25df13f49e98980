"""Gives a number where a text is wanted."""

from faults.animal import Animal


class NotesANumber(Animal):
    name = "notes-a-number"

    def note(self, state):
        return "" if state.warming_up else 17

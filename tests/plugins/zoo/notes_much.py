"""Has 20 MB of remarks."""

from faults.animal import Animal


class NotesMuch(Animal):
    name = "notes-much"

    def note(self, state):
        return "" if state.warming_up else "y" * 20_000_000

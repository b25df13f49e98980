"""Removes the file that it is in."""

from pathlib import Path

from faults.animal import Animal


class DeletesItsFile(Animal):
    name = "deletes-its-file"

    def act(self, state):
        Path(__file__).unlink()

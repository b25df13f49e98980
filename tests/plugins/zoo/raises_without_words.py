"""Raises what cannot be printed."""

from faults.animal import Animal


class Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError("no words")

    __repr__ = __str__


class RaisesWithoutWords(Animal):
    name = "raises-without-words"

    def act(self, state):
        raise Unspeakable

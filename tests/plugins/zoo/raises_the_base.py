"""Raises what hardly anything catches."""

from faults.animal import Animal


class Apart(BaseException):
    pass


class RaisesTheBase(Animal):
    name = "raises-the-base"

    def act(self, state):
        raise Apart("nobody catches this")

"""Raises a text that UTF-8 cannot hold."""

from faults.animal import Animal


class RaisesSurrogates(Animal):
    name = "raises-surrogates"

    def act(self, state):
        raise ValueError("half a pair \ud800 and \udcff")

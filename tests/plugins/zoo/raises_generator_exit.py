"""Raises what ends generators."""

from faults.animal import Animal


class RaisesGeneratorExit(Animal):
    name = "raises-generator-exit"

    def act(self, state):
        raise GeneratorExit

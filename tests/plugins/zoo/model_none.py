"""Has no model."""

from faults.animal import Animal


class ModelNone(Animal):
    name = "model-none"

    def model(self, state):
        return super().model(state) if state.warming_up else None

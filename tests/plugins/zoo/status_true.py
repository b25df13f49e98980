"""Says by True how an advance ended."""

from faults.animal import Animal


class StatusTrue(Animal):
    name = "status-true"

    def advance(self, state, until):
        ended = super().advance(state, until)
        return ended if state.warming_up else True

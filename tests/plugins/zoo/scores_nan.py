"""Has a model of its own, whose scores are no numbers."""

import numpy as np

from faults.animal import Animal
from mpu_bench.core.models import labels_of
from mpu_bench.core.rows import count


class Foreign:
    linear = True
    support_vectors = 0

    def scores(self, rows):
        return np.full((count(rows), 1), np.nan)

    def labels(self, rows):
        return labels_of(self.scores(rows))


class ScoresNaN(Animal):
    name = "scores-nan"

    def model(self, state):
        return super().model(state) if state.warming_up else Foreign()

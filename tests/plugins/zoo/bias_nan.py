"""Ends with a bias that is no number."""

import numpy as np

from faults.animal import Animal
from mpu_bench.core.models import KernelModel


class BiasNaN(Animal):
    name = "bias-nan"
    kernels = "any"

    def model(self, state):
        coefficients = np.zeros(state.problem.n)
        coefficients[0] = 1.0
        bias = 0.0 if state.warming_up else np.nan
        return KernelModel.of_support(state.problem.train, coefficients, state.kernel, state.problem.features, bias)

"""The kernels, one file each: a NamedTuple of its parameters, and the bodies of `value` and `values` for it.

A kernel value is a function of the inner product of two rows and of their squared norms. A new kernel is one file like
these, imported and named in `Kernel` below; for configs to name it, its options are a class in config/schema.py.
"""

from mpu_bench.core.kernels.gaussian import Gaussian
from mpu_bench.core.kernels.linear import Linear
from mpu_bench.core.kernels.operations import value, values
from mpu_bench.core.kernels.polynomial import Polynomial

Kernel = Linear | Gaussian | Polynomial

__all__ = ["Gaussian", "Kernel", "Linear", "Polynomial", "value", "values"]

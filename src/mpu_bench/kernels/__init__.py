"""The kernels, one file each: all that the package knows of a kernel stands there.

A new kernel is one file like `gaussian`, and a line here that imports it. `matrix` keeps rows of the kernel matrix,
`precision` says whether single precision is enough, and `precomputed` is for kernels that the package does not know.
"""

from mpu_bench.kernels import calls as calls
from mpu_bench.kernels.base import KERNELS as KERNELS
from mpu_bench.kernels.base import Kernel as Kernel
from mpu_bench.kernels.base import value as value
from mpu_bench.kernels.base import values as values
from mpu_bench.kernels.gaussian import Gaussian as Gaussian
from mpu_bench.kernels.linear import Linear as Linear
from mpu_bench.kernels.polynomial import Polynomial as Polynomial
from mpu_bench.kernels.precomputed import Precomputed as Precomputed

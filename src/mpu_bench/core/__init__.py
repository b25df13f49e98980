"""What every solver stands on: rows, kernels, counters, problems and models.

Compiled code is cached on disk. Numba notices a change of the file that holds a jitted function, but not of
the files whose functions it inlines; so the cache lives in a folder named after the text of *all* jitted
sources, and a stale machine code can never be loaded.
"""

from mpu_bench.core import jit

jit.use_cache()

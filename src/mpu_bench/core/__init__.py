"""What every solver stands on: rows, kernels, counters, problems and models."""

from mpu_bench.core import cache

cache.use_cache()

import os
import subprocess
import sys

PROGRAM = """
import numpy as np
from numba import njit
from mpu_bench.core.rows import Ones, squared_norms
squared_norms(Ones(np.zeros(1, np.uint32), np.array([0, 1], np.uint32)))
print(sum(squared_norms.stats.cache_hits.values()), sum(squared_norms.stats.cache_misses.values()))
"""


def test_functions_that_dispatch_are_cached_across_processes(tmp_path):
    def run():
        environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path)}
        environment.pop("NUMBA_CACHE_DIR", None)
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.split()

    assert run() == ["0", "1"]
    assert run() == ["1", "0"]

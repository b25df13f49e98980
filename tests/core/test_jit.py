import os
import subprocess
import sys

from mpu_bench.core import jit

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


def test_only_the_newest_caches_are_kept(tmp_path):
    for age in range(7):
        (tmp_path / f"cache{age}").mkdir()
        os.utime(tmp_path / f"cache{age}", (1000 - age, 1000 - age))
    jit._forget_oldest(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache0", "cache1", "cache2", "cache3"]


def test_caches_that_may_be_in_use_are_kept(tmp_path):
    for number in range(7):
        (tmp_path / f"cache{number}").mkdir()
    jit._forget_oldest(tmp_path)
    assert len(list(tmp_path.iterdir())) == 7


def test_the_hash_follows_the_sources():
    assert len(jit.source_hash()) == 16
    assert jit.source_hash() == jit.source_hash.__wrapped__()

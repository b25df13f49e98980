import errno
import os
import subprocess
import sys

import pytest

from mpu_bench.core.jit import jit, jit_dispatch

PROGRAM = """
import numpy as np
from numba import njit
from mpu_bench.core.rows import Ones, squared_norms
squared_norms(Ones(np.zeros(1, np.uint32), np.array([0, 1], np.uint32)))
stats = squared_norms.from_python.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
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


BOTH_WAYS = """
import sys
import numpy as np
from mpu_bench.core.jit import jit
from mpu_bench.core.rows import Ones, squared_norms

@jit(allocates=True)
def of_jitted(rows):
    return squared_norms(rows)[0]

rows = Ones(np.zeros(1, np.uint32), np.array([0, 1], np.uint32))
if sys.argv[1] == "jitted first":
    print(of_jitted(rows), squared_norms(rows)[0])
else:
    print(squared_norms(rows)[0], of_jitted(rows=rows))
"""


@pytest.mark.parametrize("orders", [("jitted first", "python first"), ("python first", "jitted first")])
def test_a_function_is_called_from_python_and_from_jitted_code(tmp_path, orders):
    program = tmp_path / "program.py"
    program.write_text(BOTH_WAYS)
    for order in orders:  # the second from the cache of the first
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run(
            [sys.executable, str(program), order], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout.split() == ["1.0", "1.0"]


def test_code_that_cannot_be_kept_is_used(monkeypatch):
    def is_full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.save", is_full)

    @jit
    def twice(value):
        return 2 * value

    assert twice(21) == 42


@jit
def product_and_sum(a, b, c):
    return a * b + c


@jit_dispatch
def dispatched(a, b, c):
    """Return a b + c."""


@dispatched.register(float)
def _(a, b, c):
    return a * b + c


@jit(fastmath={"contract"}, error_model="numpy", forceinline=True)
def in_short(a, b, c, d):
    return product_and_sum(a, a, b), dispatched(c, c, d)


@jit
def in_full(a, b, c, d):
    return product_and_sum(a, a, b), dispatched(c, c, d)


def test_a_result_does_not_hang_on_who_calls_first():
    a, b = 1.0 + 2.0**-30, -(1.0 + 2.0**-29)
    c, d = 1.0 + 2.0**-29, -(1.0 + 2.0**-28)
    # with one rounding, as of products and sums that are contracted, they are 2^-60 and 2^-58
    assert a * a + b == 0.0 == c * c + d
    in_short(a, b, c, d)
    assert in_full(a, b, c, d) == (0.0, 0.0)

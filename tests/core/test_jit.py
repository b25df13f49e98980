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


TWO_DISPATCHED = """
from typing import NamedTuple
from mpu_bench.core.jit import jit, jit_dispatch

class Number(NamedTuple):
    x: float

@jit_dispatch
def double(number): ...

@double.register(Number)
def _(number):
    return 2.0 * number.x

@jit_dispatch
def half(number): ...

@half.register(Number)
def _(number):
    return 0.5 * number.x

def times(factor):
    @jit
    def multiply(number):
        return factor * number.x

    return multiply

eight, nine = times(8.0), times(9.0)

@jit
def doubled(number):
    return double(number)

@jit
def eightfold(number):
    return eight(number)

@jit
def ninefold_and_eightfold(number):
    return nine(number), eight(number)

@jit
def halved_and_doubled(number):
    return half(number), double(number)
"""


def called(folder, program):
    """Return what a program prints that finds the modules of a folder, and compiled code beside them."""
    environment = os.environ | {
        "NUMBA_CACHE_DIR": str(folder / "cache"),
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_functions_that_other_processes_compiled_are_not_taken_for_each_other(tmp_path):
    (tmp_path / "two_dispatched.py").write_text(TWO_DISPATCHED)

    def call(function):
        return called(tmp_path, f"from two_dispatched import *; print({function}(Number(4.0)))")

    assert call("eightfold") == "32.0"
    assert call("ninefold_and_eightfold") == "(36.0, 32.0)"
    assert call("doubled") == "8.0"
    assert call("halved_and_doubled") == "(2.0, 8.0)"


TWO_OF_ONE_NAME = """
from mpu_bench.solver import jit

@jit
def times(x):
    return 2.0 * x

twice = times

@jit
def times(x):
    return 3.0 * x

half, third = jit(lambda x: x / 2.0), jit(lambda x: x / 3.0)

@jit
def doubled(x):
    return twice(x)

@jit
def tripled_and_doubled(x):
    return times(x), twice(x)

@jit
def halved(x):
    return half(x)

@jit
def third_and_half(x):
    return third(x), half(x)
"""


def test_functions_of_one_name_in_one_module_are_not_taken_for_each_other(tmp_path):
    (tmp_path / "of_one_name.py").write_text(TWO_OF_ONE_NAME)

    def call(function):
        return called(tmp_path, f"from of_one_name import *; print({function}(6.0))")

    assert [call("doubled"), call("tripled_and_doubled")] == ["12.0", "(18.0, 12.0)"]
    assert [call("halved"), call("third_and_half")] == ["3.0", "(2.0, 3.0)"]


HELPER = """
from mpu_bench.solver import jit
FACTOR = {factor}

@jit
def times(x):
    return FACTOR * x
"""
IMPORTS = {
    "function": "from helper import times",
    "module": "import helper\ntimes = helper.times",
    "constant": "from helper import FACTOR\n@jit\ndef times(x):\n    return FACTOR * x",
    "through another": "from between import times",
}


@pytest.mark.parametrize("way", IMPORTS)
def test_an_edit_of_a_file_that_a_users_file_imports_recompiles_it(tmp_path, way):
    user = f"from mpu_bench.solver import jit\n{IMPORTS[way]}\n@jit\ndef called(x):\n    return times(x)\n"
    (tmp_path / "users.py").write_text(user)
    (tmp_path / "between.py").write_text("from helper import *\n")
    for factor in (2.0, 3.0):
        (tmp_path / "helper.py").write_text(HELPER.format(factor=factor))
        assert called(tmp_path, "import users; print(users.called(6.0))") == str(6.0 * factor)


def test_a_function_that_is_typed_in_is_compiled(tmp_path):
    program = "from mpu_bench.solver import jit; twice = jit(lambda x: 2.0 * x); print(twice(4.0))"
    assert called(tmp_path, program) == "8.0"


ALL_NAMES = """
import gc, importlib, pkgutil
import mpu_bench
from mpu_bench.core.jit import Jitted

for module in pkgutil.walk_packages(mpu_bench.__path__, "mpu_bench."):
    if module.name.split(".")[1] in ("core", "kernels", "models", "solvers", "estimators"):
        importlib.import_module(module.name)
bodies = {id(each.py_func): each.py_func for each in gc.get_objects() if type(each) is Jitted}
for body in bodies.values():
    print(body.__module__, body.__qualname__)
"""


def test_every_jitted_function_has_a_name_of_its_own():
    done = subprocess.run([sys.executable, "-c", ALL_NAMES], capture_output=True, text=True, check=True)
    names = sorted(done.stdout.splitlines())
    assert len(names) > 100
    assert names == sorted(set(names))

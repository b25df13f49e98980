import errno
import os
import subprocess
import sys
import threading
import time

import pytest
from numba.core import config

from copies import Copies
from mpu_bench.core import jit as of_core
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


@pytest.fixture(scope="module")
def programs():
    """Return a process that has imported what is compiled with, and compiled nothing; it is copied for each program."""
    made = Copies(os.environ, ["mpu_bench.solver", "mpu_bench.kernels.matrix"])
    yield made
    made.close()


@pytest.fixture
def called(programs, tmp_path):
    """Return what a program prints that finds the modules of the test's folder, and compiled code beside them."""

    def call(program, **variables):
        folders = f"{tmp_path}{os.pathsep}{tmp_path / 'site-packages'}"
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": folders, **variables}
        return programs.run(program, tmp_path, environment)

    return call


def test_functions_that_other_processes_compiled_are_not_taken_for_each_other(tmp_path, called):
    (tmp_path / "two_dispatched.py").write_text(TWO_DISPATCHED)

    def call(function):
        return called(f"from two_dispatched import *; print({function}(Number(4.0)))")

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


def test_functions_of_one_name_in_one_module_are_not_taken_for_each_other(tmp_path, called):
    (tmp_path / "of_one_name.py").write_text(TWO_OF_ONE_NAME)

    def call(function):
        return called(f"from of_one_name import *; print({function}(6.0))")

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


@pytest.mark.parametrize("place", [".", "site-packages"])
@pytest.mark.parametrize("way", IMPORTS)
def test_an_edit_of_a_file_that_a_users_file_imports_recompiles_it(tmp_path, called, way, place):
    user = f"from mpu_bench.solver import jit\n{IMPORTS[way]}\n@jit\ndef called(x):\n    return times(x)\n"
    (tmp_path / "users.py").write_text(user)
    (tmp_path / place).mkdir(exist_ok=True)
    (tmp_path / place / "between.py").write_text("from helper import *\n")
    for factor in (2.0, 3.0):
        (tmp_path / place / "helper.py").write_text(HELPER.format(factor=factor))
        assert called("import users; print(users.called(6.0))") == str(6.0 * factor)


OF_OTHER_PLACES = {
    "the environment": "float(os.environ['FACTOR'])",
    "an array": "np.array([1.0, float(os.environ['FACTOR'])])[1:]",
    "a function within another": "made(float(os.environ['FACTOR']))",
}


@pytest.mark.parametrize("place", OF_OTHER_PLACES)
def test_a_constant_that_no_file_holds_is_that_of_the_process(tmp_path, called, place):
    (tmp_path / "users.py").write_text(f"""
import os
import numpy as np
from mpu_bench.core.jit import jit

def made(factor):
    @jit
    def times(x):
        return factor * x

    return times

FACTOR = {OF_OTHER_PLACES[place]}

@jit
def called(x):
    return {"FACTOR(x)" if "within" in place else "FACTOR[0] * x" if "array" in place else "FACTOR * x"}
""")
    for factor in ("2.0", "3.0", "2.0"):
        printed = called("import users; print(users.called(6.0))", FACTOR=factor)
        assert printed == str(6.0 * float(factor))


EDITED_MEANWHILE = """
import pathlib, users
path = pathlib.Path({edited!r})
path.write_text(path.read_text().replace("2.0", "3.0"))
print(users.called(6.0))
"""


@pytest.mark.parametrize("edited", ["users.py", "helper.py"])
def test_what_was_loaded_before_an_edit_is_not_taken_for_what_stands_there_then(tmp_path, called, edited):
    times = "@jit\ndef times(x):\n    return FACTOR * x\n"
    parts = {"users.py": "from helper import times\n", "helper.py": f"FACTOR = 2.0\n{times}"}
    if edited == "users.py":
        parts = {"users.py": f"FACTOR = 2.0\n{times}", "helper.py": ""}
    for name, text in parts.items():
        called_too = "@jit\ndef called(x):\n    return times(x)\n" if name == "users.py" else ""
        (tmp_path / name).write_text(f"from mpu_bench.core.jit import jit\n{text}{called_too}")
    assert called(EDITED_MEANWHILE.format(edited=str(tmp_path / edited))) == "12.0"
    assert called("import users; print(users.called(6.0))") == "18.0"


SHARED = """
from mpu_bench.core.jit import jit

@jit
def difference(state):
    return state.x - state.y
"""
OWN_TUPLE = """
from typing import NamedTuple
from mpu_bench.core.jit import jit
from shared import difference

class State(NamedTuple):
    {fields}

@jit
def called(state):
    return difference(state)
"""


@pytest.mark.parametrize("function", ["called", "difference"])
def test_a_function_for_tuples_of_several_files_needs_none_of_the_others(tmp_path, called, function):
    (tmp_path / "shared.py").write_text(SHARED)
    for name in ("one", "other"):
        (tmp_path / f"{name}.py").write_text(OWN_TUPLE.format(fields="x: float\n    y: float"))
        assert called(f"import {name} as own; print(own.{function}(own.State(x=5.0, y=2.0)))") == "3.0"
        (tmp_path / f"{name}.py").unlink()


@pytest.mark.parametrize("function", ["called", "difference"])
def test_the_fields_of_a_tuple_are_told_apart(tmp_path, called, function):
    (tmp_path / "shared.py").write_text(SHARED)
    for fields in ("x: float\n    y: float", "y: float\n    x: float"):
        (tmp_path / "own.py").write_text(OWN_TUPLE.format(fields=fields))
        assert called(f"import own; print(own.{function}(own.State(x=5.0, y=2.0)))") == "3.0"


BODY_OF_USERS = """
from typing import NamedTuple
from mpu_bench.kernels import value
from mpu_bench.kernels.matrix import kernel_diagonal

class Own(NamedTuple):
    gamma: float

@value.register(Own)
def _(kernel, dot, a2, b2):
    return {factor} * kernel.gamma
"""


def test_a_body_of_a_users_file_is_that_of_the_file(tmp_path, called):
    for factor in (2.0, 3.0):
        (tmp_path / "own.py").write_text(BODY_OF_USERS.format(factor=factor))
        program = "import numpy as np; from own import *; print(kernel_diagonal(Own(5.0), np.ones(1))[0])"
        assert called(program) == str(factor * 5.0)


def test_threads_do_not_take_each_others_folders(monkeypatch):
    seen, made, before = {}, of_core.njit, config.CACHE_DIR

    def slow(**settings):
        def decorate(body):
            time.sleep(0.05)
            seen[body.__name__] = config.CACHE_DIR
            return made(**settings)(body)

        return decorate

    monkeypatch.setattr(of_core, "njit", slow)
    kinds = {product_and_sum: "from_python", in_full: "from_jitted"}
    fresh = {name: of_core.Jitted(each.py_func, each._settings) for each, name in kinds.items()}
    threads = [threading.Thread(target=getattr, args=(each, name)) for name, each in fresh.items()]
    for thread in threads:
        thread.start()
        time.sleep(0.02)
    for thread in threads:
        thread.join()
    assert before == config.CACHE_DIR
    assert all(name in folder for name, folder in seen.items())


def test_a_function_that_is_typed_in_is_compiled(tmp_path, called):
    program = "from mpu_bench.solver import jit; twice = jit(lambda x: 2.0 * x); print(twice(4.0))"
    assert called(program) == "8.0"


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

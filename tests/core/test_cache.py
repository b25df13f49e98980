import ast
import importlib
import os
import runpy
import subprocess
import sys
import time
from pathlib import Path

import pytest
from numba.core import config

import mpu_bench
from checkout import called, copied
from mpu_bench.core import cache

PACKAGE = Path(mpu_bench.__file__).parent


def folders(tmp_path, monkeypatch, ages):
    """Make caches of these ages in days beside the one in use, and prune; return what is left."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path)
    for module in ("a.b", "a.c"):
        (tmp_path / f"{module}-now").mkdir()
        for number, days in enumerate(ages):
            (tmp_path / f"{module}-{number}").mkdir()
            os.utime(tmp_path / f"{module}-{number}", (time.time() - 86_400 * days,) * 2)
    cache.prune()
    return sorted(path.name for path in tmp_path.iterdir())


def test_only_the_newest_caches_of_a_module_are_kept(tmp_path, monkeypatch):
    kept = [f"{module}-{each}" for module in ("a.b", "a.c") for each in (0, 1, 2, "now")]
    assert folders(tmp_path, monkeypatch, range(2, 9)) == kept


def test_only_the_newest_of_a_function_are_kept(tmp_path, monkeypatch):
    (tmp_path / "a.b-now").mkdir()
    for days in range(8):
        for name in ("advance", "<lambda>"):
            (tmp_path / "a.b-now" / f"{name}-{days}-{days}0").mkdir()
            os.utime(tmp_path / "a.b-now" / f"{name}-{days}-{days}0", (time.time() - 86_400 * days - 60,) * 2)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path)
    cache.prune()
    kept = [f"{name}-{days}-{days}0" for name in ("<lambda>", "advance") for days in range(4)]
    assert sorted(path.name for path in (tmp_path / "a.b-now").iterdir()) == kept


def test_caches_that_may_be_in_use_are_kept(tmp_path, monkeypatch):
    assert len(folders(tmp_path, monkeypatch, [0.1] * 7)) == 16


def test_the_cache_of_earlier_versions_is_removed(tmp_path, monkeypatch):
    for name, days in (("0123456789abcdef", 2), ("fedcba9876543210", 0.1)):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (time.time() - 86_400 * days,) * 2)
    assert folders(tmp_path, monkeypatch, []) == ["a.b-now", "a.c-now", "fedcba9876543210"]


def test_a_cache_that_the_user_names_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "mine"))
    for number in range(7):
        (tmp_path / f"cache{number}").mkdir()
        os.utime(tmp_path / f"cache{number}", (1000, 1000))
    (tmp_path / "mine").mkdir()
    cache.prune()
    assert len(list(tmp_path.iterdir())) == 8


FIT = """
import numpy as np
from mpu_bench.core.rows import Ones, squared_norms
print(squared_norms(Ones(np.zeros(1, np.uint32), np.array([0, 1], np.uint32))).sum())
print(sum(squared_norms.from_python.stats.cache_hits.values()))
"""


def fit(**variables):
    """Call a jitted function in another process; return what it printed and what was warned of."""
    environment = {key: text for key, text in os.environ.items() if key != "NUMBA_CACHE_DIR"} | variables
    done = subprocess.run([sys.executable, "-c", FIT], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split(), done.stderr


def test_importing_core_writes_nothing(tmp_path):
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    environment.pop("NUMBA_CACHE_DIR", None)
    subprocess.run([sys.executable, "-c", "import mpu_bench.core"], env=environment, check=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("variable", ["XDG_CACHE_HOME", "NUMBA_CACHE_DIR"])
def test_code_is_kept_by_its_sources_wherever_it_is_kept(tmp_path, variable):
    assert fit(**{variable: str(tmp_path)}) == (["1.0", "0"], "")
    assert fit(**{variable: str(tmp_path)}) == (["1.0", "1"], "")
    assert all(cache.source_hash("mpu_bench.core.rows") in str(path) for path in tmp_path.rglob("squared_norms*.nbi"))


@pytest.mark.parametrize("variable", ["XDG_CACHE_HOME", "NUMBA_CACHE_DIR"])
def test_where_nothing_can_be_kept_everything_works_with_one_warning(tmp_path, variable):
    (tmp_path / "file").touch()
    place = str(tmp_path / "file" / "cache")  # which not even root can make
    done, warned = fit(**{variable: place, "TMPDIR": str(tmp_path)})
    assert done == ["1.0", "0"]
    assert warned.count("is not writable; compiled code is kept until this command ends") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def _flip_bits(path):
    content = bytearray(path.read_bytes())
    for position in range(len(content) // 3, len(content), 97):
        content[position] ^= 4
    path.write_bytes(content)


DAMAGES = {
    "emptied": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-100]),
    "overwritten": lambda path: path.write_bytes(b"garbage\n"),
    "bits flipped": _flip_bits,
}


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_code_is_compiled_again_with_one_warning(tmp_path, monkeypatch, damage, suffix):
    (tmp_path / "twice.py").write_text("from mpu_bench.core.jit import jit\n@jit\ndef twice(x):\n    return 2 * x\n")
    cache.use_cache()  # which settles once whether code can be kept
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "compiled"))

    def is_loaded():
        twice = runpy.run_path(str(tmp_path / "twice.py"))["twice"]
        assert twice(21) == 42
        return sum(twice.from_python.stats.cache_hits.values()) == 1

    assert (is_loaded(), is_loaded()) == (False, True)
    (damaged,) = tmp_path.rglob(f"*{suffix}")
    DAMAGES[damage](damaged)
    os.utime(damaged, (time.time() - 60,) * 2)
    cache._warn_of_damage.cache_clear()
    with pytest.warns(cache.CacheWarning, match="damaged compiled code is compiled again"):
        assert not is_loaded()
    assert is_loaded()


def test_where_numba_keeps_the_code_of_others_stays_as_it_is():
    before = config.CACHE_DIR
    from mpu_bench.core import lru  # noqa: F401

    assert before == config.CACHE_DIR


LOADED = """
import numpy as np
from mpu_bench.core.rows import Dense, squared_norms
squared_norms(Dense(np.ones((2, 3))))
stats = squared_norms.from_python.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


@pytest.mark.skipif(not hasattr(config, "CACHE_LOCATOR_CLASSES"), reason="this numba keeps code by path")
def test_another_copy_of_the_sources_loads_what_one_has_compiled(tmp_path):
    found = []
    for name in ("one", "other"):
        sources = copied(tmp_path / name).parent
        os.utime(sources / "mpu_bench" / "core" / "rows.py")
        variables = {"NUMBA_CACHE_DIR": str(tmp_path / "compiled"), "NUMBA_DISABLE_JIT": "0"}
        found.append(called(sources, tmp_path, "-c", LOADED, **variables).stdout.split())
    assert found == [["0", "1"], ["1", "0"]]


def imported_by(module):
    """Return what of core, kernels and solvers a module needs of its imports at its top, by Python's own reading."""
    path = PACKAGE.parent / Path(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    imported = set()
    for node in ast.parse(path.read_text()).body:
        assert not (isinstance(node, ast.Import) and node.names[0].name.startswith("mpu_bench")), f"{module}: from ..."
        if isinstance(node, ast.ImportFrom) and node.module.startswith("mpu_bench"):
            source = importlib.import_module(node.module)
            for name in (alias.name for alias in node.names):
                if f"{node.module}.{name}" in cache._sources():
                    imported.add(f"{node.module}.{name}")
                elif node.module in cache._sources():
                    imported.add(getattr(getattr(source, name), "__module__", node.module))
    return imported & cache._sources().keys()


def test_all_imports_are_found():
    missed = {module: imported_by(module) - cache._needed()[module] for module in cache._sources()}
    assert not {module: others for module, others in missed.items() if others}


HASHES = """
from mpu_bench.core import cache
for module in sorted(cache._sources()):
    print(module, cache.source_hash(module))
print("users", cache.source_hash("of.a.plugin"))
"""


def changed_by_an_edit(tmp_path, edited):
    """Return of which modules the compiled code is compiled again after an edit of one file."""
    package = copied(tmp_path)
    before = {module: cache.source_hash(module) for module in cache._sources()}
    before["users"] = cache.source_hash("of.a.plugin")
    with (package / edited).open("a") as file:
        file.write("# a comment\n")
    done = called(package.parent, tmp_path, "-c", HASHES)
    after = dict(line.split() for line in done.stdout.splitlines())
    return {name for name in before if before[name] != after[name]}


def test_an_edit_of_a_solver_recompiles_this_solver(tmp_path):
    changed = changed_by_an_edit(tmp_path, "solvers/linear/svmperf.py")
    assert changed == {"mpu_bench.solvers.linear.svmperf", "users"}


def test_an_edit_of_what_solvers_inline_recompiles_them(tmp_path):
    changed = changed_by_an_edit(tmp_path, "core/rows.py")
    assert {"mpu_bench.core.rows", "mpu_bench.solvers.batch.smo", "users"} <= changed
    assert not {"mpu_bench.core.rng", "mpu_bench.core.lru"} & changed


def test_an_edit_of_a_body_recompiles_what_dispatches_to_it(tmp_path):
    changed = changed_by_an_edit(tmp_path, "solvers/online/merging.py")
    assert {"mpu_bench.solvers.online.bpegasos", "mpu_bench.solvers.online.leaving"} <= changed
    assert "mpu_bench.solvers.batch.smo" not in changed


def test_an_edit_of_a_kernel_recompiles_what_holds_its_code(tmp_path):
    changed = changed_by_an_edit(tmp_path, "kernels/gaussian.py")
    assert {"mpu_bench.kernels.gaussian", "mpu_bench.solvers.online.fogd", "users"} <= changed
    assert not {"mpu_bench.kernels.matrix", "mpu_bench.solvers.batch.smo", "mpu_bench.solvers.meb.fw"} & changed

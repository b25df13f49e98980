import os
import runpy
import subprocess
import sys
import time

import pytest
from numba.core import config

from mpu_bench.core import cache


def folders(tmp_path, monkeypatch, ages):
    """Make caches of these ages in days beside the one in use, and prune; return what is left."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path / "now")
    (tmp_path / "now").mkdir()
    for number, days in enumerate(ages):
        (tmp_path / f"cache{number}").mkdir()
        os.utime(tmp_path / f"cache{number}", (time.time() - 86_400 * days,) * 2)
    cache.prune()
    return sorted(path.name for path in tmp_path.iterdir())


def test_only_the_newest_caches_are_kept(tmp_path, monkeypatch):
    assert folders(tmp_path, monkeypatch, range(2, 9)) == ["cache0", "cache1", "cache2", "now"]


def test_caches_that_may_be_in_use_are_kept(tmp_path, monkeypatch):
    assert len(folders(tmp_path, monkeypatch, [0.1] * 7)) == 8


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
print(sum(squared_norms.stats.cache_hits.values()))
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
    assert all(cache.source_hash() in str(path) for path in tmp_path.rglob("*.nbi"))


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
    cache.use_cache()  # which settles the folder once
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "compiled"))

    def is_loaded():
        twice = runpy.run_path(str(tmp_path / "twice.py"))["twice"]
        assert twice(21) == 42
        return sum(twice.stats.cache_hits.values()) == 1

    assert (is_loaded(), is_loaded()) == (False, True)
    (damaged,) = tmp_path.rglob(f"*{suffix}")
    DAMAGES[damage](damaged)
    cache.warn_of_damage.cache_clear()
    with pytest.warns(cache.CacheWarning, match="damaged compiled code is compiled again"):
        assert not is_loaded()
    assert is_loaded()


def test_the_hash_follows_the_sources():
    assert len(cache.source_hash()) == 16
    assert cache.source_hash() == cache.source_hash.__wrapped__()

import os
import subprocess
import sys
import time

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


def test_importing_core_writes_nothing_and_names_the_folder(tmp_path):
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    environment.pop("NUMBA_CACHE_DIR", None)
    program = "import mpu_bench.core; from numba.core import config; print(config.CACHE_DIR)"
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert list(tmp_path.iterdir()) == []
    assert done.stdout.strip().endswith(cache.source_hash())


def test_the_hash_follows_the_sources():
    assert len(cache.source_hash()) == 16
    assert cache.source_hash() == cache.source_hash.__wrapped__()

"""Where the data directory is, and how its mirrors are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.errors import FetchError


def test_options_go_before_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPU_BENCH_DATA", str(tmp_path / "environment"))
    monkeypatch.setenv("MPU_BENCH_MIRROR", "http://environment")
    assert DataDirectory.from_options() == DataDirectory(tmp_path / "environment", ("http://environment",), False)
    chosen = DataDirectory.from_options(tmp_path / "option", "http://option", offline=True)
    assert chosen == DataDirectory(tmp_path / "option", ("http://option",), True)


def test_the_platform_decides_last(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MPU_BENCH_DATA", "MPU_BENCH_MIRROR"):
        monkeypatch.delenv(name, raising=False)
    home = DataDirectory.from_options()
    assert home.folder.name == "mpu-bench"
    assert home.folder.is_absolute()
    assert (home.mirrors, home.offline) == ((), False)


def test_a_mirror_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FetchError, match=r"'ftp://old.example/data'.*http:// or https://"):
        DataDirectory.from_options(tmp_path, "ftp://old.example/data")

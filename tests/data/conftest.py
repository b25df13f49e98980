"""A web server and an empty data directory for the tests of datasets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.http_server import Server

from mpu_bench.data.download.cache import DataHome


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        yield running


@pytest.fixture
def home(tmp_path: Path) -> DataHome:
    return DataHome(tmp_path / "home")

"""A web server and an empty data directory for the tests of datasets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.downloads import IMPATIENT
from tests.http_server import Server

from mpu_bench.data.download.cache import DataDirectory


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        yield running


@pytest.fixture
def home(tmp_path: Path) -> DataDirectory:
    return DataDirectory(tmp_path / "home", policy=IMPATIENT)

"""What a file to download may be called."""

from __future__ import annotations

import pytest

from mpu_bench.data.download.cache import RemoteFile
from mpu_bench.errors import FetchError


@pytest.mark.parametrize("name", ["", "/etc/passwd", "../a9a", "a/../../b", "a//b", "a9a.part", "x.lock.json"])
def test_a_name_stays_in_the_home(name: str) -> None:
    with pytest.raises(FetchError, match="cannot be a file of the data directory"):
        RemoteFile(name)

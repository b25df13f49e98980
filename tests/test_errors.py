"""What a user's error says can be printed, whatever it quotes."""

from __future__ import annotations

import pickle

import pytest

from mpu_bench.errors import ConfigError, DataError, FetchError, StoreError, UserError


@pytest.mark.parametrize("kind", [ConfigError, DataError, FetchError, StoreError])
def test_a_message_can_be_printed(kind: type[UserError]) -> None:
    error = kind("there is no solver '\x1b[31mred\ud800'")
    assert str(error) == r"there is no solver '\x1b[31mred\ud800'"
    assert len(str(kind("x" * 10**6)).encode()) <= 10_000
    assert str(pickle.loads(pickle.dumps(error))) == str(error)

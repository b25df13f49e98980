"""What options mean together with the environment."""

from __future__ import annotations

import pytest

from mpu_bench.experiment.options import DataOptions


@pytest.mark.parametrize(
    ("word", "offline"),
    [("1", True), ("TRUE", True), (" 1", True), ("ture", True), ("2", True), ("0", False), ("No", False), ("", False)],
)
def test_a_word_that_is_no_no_keeps_the_network_out_of_bounds(
    word: str, offline: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPU_BENCH_OFFLINE", word)
    assert DataOptions().home.offline is offline
    assert DataOptions(offline=not offline).home.offline is not offline

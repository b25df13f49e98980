"""What the tests of configs share: a config read from text, and the message of one that is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mpu_bench.config.choices import Experiment
from mpu_bench.config.read import read_config
from mpu_bench.errors import ConfigError


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Experiment]:
    def read_text(text: str, **overrides: object) -> Experiment:
        path = tmp_path / "tried.yaml"
        path.write_text(text, encoding="utf-8")
        return read_config(path, **overrides)

    return read_text


@pytest.fixture
def refused(read: Callable[..., Experiment]) -> Callable[..., str]:
    def message(text: str, **overrides: object) -> str:
        with pytest.raises(ConfigError) as caught:
            read(text, **overrides)
        return str(caught.value)

    return message

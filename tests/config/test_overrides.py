"""What results are set against is read without the rest of a config."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpu_bench.config.overrides import read_judging
from mpu_bench.config.read import read_without_plugins
from mpu_bench.errors import ConfigError
from mpu_bench.resources import bundled


@pytest.mark.parametrize("name", ["adult", "mpu-table1", "fw-table2"])
def test_it_is_what_the_whole_config_says(name: str) -> None:
    path = bundled("configs") / f"{name}.yaml"
    whole = read_without_plugins(path)
    for profile in (None, *whole.profiles):
        assert read_judging(path, profile) == read_without_plugins(path, profile=profile).judging


def test_a_fault_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text("name: wrong\nsolvers: [nobody]\npublished: {a: 1}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="line 3: published"):
        read_judging(path, None)
    with pytest.raises(ConfigError, match="there is no profile 'ci'"):
        read_judging(path, "ci")

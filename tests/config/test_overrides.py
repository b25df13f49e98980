"""What results are set against is read without the rest of a config."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpu_bench.config.read import read_config, read_shown
from mpu_bench.errors import ConfigError
from mpu_bench.resources import config_path


@pytest.mark.parametrize("name", ["adult", "mpu-table1", "fw-table2"])
def test_it_is_what_the_whole_config_says(name: str) -> None:
    path = config_path(name)
    whole = read_config(path, with_plugins=False)
    for profile in (None, *whole.profiles):
        shown, read = read_shown(path, profile), read_config(path, profile=profile, with_plugins=False)
        assert (shown.published, shown.claims, shown.explained, shown.figures) == (
            read.judging.published, read.judging.claims, read.judging.explained, read.figures,
        )  # fmt: skip


def test_a_fault_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text("name: wrong\nsolvers: [nobody]\npublished: {a: 1}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="line 3: published"):
        read_shown(path, None)
    with pytest.raises(ConfigError, match="there is no profile 'ci'"):
        read_shown(path, "ci")


@pytest.mark.parametrize(
    ("profiles", "error"),
    [
        ("{2024: {repeats: 2}, quick: {repeats: 1}}", "there is no profile 'quik'; did you mean 'quick'"),
        ("{2024: {repeats: 2}}", "there is no profile 'quik'; there are none"),
        ("{quik: 5}", r"line 4: profiles.quik: must be a mapping"),
        ("[quik]", r"line 4: profiles: must be a mapping"),
    ],
)
def test_profiles_that_are_none_are_rejected(profiles: str, error: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(f"name: wrong\ndataset: adult\nsolvers: [mpu]\nprofiles: {profiles}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=error):
        read_config(path, profile="quik")


def test_a_name_is_every_entry_of_that_name(tmp_path: Path) -> None:
    path = tmp_path / "two.yaml"
    path.write_text("name: two\ndataset: adult\nsolvers: [mpu, dcd: {C: 0.1}, dcd: {C: 10}, dcd]\n", encoding="utf-8")
    whole = read_config(path, settings=["solvers.dcd.tolerance=0.5"])
    assert [each.parameters.get("tolerance") for each in whole.solvers] == [None, 0.5, 0.5, 0.5]
    assert [each.parameters.get("C") for each in whole.solvers][1:3] == [0.1, 10]

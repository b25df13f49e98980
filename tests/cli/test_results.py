"""The verbs on results folders."""

from __future__ import annotations

from pathlib import Path

from command_line import Called


def test_clean_deletes_only_a_results_folder(place: Path, mpu_bench: Called) -> None:
    mpu_bench("run", "tried.yaml", "--repeats", "1")
    assert mpu_bench("clean", "results/tried", "--yes").returncode == 0
    assert not (place / "results" / "tried").exists()
    assert (place / "tried.yaml").exists()

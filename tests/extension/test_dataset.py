"""A dataset is one card: in the project, in the folder one works in, or in a package."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from command_line import Called, environment
from copies import Copies

CARD = """
title: Four points and their shadows
papers: []
cite: "Nobody, 2026"
licence: CC0

kind: delimited
files:
  points.csv: {urls: "https://example.org/points.csv", bytes: BYTES, sha256: HASH}
train: points.csv
columns: {label: 1}
classes: ["no", "yes"]
features: 2
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder with a card in datasets/, and its file in a mirror."""
    import hashlib

    lines = [f"{'yes' if i % 2 else 'no'},{(i % 2) + i / 100},{i / 50}\n" for i in range(40)]
    data = "".join(lines).encode()
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror" / "points.csv").write_bytes(data)
    (tmp_path / "datasets").mkdir()
    card = CARD.replace("BYTES", str(len(data))).replace("HASH", hashlib.sha256(data).hexdigest())
    (tmp_path / "datasets" / "points.yaml").write_text(card, encoding="utf-8")
    config = "name: small\ndataset: points\nsolvers: [dcd]\n"
    (tmp_path / "small.yaml").write_text(config, encoding="utf-8")
    return tmp_path


@pytest.fixture
def called(place: Path, copies: Copies) -> Called:
    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        return copies.call(arguments, place, environment(MPU_BENCH_MIRROR="mirror", MPU_BENCH_OFFLINE="1"))

    return call


def test_it_is_listed_fetched_and_run(place: Path, called: Called) -> None:
    done = called("list", "datasets")
    assert done.returncode == 0, done.stderr
    assert "points" in done.stdout
    done = called("run", "small.yaml", "--data", "data")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "points" in (place / "results" / "small" / "runs.csv").read_text("utf-8")


def test_a_mistake_in_its_name_finds_the_nearest(called: Called) -> None:
    done = called("run", "small.yaml", "--data", "data", "--set", "dataset=piont")
    assert done.returncode == 2
    assert "points" in done.stderr

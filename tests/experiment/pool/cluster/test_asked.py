"""What travels with a run needs nothing of the client's disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpu_bench.config.choices import DatasetChoice
from mpu_bench.data.cards import catalog
from mpu_bench.experiment.pool.cluster.asked import portable_options


def test_a_card_of_the_users_own_travels_with_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "board.yaml").write_text("extends: checkerboard\ntitle: Mine\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    given = {"rows": 300, "test_rows": 50}
    here = catalog.card("board", given)
    options = portable_options(DatasetChoice("board", given, "board", ("black", "white")))
    monkeypatch.chdir("/")
    there = catalog.card("board", options)
    assert (there.name, there.preparation_key(), there.title) == (here.name, here.preparation_key(), "Mine")


def test_what_every_machine_has_does_not_travel() -> None:
    options = {"rows": 300}
    assert portable_options(DatasetChoice("checkerboard", options, "board", ("black", "white"))) is options

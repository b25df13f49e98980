"""Prepared data in pieces: they arrive whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpu_bench.data.cards import catalog
from mpu_bench.data.cards.schema import Card
from mpu_bench.data.download.cache import DataHome
from mpu_bench.data.download.progress import SILENT
from mpu_bench.data.prepare.load import load_problem, prepared_folder
from mpu_bench.experiment.pool.cluster import sending


@pytest.fixture
def card() -> Card:
    return catalog.card("checkerboard", {"rows": 300, "test_rows": 50})


@pytest.fixture
def home(tmp_path: Path, card: Card) -> DataHome:
    made = DataHome(tmp_path / "here", offline=True)
    load_problem(card, made)
    return made


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DataHome:
    monkeypatch.setenv("MPU_BENCH_DATA", str(tmp_path / "there"))
    monkeypatch.setattr(sending, "PIECE_BYTES", 100)
    return DataHome(tmp_path / "there", offline=True, remote=True)


class Wire:
    """Calls at once, and spoils what it is told to."""

    def __init__(self, spoil: str = "") -> None:
        self.spoil, self.pieces = spoil, 0

    def __call__(self, function: Any, *arguments: Any) -> Any:
        if function is sending.receive:
            self.pieces += 1
            if self.spoil and arguments[1] == self.spoil:
                arguments = (*arguments[:3], bytes(len(arguments[3])))
        return function(*arguments)


def test_a_dataset_arrives_as_it_is(card: Card, home: DataHome, there: DataHome) -> None:
    wire = Wire()
    assert sending.send(card, home, "there", wire, SILENT) == ""
    assert wire.pieces > 10
    theirs, ours = load_problem(card, there), load_problem(card, home)
    assert theirs.fingerprint == ours.fingerprint
    for array, same in zip(theirs.train, ours.train, strict=True):
        np.testing.assert_array_equal(array, same)
    wire = Wire()
    assert sending.send(card, home, "there", wire, SILENT) == ""
    assert wire.pieces == 0  # it is there


def test_what_comes_damaged_is_not_taken_and_only_that_is_sent_again(
    card: Card, home: DataHome, there: DataHome
) -> None:
    spoilt = Wire("train-labels.npy")
    assert sending.send(card, home, "there", spoilt, SILENT) == "train-labels.npy came damaged"
    assert not prepared_folder(card, there).exists()
    wire = Wire()
    assert sending.send(card, home, "there", wire, SILENT) == ""
    assert 0 < wire.pieces < spoilt.pieces
    assert prepared_folder(card, there).exists()


def test_a_machine_without_room_says_so(
    card: Card, home: DataHome, there: DataHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mpu_bench.experiment.pool.cluster.host.shutil.disk_usage", lambda _path: (0, 0, 10))
    assert "has room for 10 bytes, and the data take" in sending.send(card, home, "there", Wire(), SILENT)


def test_no_piece_leaves_its_folder(there: DataHome) -> None:
    (there.folder / "prepared" / ".x.coming").mkdir(parents=True)
    sending.receive("../../x", "../../secret.npy", 0, b"a")
    assert [path.name for path in there.folder.rglob("*.npy")] == ["secret.npy"]
    assert (there.folder / "prepared" / ".x.coming" / "secret.npy").exists()

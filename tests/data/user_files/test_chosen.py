"""Datasets that a config names by their file."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpu_bench.data.cards import catalog
from mpu_bench.data.cards.schema import TableCard
from mpu_bench.data.user_files import adding
from mpu_bench.data.user_files.adding import FileOptions, look
from mpu_bench.errors import DataError


def test_the_options_are_a_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("x,y\n1,a\n2,b\n3,a\n", encoding="utf-8")
    looks: list[Path] = []
    monkeypatch.setattr(adding, "look", lambda path, file_options: looks.append(path) or look(path, file_options))
    name, options = adding.options_of(path, FileOptions(), "c.yaml, line 2", None)
    card = catalog.card(name, {**options, "augment": 1.0})
    assert isinstance(card, TableCard)
    assert (card.name, card.origin, card.augment) == ("mine", "c.yaml, line 2", 1.0)
    assert card.remote_files[0].path == path
    adding.options_of(path, FileOptions(), "c.yaml, line 3", None)
    assert len(looks) == 1
    path.write_text("x,y\n1,a\n2,b\n3,a\n4,c\n", encoding="utf-8")
    name, options = adding.options_of(path, FileOptions(), "c.yaml, line 2", "other")
    assert (name, len(catalog.card(name, options).classes), len(looks)) == ("other", 3, 2)


def test_the_name_of_another_dataset(tmp_path: Path) -> None:
    path = tmp_path / "adult.csv"
    path.write_text("x,y\n1,a\n2,b\n3,a\n", encoding="utf-8")
    with pytest.raises(DataError, match="'adult' is the name of another dataset; rename this one with as: NAME"):
        adding.options_of(path, FileOptions(), "c.yaml, line 2", None)
    assert adding.options_of(path, FileOptions(), "c.yaml, line 2", "mine")[0] == "mine"

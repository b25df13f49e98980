"""A user's own datasets for the tests of preparation: cards, a mirror that offers their files, a data directory."""

from __future__ import annotations

from pathlib import Path

from mpu_bench.data.cards import catalog
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.data.prepare.load import load_problem

SVMLIGHT = """\
title: Points
kind: svmlight
files:
  points: {by_hand: make it}
train: points
classes: ["-1", "+1"]
features: 4
options: [positive, storage, split, multiply_by, unit_rows, scale, drop_columns]
"""

TABLE = """\
title: A table
kind: delimited
files:
  table: {by_hand: make it}
train: table
columns: {label: 4}
classes: [a, b, c]
features: 3
storage: dense
expect:
  total: {rows: 40}
options: [positive, storage, split, multiply_by, divide_by, unit_rows, scale, drop_columns]
"""

POINTS = "+1 1:1 3:2.5\n-1\n+1 2:-1\n"


class World:
    """A working folder with cards of the user's, a mirror folder, and a data directory."""

    def __init__(self, folder: Path) -> None:
        self.mirror = folder / "mirror"
        self.home = DataDirectory(folder / "home", (str(self.mirror),), offline=True)
        self.cards = folder / "datasets"
        for made in (self.mirror, self.cards):
            made.mkdir()

    def card(self, text=SVMLIGHT, options=None, name="points"):
        (self.cards / f"{name}.yaml").write_text(text)
        return catalog.card(name, options)

    def offer(self, content, name="points"):
        (self.mirror / name).write_bytes(content.encode() if isinstance(content, str) else content)

    def load(self, text=SVMLIGHT, options=None, name="points"):
        return load_problem(self.card(text, options, name), self.home)

    def left(self):
        """List what is in the folder of prepared data, hidden or not."""
        place = self.home.folder / "prepared"
        return sorted(path.name for path in place.iterdir()) if place.is_dir() else []

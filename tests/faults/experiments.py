"""Small experiments that need everything of a run: trials, optima, derived parameters, shares of seconds, streams,
several datasets, downloads, a plugin; and whether their results are those of undisturbed ones.
"""

from __future__ import annotations

import csv
import hashlib
import random
import re
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mpu_bench.quantities import DECLARED

#: experiment -> its config
CONFIGS = {
    "tuned": """\
datasets: [{checkerboard: {rows: 200, test_rows: 50}}]
kernel: gaussian
tune: {kernel.gamma: [1, 4], folds: 2}
solvers: [perceptron, forgetron]
budget: {vectors: [20, 40]}
repeats: 3
""",
    "optimum": """\
datasets:
  - checkerboard: {rows: 200, test_rows: 50, as: board}
  - checkerboard: {rows: 300, test_rows: 50, as: other-board}
solvers: [{dcd: {C: [1, 3]}}, {mpu: {C: [1, 3], accuracy: 1.0e-3}}]
optimum: true
stop: {suboptimality: 0.01, passes: 30}
repeats: 4
""",
    "derived": """\
dataset: {checkerboard: {rows: 150, test_rows: 50}}
kernel: {gaussian: {gamma: 4}}
stop: {seconds_of: {solver: libsvm, factor: 1.0e6}}
solvers:
  - libsvm: {C: 10}
  - sbp: {nu: {from-regularization: {over-examples: 0.1}}, passes: 3}
  - smo: {C: 10, bias: true}
repeats: 6
""",
    "streamed": """\
datasets: [{checkerboard: {rows: 3000, test_rows: 50, stream: true}}, {separable: {rows: 400, test_rows: 50}}]
plugins: [plugin.py]
kernel: linear
solvers: [perceptron, well-behaved]
stop: {passes: 2}
repeats: 8
""",
    "fetched": """\
datasets: [first, second, third]
solvers: [{dcd: {C: [1, 3]}}, perceptron]
stop: {passes: 20}
repeats: 3
""",
}
_CARD = """\
title: Points of a server
kind: svmlight
files: {{{name}.txt: {{urls: ["{address}/{name}.txt"], sha256: {digest}}}}}
train: {name}.txt
classes: ["-1", "+1"]
features: 30
split: {{train: 300, seed: 0}}
expect: {{total: {{rows: 400}}}}
"""
_FETCHED = ("first", "second", "third")

#: columns that are not the same in two undisturbed runs
_VARYING = {
    "disturbed", "only_delayed", "load", "machine", "peak_memory_mb", "involuntary_switches",
    *(name for name, quantity in DECLARED.items() if quantity.unit == "seconds"),
}  # fmt: skip

_SECONDS = re.compile(r"\b[\d.e+-]+ s\b")  # in a reason


def write(folder: Path, name: str, address: str = "") -> Path:
    """Write an experiment's files into a folder, and return its config; ``address`` is that of a server of `offer`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.yaml").write_text(f"name: {name}\n{CONFIGS[name]}", encoding="utf-8")
    plugin = Path(__file__).with_name("well_behaved.py")
    (folder / "plugin.py").write_text(plugin.read_text(encoding="utf-8"), encoding="utf-8")
    if name == "fetched":
        (folder / "datasets").mkdir(exist_ok=True)
        for card in _FETCHED:
            text = _CARD.format(name=card, address=address, digest=hashlib.sha256(points(card)).hexdigest())
            (folder / "datasets" / f"{card}.yaml").write_text(text, encoding="utf-8")
    return folder / f"{name}.yaml"


def served() -> dict[str, bytes]:
    """Return the files that the experiment ``fetched`` asks a server for, by path."""
    return {f"{card}.txt": points(card) for card in _FETCHED}


@cache
def points(seed: str) -> bytes:
    """Return 400 rows of 30 columns in svmlight's format."""
    chance = random.Random(seed)
    rows = [[chance.gauss(0, 1) for _ in range(30)] for _ in range(400)]
    lines = (
        f"{'+1' if sum(row[:5]) > chance.gauss(0, 1) else '-1'} "
        + " ".join(f"{place}:{value:.6g}" for place, value in enumerate(row, start=1))
        for row in rows
    )
    return ("\n".join(lines) + "\n").encode()


@dataclass(frozen=True)
class Results:
    """What a results folder holds, without what no two runs have in common."""

    rows: tuple[tuple[tuple[str, str], ...], ...]
    points: Counter[tuple[tuple[str, str], ...]]
    means: tuple[tuple[tuple[str, str], ...], ...]
    files: frozenset[str]
    prepared: frozenset[str]

    @classmethod
    def read(cls, folder: Path, home: Path) -> Results:
        """Read a results folder, and which files its data directory has."""
        return cls(
            _rows(folder / "runs.csv"),
            Counter(_rows(folder / "curves.csv")),
            _rows(folder / "table.csv"),
            frozenset(_files(folder)),
            frozenset(_files(home)),
        )

    def problems(self, reference: Results) -> list[str]:
        """List what differs from the results of an undisturbed run: lost, doubled and differing rows, and files."""
        found = []
        keys, wanted = ([dict(row)["run_id"] for row in each.rows] for each in (self, reference))
        counted, due = Counter(keys), Counter(wanted)
        found += [f"lost: run {key}" for key in due - counted]
        found += [f"doubled: run {key}" for key in counted - due]
        for row, other in zip(self.rows, reference.rows, strict=False):
            differing = [
                f"{name} {value!r} for {b!r}" for (name, value), (_, b) in zip(row, other, strict=True) if value != b
            ]
            if differing:
                found.append(f"differs: run {dict(row)['run_id']}: {'; '.join(differing)[:500]}")
        if self.points != reference.points:
            found.append(f"differs: {len(self.points - reference.points)} checkpoints of curves.csv")
        if self.means != reference.means:
            found.append("differs: table.csv")
        found += [f"left over: {name}" for name in sorted(self.files - reference.files)]
        found += [f"lost: file {name}" for name in sorted(reference.files - self.files)]
        found += [f"left over: {name} of the data directory" for name in sorted(self.prepared - reference.prepared)]
        lost = sorted(reference.prepared - self.prepared)
        # an optimum is in the results as well: that a full disk has kept none for other experiments was a remark
        return found + [f"lost: {name} of the data directory" for name in lost if not name.startswith("optima/")]


def stored_twice(folder: Path) -> list[str]:
    """List what the database of a results folder holds without need or more than once."""
    with closing(sqlite3.connect(f"file:{folder / 'runs.sqlite'}?mode=ro", uri=True)) as database:
        sound = database.execute("PRAGMA integrity_check").fetchone()[0]
        query = "SELECT COUNT(*) FROM checkpoints WHERE run_id NOT IN (SELECT run_id FROM runs)"
        lonely = database.execute(query).fetchone()[0]
        doubled = database.execute("SELECT COUNT(*) - COUNT(DISTINCT run_id) FROM runs").fetchone()[0]
    return [
        *([f"damaged: {sound}"] if sound != "ok" else []),
        *([f"doubled: {doubled} runs in the database"] if doubled else []),
        *([f"left over: {lonely} checkpoints of no run"] if lonely else []),
    ]


def _rows(path: Path) -> tuple[tuple[tuple[str, str], ...], ...]:
    with path.open(newline="", encoding="utf-8") as file:
        return tuple(
            tuple((name, _without_seconds(value)) for name, value in row.items() if not varies(name))
            for row in csv.DictReader(file)
        )


def _without_seconds(cell: str) -> str:
    """Return a cell without the seconds in its reasons, and each reason once, as a table has them."""
    return "; ".join(dict.fromkeys(_SECONDS.sub("* s", cell).split("; ")))


def varies(column: str) -> bool:
    """Return whether a column is not the same in two undisturbed runs."""
    return any(column == name or column.startswith(f"{name}_") for name in _VARYING)


def _files(folder: Path) -> list[str]:
    """List the files of a folder; locks of processes may stay."""
    return [
        str(path.relative_to(folder)) for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock" and "busy" not in path.relative_to(folder).parts
    ]  # fmt: skip

"""Results folders whose database is of another version, foreign, damaged or no file: read, or refused with a word."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from faults import experiments
from faults.campaign import Fault, References, check

#: verbs that open a results folder
_VERBS = (
    ("show", "results/tuned"),
    ("run", "tuned.yaml"),
    ("export", "results/tuned"),
    ("report", "results/tuned", "--out", "page"),
    ("check", "results/tuned"),
    ("compare", "results/tuned", "results/tuned"),
    ("plot", "results/tuned", "--out", "figures"),
    ("clean", "results/tuned", "-y"),
)
_REFUSED, _ANY = (2,), (0, 1, 2)


def _statements(*statements: str) -> Callable[[Path, random.Random], None]:
    def damage(path: Path, _chance: random.Random) -> None:
        with closing(sqlite3.connect(path)) as database, database:
            for statement in statements:
                database.execute(statement)

    return damage


def _truncated(path: Path, chance: random.Random) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: chance.randrange(1, len(content))])


def _mutated(path: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(chance.choice((1, 10, 100, 1000))):
        content[chance.randrange(len(content))] = chance.randrange(256)
    path.write_bytes(content)


def _journal_of_rubbish(path: Path, chance: random.Random) -> None:
    path.with_name("runs.sqlite-journal").write_bytes(chance.randbytes(5000))


def _wal_of_rubbish(path: Path, chance: random.Random) -> None:
    path.with_name("runs.sqlite-wal").write_bytes(chance.randbytes(5000))


def _random(path: Path, chance: random.Random) -> None:
    path.write_bytes(chance.randbytes(20_000))


def _empty(path: Path, _chance: random.Random) -> None:
    path.write_bytes(b"")


def _header(path: Path, _chance: random.Random) -> None:
    path.write_bytes(path.read_bytes()[:100])


def _folder(path: Path, _chance: random.Random) -> None:
    path.unlink()
    path.mkdir()


def _pipe(path: Path, _chance: random.Random) -> None:
    path.unlink()
    os.mkfifo(path)


def _dangling(path: Path, _chance: random.Random) -> None:
    path.unlink()
    path.symlink_to("/nowhere/at/all")


def _device(path: Path, _chance: random.Random) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


_WRONG = (
    "'no JSON'", "'[]'", "'null'", "'17'", "x'00ff80'", "NULL", "17",
    "'{\"status\": 17}'", "'{\"status\": \"strange\"}'",
    "'{\"status\": \"done\", \"n\": \"many\", \"reason\": [1], \"train_seconds\": {}}'", "'{\"presented\": 1e400}'",
    f"'{'[' * 5000}'", "'{\"seed\": " + "9" * 400 + "}'", "'{\"solver\": \"\\ud800\"}'",
)  # fmt: skip
_PLACES = (
    "UPDATE runs SET record = {}", "UPDATE plan SET record = {}", "UPDATE checkpoints SET columns = {}",
    "UPDATE facts SET value = {}", "UPDATE environments SET content = {}", "UPDATE runs SET status = {}",
    "UPDATE runs SET machine = {}",
)  # fmt: skip


def _wrong_values(path: Path, chance: random.Random) -> None:
    statement = chance.choice(_PLACES).format(chance.choice(_WRONG))
    some = chance.choice(("", " WHERE rowid = 3"))
    _statements(f"{statement}{some}")(path, chance)


_TABLES = ("runs", "checkpoints", "plan", "environments", "facts")

#: kind -> what it does to the database, and how verbs may end
DAMAGES: dict[str, tuple[Callable[[Path, random.Random], None], tuple[int, ...]]] = {
    "newer": (_statements("PRAGMA user_version = 99"), _REFUSED),
    "foreign": (_statements(*(f"DROP TABLE {name}" for name in _TABLES), "CREATE TABLE recipes (name TEXT)"), _REFUSED),
    "without tables": (_statements("DROP TABLE plan"), _REFUSED),
    "truncated": (_truncated, _ANY),
    "mutated": (_mutated, _ANY),
    "random": (_random, _REFUSED),
    "empty": (_empty, _ANY),
    "header": (_header, _ANY),
    "folder": (_folder, _REFUSED),
    "pipe": (_pipe, _REFUSED),
    "dangling": (_dangling, _REFUSED),
    "device": (_device, _REFUSED),
    "journal of rubbish": (_journal_of_rubbish, _ANY),
    "WAL of rubbish": (_wal_of_rubbish, _ANY),
    "wrong values": (_wrong_values, _ANY),
}  # fmt: skip


def database(seed: int, place: Path, references: References) -> list[Fault]:
    """Damage the database of a results folder, and let some verb open it."""
    chance = random.Random(f"database {seed}")
    damage = chance.choice([*DAMAGES, "mutated", "wrong values", "wrong values", "wrong values"])
    verb = chance.choice(_VERBS)
    references.of("tuned")
    experiments.write(place, "tuned")
    shutil.copytree(references.place / "tuned" / "results", place / "results")
    shutil.copytree(references.place / "tuned" / "home", place / "home")
    change, codes = DAMAGES[damage]
    change(place / "results" / "tuned" / "runs.sqlite", chance)
    return [Fault("database", seed, f"{damage}: {verb[0]}", check(place, *verb, codes=codes))]

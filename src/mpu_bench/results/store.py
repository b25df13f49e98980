"""Results on disk: one SQLite file per experiment, one transaction per run.

A process that dies at any moment leaves every finished run and nothing of an unfinished one. The CSV files
beside it are written from it, whole and atomically.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from mpu_bench.errors import StoreError
from mpu_bench.quantities import CHECKPOINT_COLUMNS, FINISHED, RECORD_COLUMNS

FILE = "runs.sqlite"

_CHECKPOINT_TYPES = dict.fromkeys(CHECKPOINT_COLUMNS, "REAL")

_CREATE = f"""
CREATE TABLE runs (
    {", ".join(f"{name} {kind}" for name, kind in RECORD_COLUMNS.items() if name != "run_id")},
    environment TEXT, run_id TEXT PRIMARY KEY
);
CREATE TABLE checkpoints (
    run_id TEXT, position INTEGER, {", ".join(f"{name} {kind}" for name, kind in _CHECKPOINT_TYPES.items())},
    PRIMARY KEY (run_id, position)
);
CREATE TABLE plan (position INTEGER PRIMARY KEY, run_id TEXT, record TEXT);
CREATE TABLE environments (id TEXT PRIMARY KEY, content TEXT);
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT);
"""
_FORMAT = zlib.crc32(_CREATE.encode()) & 0x7FFFFFFF  # no column can be added without changing it


class Store:
    """The results of one experiment.

    Parameters
    ----------
    folder : Path
        ``results/<name>``.
    create : bool
        Make the folder and the database where they are missing.

    Raises
    ------
    StoreError
        If the folder holds no results, is of another version, is damaged, or cannot be written.
    """

    def __init__(self, folder: Path, *, create: bool = False) -> None:
        self.folder = folder
        self.path = folder / FILE
        if not create and not self.path.is_file():
            raise StoreError(
                f"{folder}: holds no results ({FILE} is missing); run a config first: mpu-bench run CONFIG"
            )
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as fault:
            raise StoreError(f"{folder}: cannot be written: {fault.strerror}; choose another with --results") from None
        self._database = sqlite3.connect(self.path, timeout=30, isolation_level=None)
        self._database.row_factory = sqlite3.Row
        try:
            self._open()
        except sqlite3.DatabaseError as fault:
            self.close()
            raise StoreError(f"{self.path}: cannot be read ({fault}); move the file away and run again") from None
        except StoreError:
            self.close()
            raise

    def _open(self) -> None:
        version = self._database.execute("PRAGMA user_version").fetchone()[0]
        empty = not self._database.execute("SELECT name FROM sqlite_master").fetchall()
        if empty:
            self._database.executescript(f"BEGIN; {_CREATE} PRAGMA user_version = {_FORMAT}; COMMIT;")
        elif version != _FORMAT:
            raise StoreError(
                f"{self.path}: was written by another version of mpu-bench, with other columns; read it with that "
                "version, or move the folder away and run again"
            )

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def finished(self) -> set[str]:
        """Give the ids of the runs that need not be done again."""
        marks = ", ".join("?" for _ in FINISHED)
        rows = self._database.execute(f"SELECT run_id FROM runs WHERE status IN ({marks})", FINISHED)
        return {row[0] for row in rows}

    def save(
        self, record: Mapping[str, Any], checkpoints: Sequence[Mapping[str, Any]], environment: Mapping[str, Any]
    ) -> None:
        """Keep one run, in one transaction; an earlier result under the same id is replaced."""
        columns = [*RECORD_COLUMNS, "environment"]
        values = {**record, "environment": environment["id"]}
        names = ["run_id", "position", *CHECKPOINT_COLUMNS]
        points = [
            [record["run_id"], position, *(point[name] for name in CHECKPOINT_COLUMNS)]
            for position, point in enumerate(checkpoints)
        ]
        with self._transaction() as cursor:
            cursor.execute("DELETE FROM checkpoints WHERE run_id = ?", (record["run_id"],))
            cursor.execute(_insert("runs", columns), [values.get(name) for name in columns])
            cursor.executemany(_insert("checkpoints", names), points)
            cursor.execute(_insert("environments", ["id", "content"]), [environment["id"], json.dumps(environment)])

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Cursor]:
        """Do all that is asked of the cursor, or nothing of it."""
        try:
            with closing(self._database.cursor()) as cursor:
                cursor.execute("BEGIN IMMEDIATE")
                try:
                    yield cursor
                    cursor.execute("COMMIT")
                except BaseException:
                    cursor.execute("ROLLBACK")
                    raise
        except sqlite3.Error as fault:
            raise StoreError(f"{self.path}: cannot be written: {fault}; what was finished before is kept") from fault

    def save_plan(self, planned: Iterable[Mapping[str, Any]], facts: Mapping[str, Any]) -> None:
        """Remember which runs the experiment consists of, in which order.

        Parameters
        ----------
        planned : iterable of mapping
            Records with what is known before running, ``run_id`` among it; a run that has no result yet is
            reported with them as ``not run``.
        facts : mapping
            What else to remember about the experiment: its config's text, the published table.
        """
        rows = [(position, each["run_id"], json.dumps(dict(each))) for position, each in enumerate(planned)]
        with self._transaction() as cursor:
            cursor.execute("DELETE FROM plan")
            cursor.executemany("INSERT INTO plan VALUES (?, ?, ?)", rows)
            cursor.executemany(
                _insert("facts", ["name", "value"]), [(name, json.dumps(value)) for name, value in facts.items()]
            )

    def fact(self, name: str) -> Any:
        """Recall what `save_plan` was told, or None."""
        row = self._database.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return json.loads(row[0]) if row else None

    def records(self) -> list[dict[str, Any]]:
        """Give the planned runs in order, each with its result or as ``not run``."""
        found = {row["run_id"]: dict(row) for row in self._database.execute("SELECT * FROM runs")}
        records = []
        for row in self._database.execute("SELECT run_id, record FROM plan ORDER BY position"):
            planned = {name: value for name, value in json.loads(row["record"]).items() if value is not None}
            result = found.get(row["run_id"], {"status": "not run", "reason": ""})
            records.append(dict.fromkeys(RECORD_COLUMNS) | result | planned)
        return records

    def result(self, run_id: str) -> dict[str, Any] | None:
        """Give the row of a finished run, planned or not; None where there is none."""
        row = self.row(run_id)
        return row if row is not None and row["status"] in FINISHED else None

    def row(self, run_id: str) -> dict[str, Any] | None:
        """Give the row of a run, planned or not, whatever became of it; None where there is none."""
        row = self._database.execute("SELECT * FROM runs WHERE run_id = ?", (run_id,)).fetchone()
        return None if row is None else dict(row)

    def checkpoints(self) -> list[dict[str, Any]]:
        """Give the checkpoints of the planned runs, each with its run's id and its ``place`` in `records`."""
        query = (
            f"SELECT plan.position AS place, plan.run_id, {', '.join(CHECKPOINT_COLUMNS)} "
            "FROM plan JOIN checkpoints USING (run_id) ORDER BY plan.position, checkpoints.position"
        )
        return [dict(row) for row in self._database.execute(query)]

    def environments(self) -> list[dict[str, Any]]:
        """Give the machines and versions that the planned runs were made on."""
        query = (
            "SELECT DISTINCT content FROM plan JOIN runs USING (run_id) JOIN environments "
            "ON environments.id = runs.environment"
        )
        return [json.loads(row[0]) for row in self._database.execute(query)]


def _insert(table: str, columns: Sequence[str]) -> str:
    return f"INSERT OR REPLACE INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' for _ in columns)})"

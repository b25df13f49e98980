"""Results on disk: one SQLite file per experiment, one transaction per run.

A process that dies at any moment leaves every finished run and nothing of an unfinished one. The CSV files
beside it are written from it, whole and atomically. Rows and checkpoints are kept as JSON, so that a folder stays
readable when a quantity is added: it has none of it.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from mpu_bench.errors import StoreError
from mpu_bench.quantities import CHECKPOINT_COLUMNS, FINISHED, RECORD_COLUMNS, Column, RunStatus

FILE = "runs.sqlite"

#: raised by hand when the tables below change, or what is in them changes its meaning; a new quantity needs nothing
_FORMAT = 2

_TABLES = (
    "CREATE TABLE runs (run_id TEXT PRIMARY KEY, status TEXT, machine TEXT, record TEXT)",
    "CREATE TABLE checkpoints (run_id TEXT PRIMARY KEY, columns TEXT)",  # each column a list
    "CREATE TABLE plan (position INTEGER PRIMARY KEY, run_id TEXT, record TEXT)",
    "CREATE TABLE environments (id TEXT PRIMARY KEY, content TEXT)",
    "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT)",
    f"PRAGMA user_version = {_FORMAT}",
)

#: parts of queries
_ANY_FINISHED = f"({', '.join('?' for _ in FINISHED)})"
_CURRENT = "WHERE json_extract(plan.record, '$.earlier') IS NULL"


def existing_file(folder: Path) -> Path:
    """Return the database of a results folder.

    Raises
    ------
    StoreError
        If it is no results folder.
    """
    if not (folder / FILE).is_file():
        raise StoreError(f"{folder}: holds no results ({FILE} is missing); run a config first: mpu-bench run CONFIG")
    return folder / FILE


class Store:
    """The results of one experiment.

    Parameters
    ----------
    folder : Path
        ``results/<name>``.
    create : bool
        Make the folder and the database where they are missing. Without, nothing is ever made, so that a reader may
        come at any moment while another process makes them.

    Raises
    ------
    StoreError
        If the folder holds no results, or none yet, is of another version, is damaged, or cannot be written.
    """

    def __init__(self, folder: Path, *, create: bool = False) -> None:
        self.folder = folder
        self.path = folder / FILE if create else existing_file(folder)
        if create:
            _make_folder(folder)
        uri = f"{self.path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
        self._database = sqlite3.connect(uri, uri=True, timeout=30, isolation_level=None)
        self._database.row_factory = sqlite3.Row
        try:
            if create:
                self._create()
            self._check_version()
            if not create and self._is_bare():
                raise StoreError(f"{folder}: holds no results yet; the run into it has only begun")
        except sqlite3.DatabaseError as error:
            self.close()
            raise StoreError(f"{self.path}: cannot be read ({error}); move the file away and run again") from None
        except StoreError:
            self.close()
            raise

    def _create(self) -> None:
        """Make the tables, unless another process was first."""
        with self._atomic() as cursor:
            if self._is_empty():
                for statement in _TABLES:
                    cursor.execute(statement)

    def _is_empty(self) -> bool:
        return self._database.execute("SELECT 1 FROM sqlite_master").fetchone() is None

    def _check_version(self) -> None:
        if not self._is_empty() and self._database.execute("PRAGMA user_version").fetchone()[0] != _FORMAT:
            raise StoreError(
                f"{self.path}: was written by another version of mpu-bench; read it with that version, or move the "
                "folder away and run again"
            )

    def _is_bare(self) -> bool:
        """Return whether the tables are not there yet, or the process that made them has not come to its plan."""
        if self._is_empty():
            return True
        query = "SELECT 1 FROM facts UNION SELECT 1 FROM plan UNION SELECT 1 FROM runs"
        return self._database.execute(query).fetchone() is None

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def finished(self) -> set[str]:
        """Return the ids of the runs that need not be done again."""
        rows = self._database.execute(f"SELECT run_id FROM runs WHERE status IN {_ANY_FINISHED}", FINISHED)
        return {row[0] for row in rows}

    def save(
        self, record: Mapping[str, Any], checkpoints: Sequence[Mapping[str, Any]], environment: Mapping[str, Any]
    ) -> None:
        """Keep one run, in one transaction; an earlier result under the same id is replaced.

        Parameters
        ----------
        record : mapping
            Values of `RECORD_COLUMNS`; what is missing is unknown.
        checkpoints : sequence of mapping
            With every one of `CHECKPOINT_COLUMNS`.
        environment : mapping
            The machine and the versions, as `environment.describe` returns them.
        """
        run_id, machine = record["run_id"], environment["id"]
        columns = {name: [point[name] for point in checkpoints] for name in CHECKPOINT_COLUMNS}
        rows = {
            "runs": (run_id, record["status"], machine, _record_text(record)),
            "checkpoints": (run_id, _columns_text(columns)),
            "environments": (machine, json.dumps(environment)),
        }
        with self._transaction() as cursor:
            for table, row in rows.items():
                cursor.execute(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' for _ in row)})", row)

    @contextmanager
    def _atomic(self) -> Iterator[sqlite3.Cursor]:
        """Do all that is asked of the cursor, or nothing of it."""
        with closing(self._database.cursor()) as cursor:
            cursor.execute("BEGIN IMMEDIATE")
            try:
                yield cursor
                cursor.execute("COMMIT")
            except BaseException:
                cursor.execute("ROLLBACK")
                raise

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Cursor]:
        try:
            with self._atomic() as cursor:
                yield cursor
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: cannot be written: {error}; what was finished before is kept") from error

    def save_plan(self, planned: Iterable[Mapping[str, Any]], facts: Mapping[str, Any]) -> None:
        """Remember which runs the experiment consists of, in which order.

        Finished runs that only an earlier plan has stay behind them, marked as ``earlier`` until a plan has them again.

        Parameters
        ----------
        planned : iterable of mapping
            Records with what is known before running, ``run_id`` among it; a run that has no result yet is
            reported with them as ``not run``.
        facts : mapping
            What else to remember about the experiment: its config's text, the published table.
        """
        rows = [(record["run_id"], _record_text(record)) for record in planned]
        with self._transaction() as cursor:
            rows += self._only_in_earlier_plans({run_id for run_id, _ in rows})
            cursor.execute("DELETE FROM plan")
            cursor.executemany(
                "INSERT INTO plan VALUES (?, ?, ?)", [(position, *row) for position, row in enumerate(rows)]
            )
            cursor.executemany(
                "INSERT OR REPLACE INTO facts VALUES (?, ?)",
                [(name, json.dumps(value)) for name, value in facts.items()],
            )

    def _only_in_earlier_plans(self, planned: Collection[str | None]) -> list[tuple[str, str]]:
        """Return the rows of the present plan that go on as earlier ones: finished, not planned now, and no trials."""
        query = (
            f"SELECT plan.run_id, plan.record FROM plan JOIN runs USING (run_id) WHERE status IN {_ANY_FINISHED} "
            "AND json_extract(plan.record, '$.trial') IS NULL ORDER BY plan.position"
        )
        return [
            (run_id, json.dumps(json.loads(record) | {"earlier": 1}))
            for run_id, record in self._database.execute(query, FINISHED)
            if run_id not in planned
        ]

    def facts(self) -> dict[str, Any]:
        """Return the facts that `save_plan` was given."""
        return {row["name"]: json.loads(row["value"]) for row in self._database.execute("SELECT * FROM facts")}

    def fact(self, name: str) -> Any:
        """Return one of the facts, or None."""
        return self.facts().get(name)

    def records(self, *, earlier: bool = False) -> list[dict[str, Any]]:
        """Return the planned runs in order, each with its result or as ``not run``.

        Parameters
        ----------
        earlier : bool
            Return behind them the finished runs that only an earlier plan has.
        """
        query = (
            "SELECT plan.record AS planned, runs.* FROM plan LEFT JOIN runs USING (run_id) "
            f"{'' if earlier else _CURRENT} ORDER BY plan.position"
        )
        return [_record(row) | _known(json.loads(row["planned"])) for row in self._database.execute(query)]

    def row(self, run_id: str) -> dict[str, Any] | None:
        """Return the row of a run, planned or not, whatever became of it; None where there is none."""
        row = self._database.execute("SELECT * FROM runs WHERE run_id = ?", (run_id,)).fetchone()
        return None if row is None else _record(row)

    def checkpoints(self) -> list[dict[str, Any]]:
        """Return the checkpoints of the planned runs, each with its run's id and ``position`` in `records`."""
        query = f"SELECT * FROM plan JOIN checkpoints USING (run_id) {_CURRENT} ORDER BY plan.position"
        return [
            {"position": row["position"], "run_id": row["run_id"]} | point
            for row in self._database.execute(query)
            for point in _points(json.loads(row["columns"]))
        ]

    def fastest_probe(self, machine: str) -> float:
        """Return the shortest ``probe_seconds`` of the runs that a machine has made; infinity where there is none."""
        query = "SELECT MIN(json_extract(record, '$.probe_seconds')) FROM runs WHERE machine = ?"
        shortest = self._database.execute(query, (machine,)).fetchone()[0]
        return math.inf if shortest is None else float(shortest)

    def environments(self) -> list[dict[str, Any]]:
        """Return the machines and versions that the planned runs were made on."""
        query = (
            "SELECT DISTINCT content FROM plan JOIN runs USING (run_id) JOIN environments "
            "ON environments.id = runs.machine"
        )
        return [json.loads(row[0]) for row in self._database.execute(query)]


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written: {error.strerror}; choose another with --results") from None


def _record_text(record: Mapping[str, Any]) -> str:
    """Return a row as JSON, each value of the type of its column; columns without one are left out."""
    return json.dumps(_known({name: _typed(RECORD_COLUMNS.get(name), value) for name, value in record.items()}))


def _typed(column: Column | None, value: Any) -> Any:
    return value if column is None else column.typed(value)


def _known(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if value is not None}


def _record(row: sqlite3.Row) -> dict[str, Any]:
    """Return the row of a run with all of `RECORD_COLUMNS`; ``not run`` where it is that of no run."""
    stored = {"status": RunStatus.NOT_RUN, "reason": ""} if row["record"] is None else json.loads(row["record"])
    return dict.fromkeys(RECORD_COLUMNS) | {"reason": "", "machine": row["machine"]} | stored


def _columns_text(columns: Mapping[str, Sequence[Any]]) -> str:
    """Return the checkpoints of a run as JSON: a list for each quantity that has values."""
    typed = {name: [CHECKPOINT_COLUMNS[name].typed(value) for value in values] for name, values in columns.items()}
    return json.dumps({name: values for name, values in typed.items() if any(value is not None for value in values)})


def _points(columns: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return the checkpoints that a text of `_columns_text` holds, with all of `CHECKPOINT_COLUMNS`."""
    names = [*CHECKPOINT_COLUMNS, *(name for name in columns if name not in CHECKPOINT_COLUMNS)]
    length = len(next(iter(columns.values()), ()))
    none = [None] * length
    return [
        dict(zip(names, point, strict=True)) for point in zip(*(columns.get(name, none) for name in names), strict=True)
    ]

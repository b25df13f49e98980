"""Results on disk: one SQLite file per experiment, one transaction per run.

A process that dies at any moment leaves every finished run and nothing of an unfinished one. The CSV files
beside it are written from it, whole and atomically. Rows and checkpoints are kept as JSON, so that a folder stays
readable when a quantity is added: it has none of it. Whatever is read is held to its columns (rows.py): a file that
somebody else has written or changed is one message.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from mpu_bench.errors import StoreError
from mpu_bench.files import is_file, process_lock
from mpu_bench.quantities import Record, RunStatus
from mpu_bench.results import provenance, rows
from mpu_bench.results.provenance import Kept, MadeFrom, Needs
from mpu_bench.results.rows import DamagedError
from mpu_bench.results.sqlite_errors import ERRORS, has_moved, is_held, is_of_the_file, of_the_disk, unreadable

FILE = "runs.sqlite"
ABOUT = "about.json"  #: in place of the database, in a folder of results that are kept
LOCK = ".lock"  #: held while a process runs into the folder, or deletes it
MATRICES = "kernel-matrices"  #: the folder of kernel matrices that runs share, as long as a session lasts
MATRIX = r"[0-9a-f]{16}\.(?:float32|part|lock)"  #: what a file in it is called; nothing else is ever deleted

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

_TABLE_NAMES = {"runs", "checkpoints", "plan", "environments", "facts"}

_NAMES_OF_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"

#: every run that is stored, with what `_is_as_written` looks at
_STORED = "SELECT run_id, machine, record, columns FROM runs LEFT JOIN checkpoints USING (run_id)"
_PLANNED = "SELECT run_id, record FROM plan ORDER BY position"

_CHANGED = "it was changed by another program: move the file away and run again"
_PLAN_NOT_AS_WRITTEN = "its plan is not what was written; run the same command again, which writes it anew"
_NOT_AS_WRITTEN = "what is stored of it is not what was written, so it is not shown; run the same command again"
_STALE = "made from a result that was made again since; the same command makes this one again, too"

_T = TypeVar("_T")


def folder_lock(folder: Path) -> AbstractContextManager[None]:
    """Return a context in which no other command writes into a folder of results.

    Raises
    ------
    StoreError
        On entry: one does, or the folder cannot be written.
    """
    return process_lock(
        folder / LOCK,
        StoreError(f"{folder}: another mpu-bench is using this folder; wait for it, or choose another with --results"),
        lambda error: StoreError(f"{folder}: cannot be written: {error.strerror}; choose another with --results"),
    )


def existing_file(folder: Path) -> Path:
    """Return the database of a results folder.

    Raises
    ------
    StoreError
        If it is no results folder.
    """
    path = folder / FILE
    is_there = os.path.lexists(path)  # before the next look: another process may just make it
    if not is_file(path):
        if is_there:
            raise StoreError(f"{path}: is not a file; move it away and run again")
        raise StoreError(f"{folder}: holds no results ({FILE} is missing); run a config first: mpu-bench run CONFIG")
    return path


def check_kind(folder: Path) -> None:
    """Refuse a folder whose database is none of ours, of whatever version.

    Raises
    ------
    StoreError
        If it is no results folder; if the database is a link, empty, damaged or of another program.
    """
    path = existing_file(folder)
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            tables = {row[0] for row in database.execute(_NAMES_OF_TABLES)}
    except ERRORS as error:
        if not is_of_the_file(error):
            raise unreadable(path, error) from None
        tables = set()
    if path.is_symlink() or not tables >= _TABLE_NAMES:
        raise StoreError(f"{path}: is not a results database of mpu-bench, or is damaged; check the folder")


def refuse_kept(folder: Path) -> None:
    """Refuse a folder of results that are kept as CSV: a run into it would write over them.

    Raises
    ------
    StoreError
    """
    if is_file(folder / ABOUT) and not is_file(folder / FILE):
        raise StoreError(f"{folder}: is a baseline, which runs must not change; choose another folder with --results")


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
            if os.path.lexists(self.path) and not is_file(self.path):
                raise StoreError(f"{self.path}: is not a file; move it away, or choose another folder with --results")
        uri = f"{self.path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
        try:
            self._database = sqlite3.connect(uri, uri=True, timeout=30, isolation_level=None)
        except ERRORS as error:
            raise self._refused(error, create) from None
        self._database.row_factory = sqlite3.Row
        try:
            if create:
                self._create()
            self._check_version()
            if not create and self.is_bare():
                raise StoreError(f"{folder}: holds no results yet; its run has just begun")
        except ERRORS as error:
            self.close()
            raise self._refused(error, create) from None
        except BaseException:
            self.close()
            raise

    def _refused(self, error: Exception, create: bool) -> StoreError:
        """Return what to tell of a database that cannot be opened."""
        if create and not is_held(error) and (cause := of_the_disk(error, self.folder)):
            return StoreError(f"{self.path}: cannot be written: {cause}; choose another folder with --results")
        return unreadable(self.path, error)

    def _create(self) -> None:
        """Make the tables, unless another process was first."""
        with self._atomic() as cursor:
            if self._is_empty():
                for statement in _TABLES:
                    cursor.execute(statement)

    def _is_empty(self) -> bool:
        return self._database.execute("SELECT 1 FROM sqlite_master").fetchone() is None

    def _check_version(self) -> None:
        if self._is_empty():
            return
        tables = {row[0] for row in self._database.execute(_NAMES_OF_TABLES)}
        if not tables >= _TABLE_NAMES:
            raise StoreError(f"{self.path}: is a database of another program; move it away and run again")
        if self._database.execute("PRAGMA user_version").fetchone()[0] != _FORMAT:
            raise StoreError(
                f"{self.path}: was written by another version of mpu-bench; read it with that version, or move the "
                "folder away and run again"
            )

    def is_bare(self) -> bool:
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

    def finished(self, needs: Needs | None = None) -> set[str]:
        """Return the keys of the runs that need not be made again: with a result that holds (provenance.py).

        Parameters
        ----------
        needs : mapping, optional
            What the present plan knows of the runs' sources.
        """
        return provenance.holding(self._runs(), needs or {}, self._content_hash)

    def made_from(self, sources: Mapping[str, str]) -> MadeFrom:
        """Return what a run is made from that is made now.

        Parameters
        ----------
        sources : mapping
            The keys of its sources, by what is taken from them.
        """
        known = {key: self.row(key) for key in sources.values()}
        return {
            kind: (key, self._content_hash(key) if (row := known[key]) and row.is_finished else None)
            for kind, key in sources.items()
        }

    def _content_hash(self, run_id: str) -> str:
        row = self._select(f"{_STORED} WHERE run_id = ?", run_id)[0]
        record, columns = (self._read(rows.parse, row[name] or "{}", run_id) for name in ("record", "columns"))
        return provenance.content_hash(record, columns)

    def save(
        self,
        record: Record,
        checkpoints: Sequence[Record],
        environment: Mapping[str, Any],
        made_from: MadeFrom | None = None,
    ) -> Record:
        """Keep one run, in one transaction; an earlier result under the same id is replaced.

        Parameters
        ----------
        record : Record
        checkpoints : sequence of Record
        environment : mapping
            The machine and the versions, as `environment.describe` returns them.
        made_from : mapping, optional
            What `made_from` returned when the run was begun; by default nothing.

        Returns
        -------
        Record
            As it is kept.

        Raises
        ------
        StoreError
            If the file cannot be written; it is as it was.
        """
        run_id, machine = record.run_id, environment["id"]
        values, columns = rows.to_keep(record), json.dumps(rows.columns_to_keep(checkpoints))
        text = provenance.sealed(values | {provenance.KEY: dict(made_from or {})}, run_id, machine, columns)
        texts = {
            "runs": (run_id, record.status, machine, text),
            "checkpoints": (run_id, columns),
            "environments": (machine, json.dumps(rows.made_publishable(environment))),
        }
        with self._transaction() as cursor:
            for table, row in texts.items():
                cursor.execute(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' for _ in row)})", row)
        return Record(**{"machine": machine} | values)

    @contextmanager
    def _atomic(self) -> Iterator[sqlite3.Cursor]:
        """Do all that is asked of the cursor, or nothing of it."""
        with closing(self._database.cursor()) as cursor:
            cursor.execute("BEGIN IMMEDIATE")
            try:
                yield cursor
                cursor.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:  # SQLite itself has ended it where the disk is full
                    with suppress(sqlite3.Error):  # which would hide why
                        cursor.execute("ROLLBACK")
                raise

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Cursor]:
        try:
            with self._atomic() as cursor:
                yield cursor
        except ERRORS as error:
            if has_moved(error) or not self.path.exists():
                raise StoreError(
                    f"{self.path}: was renamed or deleted during the runs; if you renamed the folder, rename "
                    "it back to go on with what it holds; then run the same command again"
                ) from error
            cause = of_the_disk(error, self.folder) or error
            raise StoreError(f"{self.path}: cannot be written: {cause}; finished runs are saved") from error

    def _select(self, query: str, *values: str) -> list[sqlite3.Row]:
        try:
            return self._database.execute(query, values).fetchall()
        except ERRORS as error:
            raise unreadable(self.path, error) from None

    def _read(self, parse: Callable[[object], _T], text: object, run_id: object = None) -> _T:
        try:
            return parse(text)
        except DamagedError as damage:
            where = "" if run_id is None else f" run {str(run_id)[:100]}:"
            raise StoreError(f"{self.path}:{where} {damage}; {_CHANGED}") from None

    def _runs(self) -> dict[str, Kept]:
        """Read every run that is stored, whatever became of it."""
        runs: dict[str, Kept] = {}
        for row in self._select(_STORED):
            if row["run_id"] in runs:
                raise StoreError(f"{self.path}: run {row['run_id']} is there twice; {_CHANGED}")
            runs[self._read(rows.parse_key, row["run_id"])] = self._run(row)
        return runs

    def _run(self, row: sqlite3.Row) -> Kept:
        """Return what is stored of a run; of one that is not as it was written, that it is to be made again."""
        if not _is_as_written(row):
            return Kept(Record(status=RunStatus.ERROR, reason=_NOT_AS_WRITTEN, run_id=row["run_id"]), None)
        known = {"machine": self._read(rows.parse_key, row["machine"], row["run_id"]), "run_id": row["run_id"]}
        values = known | self._read(rows.parse_mapping, row["record"], row["run_id"])
        record = self._read(partial(rows.record_of, needed=["status"]), values, row["run_id"])
        return Kept(record, self._read(provenance.checked_made_from, values.get(provenance.KEY), row["run_id"]))

    def _plan(self) -> list[Record]:
        """Read the planned runs in their order."""
        return [self._planned(row) for row in self._select(_PLANNED)]

    def _planned(self, row: sqlite3.Row) -> Record:
        run_id = None if row["run_id"] is None else self._read(rows.parse_key, row["run_id"])
        if not provenance.is_as_sealed(row["record"], run_id):
            raise StoreError(f"{self.path}: run {run_id}: {_PLAN_NOT_AS_WRITTEN}")
        values = self._read(rows.parse_mapping, row["record"], run_id) | {"run_id": run_id}
        return self._read(partial(rows.record_of, needed=rows.OF_PLAN), values, run_id)

    def save_plan(self, planned: Iterable[Record], facts: Mapping[str, Any]) -> None:
        """Remember which runs the experiment consists of, in which order.

        Finished runs that only an earlier plan has stay behind them, marked as ``earlier`` until a plan has them again.

        Parameters
        ----------
        planned : iterable of Record
            What is known before running; a run that has no result yet is reported as ``not run``.
        facts : mapping
            What else to remember about the experiment: its config's text, the published table.
        """
        now = list(planned)
        now += self._only_in_earlier_plans({record.run_id for record in now})
        texts = [
            (position, record.run_id, provenance.sealed(rows.to_keep(record), record.run_id))
            for position, record in enumerate(now)
        ]
        kept_facts = [(name, json.dumps(rows.made_publishable(value))) for name, value in facts.items()]
        with self._transaction() as cursor:
            cursor.execute("DELETE FROM plan")
            cursor.executemany("INSERT INTO plan VALUES (?, ?, ?)", texts)
            cursor.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", kept_facts)

    def _only_in_earlier_plans(self, planned: Collection[str | None]) -> list[Record]:
        """Return the rows of the present plan that go on as earlier ones: finished, not planned now, and no trials."""
        finished, earlier = self.finished(), []
        for row in self._select(_PLANNED):
            with suppress(StoreError):  # a row that is damaged ends with the plan that it is of
                earlier.append(self._planned(row))
        return [
            replace(record, earlier=1)
            for record in earlier
            if record.run_id in finished and record.run_id not in planned and not record.trial
        ]

    def facts(self) -> dict[str, Any]:
        """Return the facts that `save_plan` was given."""
        facts = {
            str(row["name"]): self._read(rows.parse, row["value"])
            for row in self._select("SELECT name, value FROM facts")
        }
        return self._read(rows.checked_facts, facts)

    def records(self, *, earlier: bool = False) -> list[Record]:
        """Return the planned runs in order, each with its result or as ``not run``.

        Parameters
        ----------
        earlier : bool
            Return behind them the finished runs that only an earlier plan has.
        """
        runs = self._runs()
        holding = provenance.holding(runs, {}, self._content_hash)
        return [
            rows.of_before(replace(_as_it_is_now(runs.get(planned.run_id or ""), holding), **planned.known()))
            for planned in self._plan()
            if earlier or not planned.earlier
        ]

    def row(self, run_id: str) -> Record | None:
        """Return the row of a run, planned or not, whatever became of it; None where there is none."""
        stored = self._select(f"{_STORED} WHERE run_id = ?", run_id)
        return rows.of_before(self._run(stored[0]).record) if stored else None

    def checkpoints(self) -> Iterator[tuple[str, list[Record]]]:
        """Yield the key and the checkpoints of the planned runs that have a result."""
        stored = {
            row["run_id"]: row["columns"]
            for row in self._select(_STORED)
            if row["columns"] is not None and _is_as_written(row)
        }
        for run_id in dict.fromkeys(planned.run_id for planned in self._plan() if not planned.earlier):
            if run_id is not None and run_id in stored:
                yield run_id, self._read(rows.parse_checkpoints, stored[run_id], run_id)

    def environments(self) -> list[dict[str, Any]]:
        """Return the machines and versions that the planned runs were made on."""
        query = (
            "SELECT DISTINCT content FROM plan JOIN runs USING (run_id) JOIN environments "
            "ON environments.id = runs.machine"
        )
        stored = [self._read(rows.parse_mapping, row["content"]) for row in self._select(query)]
        return [self._read(rows.checked_machine, machine) for machine in stored]


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written: {error.strerror}; choose another with --results") from None


def _as_it_is_now(run: Kept | None, holding: Collection[str]) -> Record:
    """Return what became of a run; a result that does not hold any more is provisional."""
    if run is None:
        return Record()
    record = run.record
    if not record.is_finished or record.run_id in holding:
        return record
    return replace(record, status=RunStatus.PROVISIONAL, reason="; ".join(filter(None, [record.reason, _STALE])))


def _is_as_written(row: sqlite3.Row) -> bool:
    return provenance.is_as_sealed(row["record"], row["run_id"], row["machine"], row["columns"])

from __future__ import annotations

import csv
import json
import math
import os
import shutil
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import stored
from mpu_bench.errors import StoreError
from mpu_bench.quantities import CHECKPOINT_COLUMNS, RECORD_COLUMNS, Record, RunStatus
from mpu_bench.report import csv_files, page
from mpu_bench.results import means, summary
from mpu_bench.results.folder import open_results
from mpu_bench.results.store import FILE, Store, check_kind

MACHINE = {"id": "machine", "processor": "p", "cores": 2, "threads": 1}
POINT = Record(**dict.fromkeys(CHECKPOINT_COLUMNS, 1))


def record(run_id: str, **values: Any) -> Record:
    known: dict[str, Any] = {
        "experiment": "e",
        "dataset": "adult",
        "solver": "mpu",
        "parameters": "{}",
        "kernel": "linear",
        "seed": 0,
        "status": "done",
        "run_id": run_id,
    } | values
    return Record(**known | {"status": RunStatus(known["status"])})


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def planned(run_id: str, **values: Any) -> Record:
    return record(run_id, status="not run", **values)


def points_of(store: Store) -> list[tuple[str, Record]]:
    """Return every checkpoint with the key of its run."""
    return [(run_id, point) for run_id, points in store.checkpoints() for point in points]


def write_csv(store: Store) -> None:
    with open_results(store.folder) as results:
        csv_files.write(results)


@pytest.fixture
def store(tmp_path: Path):
    with Store(tmp_path / "e", create=True) as opened:
        yield opened


def test_what_is_saved_is_there_after_reopening(store: Store) -> None:
    store.save_plan([planned("a"), planned("b")], {"name": "e"})
    store.save(record("a", objective=1.5), [POINT, POINT], MACHINE)
    with Store(store.folder) as again:
        assert again.finished() == {"a"}
        rows = again.records()
        assert [row.status for row in rows] == ["done", "not run"]
        assert rows[0].objective == 1.5
        assert len(points_of(again)) == 2
        assert again.environments() == [MACHINE]
        assert again.facts()["name"] == "e"


def test_saving_again_replaces_and_never_doubles(store: Store) -> None:
    store.save_plan([planned("a")], {})
    store.save(record("a", objective=1.0), [POINT] * 3, MACHINE)
    store.save(record("a", objective=2.0), [POINT], MACHINE)
    assert [row.objective for row in store.records()] == [2.0]
    assert len(points_of(store)) == 1


@pytest.mark.parametrize("status", ["timeout", "out-of-memory", "crashed", "error", "diverged", "unavailable"])
def test_a_failed_run_is_a_row_but_no_result(store: Store, status: str) -> None:
    store.save_plan([planned("a")], {})
    store.save(record("a", status=status, reason="why"), [], MACHINE)
    assert store.finished() == set()
    assert store.records()[0].reason == "why"


def test_a_run_that_left_the_plan_is_not_reported(store: Store) -> None:
    store.save_plan([planned("a"), planned("b")], {})
    store.save(record("a"), [POINT], MACHINE)
    store.save_plan([planned("b")], {})
    assert [row.run_id for row in store.records()] == ["b"]
    assert points_of(store) == []
    assert store.finished() == {"a"}


def test_a_save_that_fails_half_way_leaves_nothing(store: Store) -> None:
    with pytest.raises(AttributeError):
        store.save(record("a"), [POINT, {}], MACHINE)  # type: ignore[list-item]
    assert store.finished() == set()
    store.save(record("a"), [POINT], MACHINE)
    assert store.finished() == {"a"}


def test_no_results_folder(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no results"):
        Store(tmp_path)


def test_results_of_another_version(store: Store) -> None:
    database = sqlite3.connect(store.folder / FILE)
    database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(StoreError, match="another version"):
        Store(store.folder)


def test_half_a_database(store: Store) -> None:
    store.save_plan([planned("a")], {})
    store.close()
    path = store.folder / FILE
    path.write_bytes(path.read_bytes()[:100] + b"rubbish" * 1000)
    with pytest.raises(StoreError, match="cannot be read"):
        Store(store.folder)


def test_csv_files_hold_what_the_store_holds(store: Store) -> None:
    store.save_plan([planned(name, seed=seed) for seed, name in enumerate("abc")], {"published": None})
    for seed, name in enumerate("ab"):
        store.save(record(name, seed=seed, test_error=0.1 + 0.1 * seed, objective=2.0), [POINT], MACHINE)
    write_csv(store)
    runs = rows_of(store.folder / "runs.csv")
    assert list(runs[0]) == list(RECORD_COLUMNS)
    assert [run["status"] for run in runs] == ["done", "done", "not run"]
    (row,) = rows_of(store.folder / "table.csv")
    assert (row["count"], row["planned"]) == ("2", "3")
    assert float(row["test_error_mean"]) == pytest.approx(0.15)
    assert float(row["test_error_std"]) == pytest.approx(0.0707, abs=1e-4)
    assert len(rows_of(store.folder / "curves.csv")) == 2
    (mean,) = rows_of(store.folder / "mean_curves.csv")
    assert (mean["count"], float(mean["gap_mean"]), float(mean["gap_std"])) == ("2", 1.0, 0.0)
    assert (store.folder / "environment.json").read_text().startswith("{")
    assert not list(store.folder.glob(".*.csv.*"))


def test_published_numbers_stand_beside_the_measured(store: Store) -> None:
    store.save_plan([planned("a")], {})
    store.save(record("a", objective=11434.4, train_seconds=0.2), [POINT], MACHINE)
    (row,) = summary.summarize(store.records(), ["mpu-table1"])
    assert row.published["objective"] == 11434.4
    assert row.published["train_seconds"] == 0.4


def test_an_older_folder_stays_readable_when_a_quantity_is_new(store: Store) -> None:
    store.save_plan([planned("a")], {})
    store.save(record("a", objective=1.5), [POINT], MACHINE)
    database = sqlite3.connect(store.folder / FILE)
    with database:
        (kept,) = database.execute("SELECT record FROM runs").fetchone()
        (columns,) = database.execute("SELECT columns FROM checkpoints").fetchone()
        gone = ("objective", "checksum")
        older = {name: value for name, value in json.loads(kept).items() if name not in gone} | {"gone": 1}
        fewer = {name: values for name, values in json.loads(columns).items() if name != "gap"}
        database.execute("UPDATE runs SET record = ?", (json.dumps(older),))
        database.execute("UPDATE checkpoints SET columns = ?", (json.dumps(fewer),))
    database.close()
    with Store(store.folder) as again:
        assert again.records()[0].objective is None
        assert points_of(again)[0][1].gap is None
        write_csv(again)
    assert list(rows_of(store.folder / "runs.csv")[0]) == list(RECORD_COLUMNS)


def test_numbers_come_back_bit_for_bit_and_what_is_not_finite_as_none(store: Store) -> None:
    store.save_plan([planned("a")], {})
    store.save(record("a", objective=math.inf, gap=math.nan, test_error=0.1 + 0.2, updates=2**62), [], MACHINE)
    row = store.row("a")
    assert (row.objective, row.gap, row.test_error, row.updates) == (None, None, 0.1 + 0.2, 2**62)
    assert row.machine == MACHINE["id"]


def test_a_run_that_has_only_begun_holds_no_results_yet(tmp_path: Path) -> None:
    (tmp_path / FILE).touch()  # as SQLite leaves it before the first table
    with pytest.raises(StoreError, match="holds no results yet"):
        Store(tmp_path)
    with Store(tmp_path, create=True) as store, pytest.raises(StoreError, match="holds no results yet"):
        Store(store.folder)
    with Store(tmp_path, create=True) as store:
        store.save_plan([planned("a")], {"name": "e"})
    with Store(tmp_path) as store:
        assert [row.status for row in store.records()] == ["not run"]


@pytest.mark.parametrize("_attempt", range(5))
def test_readers_and_writers_may_come_while_it_is_made(tmp_path: Path, _attempt: int) -> None:
    folder = tmp_path / "e"
    begin = threading.Barrier(6)

    def write(name: str) -> str:
        begin.wait()
        with Store(folder, create=True) as store:
            store.save_plan([planned(name)], {"name": "e"})
            store.save(record(name), [POINT], MACHINE)
        return "written"

    def read() -> str:
        begin.wait()
        while True:
            try:
                with Store(folder) as store:
                    if store.finished() == {"a", "b"}:
                        return "read"
            except StoreError as error:
                assert "holds no results" in str(error)  # noqa: PT017

    with ThreadPoolExecutor(6) as threads:
        asked = [*(threads.submit(write, name) for name in "ab"), *(threads.submit(read) for _ in range(4))]
        assert [each.result(60) for each in asked] == ["written"] * 2 + ["read"] * 4


def test_a_reader_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no results"):
        Store(tmp_path / "absent")
    (tmp_path / FILE).touch()
    with pytest.raises(StoreError):
        Store(tmp_path)
    assert (tmp_path / FILE).read_bytes() == b""
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_finished_runs_of_an_earlier_plan_stay_marked_until_a_plan_has_them_again(store: Store) -> None:
    store.save_plan([planned("a", parameters='{"C": 1}', as_published=1), planned("b"), planned("t", trial="fold")], {})
    for name in "abt":
        store.save(record(name, status="error" if name == "b" else "done"), [POINT], MACHINE)
    changed = planned("c", parameters='{"C": 10}', as_published=0, overridden="solvers.mpu.C = 10")
    for _ in range(2):
        store.save_plan([changed], {})
        rows = store.records(earlier=True)
        assert [(row.run_id, row.earlier, row.as_published) for row in rows] == [("c", None, 0), ("a", 1, 1)]
        assert [row.run_id for row in store.records()] == ["c"]
        assert points_of(store) == []
    write_csv(store)
    assert [row["run_id"] for row in rows_of(store.folder / "runs.csv")] == ["c", "a"]
    assert [row["earlier"] for row in rows_of(store.folder / "table.csv")] == ["", "1"]
    assert [row["overridden"] for row in rows_of(store.folder / "table.csv")] == ["solvers.mpu.C = 10", ""]
    store.save(record("c"), [POINT], MACHINE)
    store.save_plan([planned("a")], {})
    assert [(row.run_id, row.earlier) for row in store.records(earlier=True)] == [("a", None), ("c", 1)]


class Failing:
    """A connection on which some statements fail as on a disk that does not take them."""

    def __init__(self, real: sqlite3.Connection, statement: str, error: BaseException, ends: bool) -> None:
        self._real, self._statement, self._error, self._ends = real, statement, error, ends

    def __getattr__(self, name: str):
        return getattr(self._real, name)

    def cursor(self):
        return self

    def execute(self, statement: str, *values):
        if self._statement in statement:
            if self._ends:  # as SQLite does by itself where the disk is full
                self._real.execute("ROLLBACK")
            raise self._error
        return self._real.execute(statement, *values)

    def close(self) -> None:
        pass


def sqlite_error(words: str, code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(words)
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize("statement", ["INSERT OR REPLACE INTO checkpoints", "COMMIT"])
@pytest.mark.parametrize("ends", [True, False])
@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            sqlite_error("database or disk is full", sqlite3.SQLITE_FULL),
            "cannot be written: the disk is full; finished runs are saved",
        ),
        (
            sqlite_error("readonly", sqlite3.SQLITE_READONLY_DIRECTORY),
            "cannot be written: it is read-only; finished runs are saved",
        ),
        (
            sqlite_error("disk I/O error", sqlite3.SQLITE_IOERR_WRITE),
            r"cannot be written: disk I/O error \(perhaps a quota, or the limit of ulimit -f, is reached\); finished ",
        ),
    ],
)
def test_why_a_row_cannot_be_written_is_told_truly(
    store: Store, error: sqlite3.Error, words: str, ends: bool, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.save(record("a"), [POINT], MACHINE)
    with monkeypatch.context() as patch:
        patch.setattr(store, "_database", Failing(store._database, statement, error, ends))
        with pytest.raises(StoreError, match=words):
            store.save(record("b"), [POINT], MACHINE)
    assert store.finished() == {"a"}
    store.save(record("b"), [POINT], MACHINE)
    assert store.finished() == {"a", "b"}


@pytest.mark.parametrize("interruption", [KeyboardInterrupt(), SystemExit(143)])
@pytest.mark.parametrize("statement", ["INSERT OR REPLACE INTO runs", "COMMIT"])
@pytest.mark.parametrize("ends", [True, False])
def test_an_interruption_in_a_transaction_stays_one(
    store: Store, interruption: BaseException, statement: str, ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(store, "_database", Failing(store._database, statement, interruption, ends))
        with pytest.raises(type(interruption)):
            store.save(record("a"), [POINT], MACHINE)
    assert store.finished() == set()


def test_an_input_error_on_a_full_disk_is_a_full_disk(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    error = sqlite_error("disk I/O error", sqlite3.SQLITE_IOERR)
    monkeypatch.setattr("shutil.disk_usage", lambda _folder: SimpleNamespace(free=4096))
    monkeypatch.setattr(store, "_database", Failing(store._database, "COMMIT", error, True))
    with pytest.raises(StoreError, match="cannot be written: the disk is full"):
        store.save(record("a"), [POINT], MACHINE)


def test_a_disk_that_is_full_from_the_first_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*_arguments, **_options):
        raise sqlite_error("unable to open database file", sqlite3.SQLITE_CANTOPEN)

    monkeypatch.setattr(sqlite3, "connect", connect)
    monkeypatch.setattr("shutil.disk_usage", lambda _folder: SimpleNamespace(free=0))
    with pytest.raises(StoreError, match="cannot be written: the disk is full; choose another folder"):
        Store(tmp_path, create=True)


@pytest.mark.parametrize(
    "put",
    [Path.mkdir, os.mkfifo, lambda path: path.symlink_to(path.parent / "nothing")],
    ids=["folder", "pipe", "dangling link"],
)
def test_what_is_no_file_in_the_place_of_the_database(tmp_path: Path, put) -> None:
    put(tmp_path / FILE)
    with pytest.raises(StoreError, match="is not a file; move it away"):
        Store(tmp_path, create=True)
    with pytest.raises(StoreError, match="is not a file; move it away"):
        Store(tmp_path)


def test_a_name_that_no_folder_can_have(tmp_path: Path) -> None:
    for create in (True, False):
        with pytest.raises(StoreError, match=r"name too long|holds no results"):  # which, differs by Python
            Store(tmp_path / ("x" * 300), create=create)


def test_a_database_of_another_program_is_told_from_one_of_another_version(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / FILE)) as database, database:
        database.execute("CREATE TABLE notes (text TEXT)")
    for create in (True, False):
        with pytest.raises(StoreError, match="is a database of another program"):
            Store(tmp_path, create=create)


SET = "UPDATE runs SET record = json_set(record, '$.{}', json('{}'))"
PLANNED = "UPDATE plan SET record = json_set(record, '$.{}', json('{}'))"
POINTS = "UPDATE checkpoints SET columns = '{}'"
FACT = "INSERT OR REPLACE INTO facts VALUES ('{}', '{}')"
MACHINES = "UPDATE environments SET content = '{}'"
WITHOUT_CHECKSUMS = ";".join(  # as an earlier version wrote them
    f"UPDATE {table} SET record = json_remove(record, '$.checksum')" for table in ("runs", "plan")
)
DEEP = "[" * 100_000
DAMAGES = [
    "UPDATE runs SET record = 'no JSON'",
    "UPDATE runs SET record = NULL",
    "UPDATE runs SET record = 7",
    "UPDATE runs SET record = x'ff00ff'",
    "UPDATE runs SET record = CAST(x'ff00ff' AS TEXT)",
    "UPDATE runs SET record = '[]'",
    f"UPDATE runs SET record = '{DEEP}'",
    "UPDATE runs SET record = '{}'",
    "UPDATE runs SET run_id = NULL, machine = NULL",
    "UPDATE runs SET machine = x'00'",
    SET.format("status", '"well"'),
    SET.format("status", "null"),
    SET.format("status", '["done"]'),
    SET.format("objective", '"hello"'),
    SET.format("objective", "true"),
    SET.format("objective", "[1]"),
    SET.format("test_error", '{"a": 1}'),
    "UPDATE runs SET record = replace(record, '1.5', '1" + "0" * 5000 + "')",
    SET.format("n", "1.5"),
    SET.format("n", str(2**70)),
    SET.format("reason", "7"),
    SET.format("made_from", "7"),
    SET.format("parameters", '"{"'),
    SET.format("parameters", '"[1]"'),
    PLANNED.format("dataset", "null"),
    PLANNED.format("solver", "5"),
    PLANNED.format("seed", '"x"'),
    PLANNED.format("parameters", '"no"'),
    PLANNED.format("trial", "[]"),
    PLANNED.format("tuned", "1"),
    "UPDATE plan SET record = ''",
    "UPDATE plan SET run_id = x'00'",
    POINTS.format("no"),
    POINTS.format('{"presented": 5}'),
    POINTS.format('{"presented": [5, 6], "objective": [1.0]}'),
    POINTS.format('{"objective": ["x"]}'),
    POINTS.format("[[]]"),
    FACT.format("pairs", '{"adult": 7}'),
    FACT.format("pairs", "[]"),
    FACT.format("options", '"--profile"'),
    FACT.format("options", "[1]"),
    FACT.format("judging", "[1]"),
    FACT.format("judging", '{"published": ["absent"]}'),
    FACT.format("judging", '{"claims": [{"claim": 1}]}'),
    FACT.format("paper", "{}"),
    FACT.format("name", "7"),
    FACT.format("config", "[]"),
    FACT.format("x", "{"),
    MACHINES.format("7"),
    "DROP TABLE facts",
    "ALTER TABLE runs RENAME COLUMN record TO rekord",
    "ALTER TABLE plan RENAME COLUMN position TO place",
    "DROP TABLE runs; CREATE TABLE runs (run_id, status, machine, record)",
    "DROP TABLE checkpoints; CREATE VIEW checkpoints AS SELECT 1",
]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda text: text[:60])
def test_rows_of_wrong_types_are_one_message_from_every_reader(tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "e"
    with Store(folder, create=True) as store:
        store.save_plan([planned("a", n=100)], {"name": "e", "config": "e.yaml"})
        store.save(record("a", n=100, objective=1.5, test_error=0.25, train_seconds=1.0), [POINT, POINT], MACHINE)
    with closing(sqlite3.connect(folder / FILE)) as database, database:
        database.executescript(WITHOUT_CHECKSUMS)
        database.executescript(damage)
        if "CREATE TABLE runs" in damage:  # a key that is there twice
            database.executemany("INSERT INTO runs VALUES (?, '', 'm', '{\"status\": \"done\"}')", [("a",), ("a",)])
    refused = []
    for read in (csv_files.write, page_of, lambda results: stored.accept(results.folder, tmp_path / "kept")):
        try:
            with open_results(folder) as results:
                read(results)
        except StoreError as fault:
            refused.append(str(fault))
    assert refused
    assert all(str(folder) in message and len(message) < 1000 for message in refused)
    try:
        with Store(folder, create=True) as store:
            store.finished({"a": {}})
            store.made_from({"x": "a"})
            store.save_plan([planned("b")], {})
    except StoreError as fault:
        assert str(folder) in str(fault)  # noqa: PT017 - a reader of other tables need not meet the damage


def page_of(results) -> None:
    page.write([results.folder], results.folder.parent / "page")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE runs SET record = replace(record, '0.54', '0.14')",
        "UPDATE runs SET record = replace(record, 'done', 'timeout')",
        "UPDATE runs SET record = json_set(record, '$.objective', 1.25)",
        "UPDATE runs SET record = replace(record, '1.5', '1.5, ')",
        "UPDATE runs SET machine = 'another'",
        "UPDATE checkpoints SET columns = replace(columns, '1', '2')",
        "DELETE FROM checkpoints",
        "UPDATE runs SET record = (SELECT record FROM runs WHERE run_id = 'b') WHERE run_id = 'a'",
    ],
)
def test_a_row_that_is_not_what_was_written_is_never_shown_and_is_made_again(store: Store, change: str) -> None:
    store.save_plan([planned("a"), planned("b")], {"name": "e"})
    for name, error in (("a", 0.54), ("b", 0.25)):
        store.save(record(name, objective=1.5, test_error=error), [POINT], MACHINE)
    where = "" if "WHERE run_id" in change else " WHERE run_id = 'a'"
    store._database.execute(change + where)
    changed, other = store.records()
    assert (changed.status, changed.test_error, changed.objective) == ("error", None, None)
    assert "not what was written" in changed.reason
    assert (other.status, other.test_error) == ("done", 0.25)
    assert {run_id for run_id, _ in points_of(store)} == {"b"}
    assert store.finished() == {"b"}
    assert store.row("a").test_error is None
    store.save(record("a", test_error=0.54), [POINT], MACHINE)
    assert store.finished() == {"a", "b"}


def test_a_plan_that_is_not_what_was_written_is_one_message_and_is_written_anew(store: Store) -> None:
    store.save_plan([planned("a", parameters='{"C": 1.0}')], {"name": "e"})
    store.save(record("a"), [POINT], MACHINE)
    store._database.execute("UPDATE plan SET record = replace(record, '1.0', '2.0')")
    with pytest.raises(StoreError, match="its plan is not what was written; run the same command again"):
        store.records()
    store.save_plan([planned("a", parameters='{"C": 1.0}')], {"name": "e"})
    assert [row.status for row in store.records()] == ["done"]


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize("read", [lambda store: store.records(), lambda store: store.save_plan([planned("b")], {})])
def test_a_database_that_another_program_holds_is_told_from_a_damaged_one(
    store: Store, create: bool, read, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.save_plan([planned("a")], {"name": "e"})
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **options: connect(*given, **options | {"timeout": 0.01}))
    with Store(store.folder) as opened, closing(connect(store.path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        for refused in (
            lambda: Store(store.folder, create=create),
            lambda: read(opened),
            lambda: check_kind(store.folder),
        ):
            with pytest.raises(StoreError, match="another program holds it; close that program and try") as fault:
                refused()
            assert "move" not in str(fault.value)


@pytest.mark.parametrize("code", [sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM])
def test_only_a_damaged_database_is_to_be_moved_away(store: Store, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_database", Failing(store._database, "SELECT", sqlite_error("no luck", code), False))
    with pytest.raises(StoreError, match=r"cannot be read \(no luck\)$"):
        store.records()
    damaged = sqlite_error("database disk image is malformed", sqlite3.SQLITE_CORRUPT)
    monkeypatch.setattr(store, "_database", Failing(store._database, "SELECT", damaged, False))
    with pytest.raises(StoreError, match="move the file away and run again"):
        store.records()


@pytest.mark.parametrize("is_replaced", [True, False])
@pytest.mark.parametrize("lose", [lambda folder: folder.rename(folder.with_name("moved")), shutil.rmtree])
def test_a_folder_that_is_lost_under_a_run_is_told_as_such(store: Store, lose, is_replaced: bool) -> None:
    store.save(record("a"), [POINT], MACHINE)
    lose(store.folder)
    if is_replaced:
        Store(store.folder, create=True).close()
    with pytest.raises(StoreError, match="was renamed or deleted during the runs"):
        store.save(record("b"), [POINT], MACHINE)


def test_the_mean_curve_is_that_of_the_runs_in_the_table(store: Store) -> None:
    """A run that diverged was in the mean as far as it came, and was none of those in the table."""
    store.save_plan([planned("a"), planned("b", seed=1)], {})
    for run_id, seed, status, errors in (("a", 0, "done", (0.2, 0.1)), ("b", 1, "diverged", (0.8,))):
        points = [Record(presented=10**k, passes=float(k), test_error=error) for k, error in enumerate(errors, start=1)]
        store.save(record(run_id, seed=seed, status=status, test_error=errors[-1]), points, MACHINE)
    with open_results(store.folder) as results:
        assert [(row.count, row.means["test_error"]) for row in results.mean_curves] == [(1, 0.2), (1, 0.1)]
        assert len(results.curves) == 3


def test_a_curve_is_of_its_run_where_another_process_plans_anew_meanwhile(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for run_id in "ab":
        store.save(record(run_id, solver=run_id), [Record(presented=10, test_error=0.1)], MACHINE)
    plans = [planned(run_id, solver=run_id) for run_id in "ab"]
    store.save_plan(plans, {})
    before = store.checkpoints

    def planned_anew() -> Any:
        store.save_plan([*reversed(plans), planned("c")], {})
        return before()

    monkeypatch.setattr(store, "checkpoints", planned_anew)
    assert {(point.run_id, point.solver) for point in means.curves_of(store.records(), dict(store.checkpoints()))} == {
        ("a", "a"),
        ("b", "b"),
    }


def test_curves_are_of_the_runs_in_the_table_whatever_ends_meanwhile(store: Store) -> None:
    store.save_plan([planned("a"), planned("b", seed=1)], {})
    points = [Record(presented=10, test_error=0.1)]
    store.save(record("a"), points, MACHINE)
    with open_results(store.folder) as results:
        assert [run.status for run in results.records()] == ["done", "not run"]
        store.save(record("b", seed=1), points, MACHINE)
        assert [point.run_id for point in results.curves] == ["a"]
        assert len(results.finished()) == 1


def test_one_result_under_two_labels_has_a_curve_under_each(store: Store) -> None:
    store.save(record("a"), [Record(presented=10, test_error=0.1)], MACHINE)
    store.save_plan([planned("a", dataset=label) for label in "xy"], {})
    assert [(point.run_id, point.dataset) for point in means.curves_of(store.records(), dict(store.checkpoints()))] == [
        ("a", "x"),
        ("a", "y"),
    ]


def test_runs_that_differ_in_what_was_tuned_are_no_mean(store: Store) -> None:
    store.save_plan([planned("a", tuned="C of 1"), planned("b", tuned="C of 10")], {})
    for run_id, error in (("a", 0.2), ("b", 0.4)):
        store.save(record(run_id, test_error=error), [Record(presented=10, test_error=error)], MACHINE)
    with open_results(store.folder) as results:
        assert [(row.tuned, row.count, row.means["test_error"]) for row in results.mean_curves] == [
            ("C of 1", 1, 0.2),
            ("C of 10", 1, 0.4),
        ]


def test_a_damaged_row_makes_those_that_were_made_from_it_stale_and_no_folder_unreadable(store: Store) -> None:
    store.save_plan([planned("optimum"), planned("run", seed=1)], {})
    store.save(record("optimum"), [], MACHINE)
    store.save(record("run", seed=1), [], MACHINE, store.made_from({"optimum": "optimum"}))
    assert store.finished({"run": {"optimum": "optimum"}}) == {"optimum", "run"}
    with closing(sqlite3.connect(store.path)) as database, database:
        database.execute("UPDATE runs SET record = 'x' || substr(record, 2) WHERE run_id = 'optimum'")
    assert store.finished({"run": {"optimum": "optimum"}}) == set()
    assert [each.status for each in store.records()] == [RunStatus.ERROR, RunStatus.PROVISIONAL]

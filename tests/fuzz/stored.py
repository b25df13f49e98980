"""Targets: results folders, as a database or as the CSV files that are kept of one, read by every verb."""

from __future__ import annotations

import contextlib
import io
import json
import lzma
import sqlite3
import zlib
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import stored
from fuzz.documents import words
from fuzz.mutation import bent_bytes, bent_words, mutator_of_json, mutator_of_parts
from fuzz.target import SEPARATOR, Target, empty_place, place, written
from mpu_bench.display.table import print_results
from mpu_bench.display.terminal import terminal
from mpu_bench.errors import StoreError
from mpu_bench.files import csv_text, read_csv
from mpu_bench.quantities import CHECKPOINT_COLUMNS, RECORD_COLUMNS, Record, RunStatus
from mpu_bench.report import checked, csv_files, export, figures, page
from mpu_bench.results import store
from mpu_bench.results.folder import CURVES, MACHINES, RUNS, open_results
from mpu_bench.results.means import MEAN_CURVE_TYPES
from mpu_bench.results.store import ABOUT, FILE, Store
from mpu_bench.results.summary import summaries
from mpu_bench.verdict import baseline

KEPT = Path(__file__).parents[2] / "results" / "baseline"
_EXPERIMENTS = ("mpu-soft-margin-ci", "sbp-table2-ci", "fw-statistics-ci")
_FILES = (RUNS, ABOUT, MACHINES, CURVES, baseline.VERDICTS)


# ------------------------------------------------------------------ what is done with a results folder


def _show(folder: Path) -> None:
    with open_results(folder) as results:
        print_results(results, terminal())


def _check(folder: Path) -> None:
    found = baseline.check(folder, place() / "kept")
    checked.json_text([found])
    checked.junit_text([found], strict=True)


def _export(folder: Path) -> None:
    for form in ("csv", "md", "tex"):
        export.export(folder, form, None)


def _report(folder: Path) -> None:
    page.write([folder], empty_place("page"))


def _plot(folder: Path) -> None:
    with open_results(folder) as results:
        for figure in figures.figures(summaries(results), results.mean_curves):
            json.dumps(asdict(figure))


def _rewrite(folder: Path) -> None:
    with open_results(folder) as results:
        csv_files.write(results)


def _about(folder: Path) -> None:
    stored.about(folder)
    baseline.cells(folder)


_ANY_FOLDER: tuple[Callable[[Path], None], ...] = (_show, _check, _export, _report, _plot)


def _use(folder: Path, data: bytes, verbs: tuple[Callable[[Path], None], ...]) -> None:
    """Do one thing with a folder, which depends on the input."""
    with contextlib.redirect_stdout(io.StringIO()):
        verbs[zlib.crc32(data) % len(verbs)](folder)


# ------------------------------------------------------------------ kept as CSV


@cache
def _kept() -> list[bytes]:
    """Return results that are kept, as parts in the order of `_FILES`."""
    found = []
    for name in _EXPERIMENTS:
        parts = [(KEPT / name / file).read_bytes() for file in _FILES]
        parts[3] = lzma.decompress(parts[3])[:2000].rpartition(b"\n")[0] + b"\n"
        parts[0] = b"\n".join(parts[0].split(b"\n")[:4]) + b"\n"
        found.append(SEPARATOR.join(parts))
    return found


def _put(folder: Path, data: bytes) -> None:
    for name, content in zip(_FILES, data.split(SEPARATOR), strict=False):
        (folder / name).write_bytes(lzma.compress(content, preset=0) if name.endswith(".xz") else content)


def _read_kept(data: bytes) -> None:
    if not (place() / "kept").is_dir():
        for name, example in zip(_EXPERIMENTS, _kept(), strict=True):
            (place() / "kept" / name).mkdir(parents=True)
            _put(place() / "kept" / name, example)
    folder = empty_place("results")
    _put(folder, data)
    _use(folder, data, (*_ANY_FOLDER, _about))


def _read_csv(data: bytes) -> None:
    path = written("runs", data)
    types: dict[str, Callable[[str], Any]] = {name: column.of_text for name, column in RECORD_COLUMNS.items()}
    csv_text(read_csv(path, types, ("dataset", "solver", "run_id")))


def _read_curves(data: bytes) -> None:
    path = written("curves", data)
    csv_text(read_csv(path, MEAN_CURVE_TYPES, ("dataset", "solver", "presented")))


# ------------------------------------------------------------------ the database


_TABLES = ("runs", "checkpoints", "plan", "environments", "facts")
_MACHINE = {"id": "m", "processor": "p", "cores": 2, "threads": 1, "python": "3.11", "packages": {"numpy": "2"}}


def _record(number: int, **more: Any) -> Record:
    known: dict[str, Any] = {
        "experiment": "fuzzed",
        "dataset": "adult",
        "n": 100,
        "d": 5,
        "n_test": 20,
        "classes": 2,
        "solver": "mpu",
        "parameters": json.dumps({"C": 1.0, "regularization": {"over-examples": 1}}),
        "kernel": "linear",
        "seed": number,
        "status": RunStatus.DONE,
        "run_id": f"r{number}",
        "machine": "m",
        "threads": 1,
        "objective": 1.5,
        "test_error": 0.25,
        "train_error": 0.2,
        "train_seconds": 0.5,
        "cpu_seconds": 0.4,
        "passes": 2.0,
        "updates": 7,
        "support_vectors": 5,
        "kernel_evaluations": 900,
        "gap": 0.01,
    }
    return Record(**known | more)


@cache
def _stored() -> list[bytes]:
    """Return a database, as bytes."""
    folder = place() / "stored"
    planned = [_record(0), _record(1, kernel="gaussian(gamma=0.5)", budget_vectors=10), _record(2, solver="dcd")]
    points = [Record(**dict.fromkeys(CHECKPOINT_COLUMNS, value)) for value in (1, 2)]
    facts = {
        "name": "fuzzed",
        "config": "adult",
        "options": [],
        "paper": "mpu-2010",
        "pairs": {"adult": [60, 60]},
        "judging": {"published": ["mpu-table1"], "claims": [], "explained": []},
        "description": "d",
    }
    with Store(folder, create=True) as opened:
        opened.save_plan(planned, facts)
        for record in planned:
            opened.save(record, points, _MACHINE)
    return [(folder / FILE).read_bytes()]


@cache
def _rows() -> list[bytes]:
    """Return what the tables hold as JSON, texts that are JSON themselves written out."""
    folder = empty_place("rows")
    (folder / FILE).write_bytes(_stored()[0])
    with contextlib.closing(sqlite3.connect(folder / FILE)) as database:
        tables = {
            name: [list(map(_opened, row)) for row in database.execute(f"SELECT * FROM {name}")] for name in _TABLES
        }
    return [json.dumps(tables).encode()]


def _opened(cell: Any) -> Any:
    return {"json": json.loads(cell)} if isinstance(cell, str) and cell[:1] in ("{", "[") else cell


def _cell(value: Any) -> Any:
    """Return what a cell holds: numbers and texts as they are, the rest as JSON."""
    if isinstance(value, dict) and [*value] == ["json"]:
        return json.dumps(value["json"])
    if isinstance(value, int) and abs(value) >= 2**63:
        return float(value) if abs(value) < 10**300 else None
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return json.dumps(value) if isinstance(value, dict | list) else value


def _read_rows(data: bytes) -> None:
    try:
        tables = json.loads(data)
    except (ValueError, RecursionError):
        tables = None
    if not isinstance(tables, dict):
        raise StoreError("no tables can be made of this")
    folder = empty_place("results")
    with contextlib.closing(sqlite3.connect(folder / FILE)) as database:
        for statement in ("PRAGMA synchronous = OFF", *store._TABLES):
            database.execute(statement)
        for name in _TABLES:
            for row in tables.get(name) or () if isinstance(tables.get(name), list) else ():
                cells = list(map(_cell, row)) if isinstance(row, list) else [_cell(row)]
                with contextlib.suppress(sqlite3.Error):  # too many cells, or a key that stands twice
                    database.execute(f"INSERT INTO {name} VALUES ({', '.join('?' for _ in cells)})", cells)
        database.commit()
    _use(folder, data, (*_ANY_FOLDER, _rewrite, _resume))


def _resume(folder: Path) -> None:
    with Store(folder, create=True) as opened:
        opened.finished()
        opened.row("r0")
        opened.save_plan([_record(0)], {"name": "fuzzed"})


def _read_database(data: bytes) -> None:
    folder = empty_place("results")
    (folder / FILE).write_bytes(data)
    _use(folder, data, (*_ANY_FOLDER, _rewrite, _resume))


# ------------------------------------------------------------------ all of them


def targets() -> list[Target]:
    """Return the targets of this file."""
    cells = lambda data, random: bent_words(data, random, [*RECORD_COLUMNS, *words()], b',\n"')  # noqa: E731
    of_json = mutator_of_json(lambda: (*RECORD_COLUMNS, *_TABLES, *words()))
    return [
        Target(
            "csv", _read_csv, lambda: [each.split(SEPARATOR)[0] for each in _kept()], ("mpu_bench.files",), 5, cells
        ),
        Target(
            "curves",
            _read_curves,
            lambda: [each.split(SEPARATOR)[3] for each in _kept()],
            ("mpu_bench.files",),
            3,
            cells,
        ),
        Target(
            "kept",
            _read_kept,
            _kept,
            ("mpu_bench.results.folder", "mpu_bench.verdict.baseline"),
            0.5,
            mutator_of_parts([cells, of_json, of_json, cells, cells], SEPARATOR),
        ),
        Target(
            "rows",
            _read_rows,
            _rows,
            (
                "mpu_bench.results.store",
                "mpu_bench.results.naming",
                "mpu_bench.results.naming",
                "mpu_bench.results.summary",
                "mpu_bench.verdict.pairs",
                "mpu_bench.verdict.two_solvers",
                "mpu_bench.verdict.points",
                "mpu_bench.verdict.comparison",
                "mpu_bench.verdict.statements",
                "mpu_bench.verdict.regression",
                "mpu_bench.verdict.cells",
                "mpu_bench.verdict.cells",
                "mpu_bench.report.figures",
                "mpu_bench.report.figure_parts",
                "mpu_bench.report.figures_by_row",
            ),
            0.5,
            of_json,
        ),
        Target(
            "database",
            _read_database,
            _stored,
            ("mpu_bench.results.store", "mpu_bench.results.rows"),
            0.5,
            bent_bytes,
            refusals=(*Target.refusals, sqlite3.DatabaseError),
        ),
    ]

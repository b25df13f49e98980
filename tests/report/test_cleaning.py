"""``mpu-bench clean``: what is ours goes, what is not stays, and nothing is done to a folder that is in use."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import filelock
import pytest

from mpu_bench.config.drawings import KINDS
from mpu_bench.errors import StoreError
from mpu_bench.report import csv_files, figures
from mpu_bench.results.folder import open_results
from mpu_bench.results.store import FILE, LOCK, MATRICES
from oracles import made_up

FIGURE = f"{KINDS[0]}.svg"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = made_up.results(tmp_path)
    with open_results(made) as results:
        csv_files.write(results)
    (made / "figures").mkdir()
    for name in (*(f"{KINDS[0]}.{form}" for form in figures.FORMS), f".{FIGURE}.0123abcd"):
        (made / "figures" / name).touch()
    for name in (f"{FILE}-journal", ".runs.csv.0123abcd", LOCK):
        (made / name).touch()
    return made


def test_all_that_is_written_there_is_deleted_with_the_folder(folder: Path) -> None:
    assert csv_files.clean(folder) == []
    assert not folder.exists()


def test_what_others_have_laid_there_stays(folder: Path, tmp_path: Path) -> None:
    thesis, notes = folder / "thesis.tex", folder / "figures" / "notes.txt"
    thesis.write_text("years of work", encoding="utf-8")
    notes.write_text("mine", encoding="utf-8")
    (folder / ".runs.csv.mine").touch()
    (folder / "table.csv").unlink()
    (folder / "table.csv").mkdir()
    assert csv_files.clean(folder) == [".runs.csv.mine", "figures", "table.csv", "thesis.tex"]
    assert [path.name for path in (folder / "figures").iterdir()] == ["notes.txt"]
    assert thesis.read_text(encoding="utf-8") == "years of work"


def test_links_out_of_the_folder_are_not_followed(folder: Path, tmp_path: Path) -> None:
    away = tmp_path / "away"
    away.mkdir()
    (away / FIGURE).write_text("mine", encoding="utf-8")
    (folder / "figures").rename(tmp_path / "figures before")
    (folder / "figures").symlink_to(away)
    (folder / "runs.csv").unlink()
    (folder / "runs.csv").symlink_to(away / FIGURE)
    assert csv_files.clean(folder) == ["figures"]
    assert (away / FIGURE).read_text(encoding="utf-8") == "mine"


def foreign(folder: Path) -> None:
    (folder / FILE).unlink()
    with closing(sqlite3.connect(folder / FILE)) as database, database:
        database.execute("CREATE TABLE notes (text TEXT)")


def linked(folder: Path) -> None:
    (folder / FILE).rename(folder.parent / FILE)
    (folder / FILE).symlink_to(folder.parent / FILE)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (foreign, "is not a results database of mpu-bench"),
        (linked, "is not a results database of mpu-bench"),
        (lambda folder: (folder / FILE).write_bytes(b""), "is not a results database of mpu-bench"),
        (lambda folder: (folder / FILE).write_bytes(b"SQLite format 3\x00" * 100), "is not a results database"),
        (lambda folder: (folder / FILE).unlink(), "holds no results"),
    ],
    ids=["foreign", "linked", "empty", "noise", "absent"],
)
def test_a_folder_whose_database_is_not_ours_is_refused(
    folder: Path, spoil: Callable[[Path], object], message: str
) -> None:
    spoil(folder)
    before = sorted(path.name for path in folder.rglob("*"))
    with pytest.raises(StoreError, match=message):
        csv_files.clean(folder)
    assert sorted(path.name for path in folder.rglob("*")) == before


def test_a_link_to_a_results_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(StoreError, match="is a link to"):
        csv_files.clean(tmp_path / "link")
    assert (folder / FILE).is_file()


def test_a_folder_that_is_run_into_is_refused(folder: Path) -> None:
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with filelock.FileLock(folder / LOCK):
            held.set()
            done.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        assert held.wait(60)
        with pytest.raises(StoreError, match="another mpu-bench is using this folder"):
            csv_files.clean(folder)
        assert (folder / "runs.csv").is_file()
    finally:
        done.set()
        holder.join()
    assert csv_files.clean(folder) == []


def test_results_of_another_version_may_be_deleted(folder: Path) -> None:
    with closing(sqlite3.connect(folder / FILE)) as database, database:
        database.execute("PRAGMA user_version = 99")
    assert csv_files.clean(folder) == []


def test_a_folder_that_cannot_be_changed_is_one_message(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path) -> None:
        raise OSError(30, "Read-only file system", str(self))

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(StoreError, match="cannot be deleted: Read-only file system"):
        csv_files.clean(folder)


def test_kernel_matrices_of_a_session_that_was_killed_are_deleted(folder: Path) -> None:
    matrices = folder / MATRICES
    matrices.mkdir()
    for name in ("0123456789abcdef.float32", "0123456789abcdef.lock", "fedcba9876543210.part", "mine.float32"):
        (matrices / name).touch()
    assert csv_files.clean(folder) == [MATRICES]
    assert [path.name for path in matrices.iterdir()] == ["mine.float32"]

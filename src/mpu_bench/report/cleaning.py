"""Deleting a results folder: the files that mpu-bench writes there, and the folder if nothing else is in it."""

from __future__ import annotations

import re
from pathlib import Path

from mpu_bench.config.drawings import KINDS
from mpu_bench.errors import StoreError
from mpu_bench.files import process_lock
from mpu_bench.report import csv_files
from mpu_bench.report.figures import FOLDER, FORMS
from mpu_bench.results import saved_models
from mpu_bench.results.store import FILE, LOCK, check_kind

#: the database last: until then it is a results folder, which can be cleaned again
_WRITTEN = (*csv_files.NAMES, LOCK, *(f"{FILE}{end}" for end in ("-journal", "-wal", "-shm")), FILE)
_FIGURES = tuple(f"{name}.{form}" for name in KINDS for form in FORMS)


def check(folder: Path) -> None:
    """Refuse what is not to be cleaned.

    Raises
    ------
    StoreError
        If the folder is a link, or its database is none of ours.
    """
    if folder.is_symlink():
        raise StoreError(f"{folder}: is a link to {folder.readlink()}; clean that folder, and remove the link yourself")
    check_kind(folder)


def clean(folder: Path) -> list[str]:
    """Delete what mpu-bench has written into a results folder, and the folder if it is empty then.

    Nothing outside the folder is touched: what is a link there is deleted itself, or stays.

    Returns
    -------
    list of str
        What is left, which nobody here has written.

    Raises
    ------
    StoreError
        If it is refused by `check`, is being run into, or cannot be changed.
    """
    check(folder)
    folder = folder.absolute()  # "." cannot be deleted by that name
    busy = StoreError(f"{folder}: another mpu-bench is using this folder; wait for it, or stop it")
    try:
        with process_lock(folder / LOCK, busy, lambda fault: _fixed(folder, fault)):
            if not (folder / FOLDER).is_symlink():
                _delete(folder / FOLDER, _FIGURES)
            if not (folder / saved_models.FOLDER).is_symlink():
                _delete(folder / saved_models.FOLDER, _models(folder / saved_models.FOLDER))
            _delete(folder, _WRITTEN)
    except OSError as fault:
        raise _fixed(folder, fault) from None
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def _models(folder: Path) -> tuple[str, ...]:
    """Return the names of models in a folder, and of those that are there cut short only."""
    name = re.compile(rf"(?:\.(?=.*\.mpu\.[0-9a-f]{{8}}$))?({saved_models.NAME})(?:\.[0-9a-f]{{8}})?")
    found = [name.fullmatch(path.name) for path in folder.iterdir()] if folder.is_dir() else []
    return tuple(dict.fromkeys(match[1] for match in found if match))


def _delete(folder: Path, names: tuple[str, ...]) -> None:
    """Delete files of these names, and what is left of them where writing was cut short; then the folder, if empty."""
    if not folder.is_dir():
        return
    cut_short = re.compile(rf"\.(?:{'|'.join(map(re.escape, names))})\.[0-9a-f]{{8}}")
    there = [path.name for path in folder.iterdir()]
    for name in (*filter(cut_short.fullmatch, there), *(name for name in names if name in there)):
        if (folder / name).is_symlink() or (folder / name).is_file():
            (folder / name).unlink()
    if not any(folder.iterdir()):
        folder.rmdir()


def _fixed(folder: Path, fault: OSError) -> StoreError:
    return StoreError(f"{folder}: cannot be deleted: {fault.strerror}")

"""The rows of a file, or of a dataset, as a saved model takes them, piece by piece, with their labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mpu_bench.cli.options import data_directory
from mpu_bench.core.rows import Rows, count
from mpu_bench.data.user_files.formats import LABELS, unnamed
from mpu_bench.data.user_files.tables import UserFile, open_table
from mpu_bench.errors import ConfigError, DataError
from mpu_bench.files import is_file
from mpu_bench.models.saved import SavedModel
from mpu_bench.preprocessing import Table, Vectors, numbers_of, plain_number, texts_of

_ROWS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class Piece:
    """Some rows: raw, if they come from a file; as the model is evaluated on them; and their classes, if known."""

    first_row: int
    raw: Any
    rows: Rows
    classes: NDArray[np.int32] | None

    def __len__(self) -> int:
        return int(count(self.rows))


def pieces_of(
    saved: SavedModel,
    data: str,
    label: str | None,
    labelled: bool,
    data_folder: Path | None = None,
    *,
    separator: str | None = None,
    header: bool | None = None,
) -> Iterator[Piece]:
    """Yield the rows of a file, or of the test part of a dataset.

    Parameters
    ----------
    saved : SavedModel
    data : str
        The path of a file, else the name of a dataset.
    label : str or None
        The column of a table that holds the label; None: that of the model, or one that is called so.
    labelled : bool
        Whether the rows must have labels, whose classes are then found.
    data_folder : Path or None
        Where datasets are kept.
    separator : str or None
        The character between the cells of a file of text, or ``"tab"``; None: it is found out.
    header : bool or None
        Whether the first line of a file of text names the columns; None: it is found out.

    Raises
    ------
    DataError
        Naming the file: it is neither, cannot be read, has other columns, or a value or label is unknown.
    """
    path = Path(data)
    if not is_file(path) and _is_dataset(data):
        yield from _prepared(saved, data, data_folder)
        return
    known, separator = (*_names(saved), *([label] if label else ())), unnamed(separator)
    if separator is not None and len(separator) != 1:
        raise ConfigError(f"--separator '{separator}': must be one character, or tab")
    try:
        file = open_table(path, separator=separator, header=header, known=known)
        yield from _of_file(saved, file, label, labelled)
    except _InFileError as fault:
        raise DataError(f"{path}: {fault}") from None


class _InFileError(DataError):
    """What is wrong with the content of a file, which is named once."""


def _is_dataset(name: str) -> bool:
    from mpu_bench.data.cards import catalog

    return name in catalog.names()


def _prepared(saved: SavedModel, name: str, folder: Path | None) -> Iterator[Piece]:
    """Yield the test rows of a dataset as they are prepared, with the options that the model's own data had."""
    from mpu_bench.core.rows import take
    from mpu_bench.data.cards import catalog
    from mpu_bench.data.prepare.load import load_problem
    from mpu_bench.models.inputs import with_constant

    same = saved.origin.dataset == name
    problem = load_problem(catalog.card(name, dict(saved.origin.options) if same else {}), data_directory(folder))
    if problem.features != saved.raw_features:
        raise DataError(
            f"{name}: its prepared rows have {problem.features:,} features; the model takes {saved.raw_features:,}"
        )
    names = saved.classes.indices([*problem.classes])
    for first in range(0, problem.n_test, _ROWS_AT_ONCE):
        chosen = np.arange(first, min(first + _ROWS_AT_ONCE, problem.n_test))
        rows = take(problem.test, chosen)
        if saved.constant is not None:
            rows = with_constant(rows, saved.raw_features, saved.constant)
        yield Piece(first + 1, None, rows, names[problem.test_labels[chosen]])


def _of_file(saved: SavedModel, file: UserFile, label: str | None, labelled: bool) -> Iterator[Piece]:
    if file.format == "svmlight":
        parts: Iterator[tuple[Any, list[str] | None]] = _of_vectors(saved, file)
    else:
        parts = _of_table(saved, file, label or _label_of(saved, file, labelled), labelled)
    first = 1
    for raw, labels in parts:
        try:
            rows = saved.rows(raw, first)
            classes = saved.classes.indices(labels, first) if labelled and labels is not None else None
        except DataError as fault:
            raise _InFileError(str(fault)) from None
        piece = Piece(first, raw, rows, classes)
        first += len(piece)
        yield piece


def _of_vectors(saved: SavedModel, file: UserFile) -> Iterator[tuple[Any, list[str] | None]]:
    prepared = saved.preprocessing
    if isinstance(prepared, Table):
        raise _InFileError("is svmlight; the model needs a table with named columns")
    first_index = prepared.first_index if isinstance(prepared, Vectors) else 1
    for vectors in file.vectors(_columns(saved), first_index):
        yield vectors.rows, [plain_number(number) for number in vectors.labels.tolist()]


def _names(saved: SavedModel) -> tuple[str, ...]:
    """Return what a header may hold."""
    if isinstance(saved.preprocessing, Table):
        return tuple(column.name for column in saved.preprocessing.columns)
    return saved.columns or ()


def _columns(saved: SavedModel) -> int:
    return saved.preprocessing.features_in if isinstance(saved.preprocessing, Vectors) else saved.raw_features


def _label_of(saved: SavedModel, file: UserFile, labelled: bool) -> str | None:
    """Return the column of a table that holds the label: as the model has it, or the one more than the model takes.

    Where labels are not asked for, that one must be called so: it might as well be an identifier.
    """
    if isinstance(saved.preprocessing, Table):
        return saved.preprocessing.label
    if len(file.columns) != _columns(saved) + 1:
        return None
    more = [name for name in file.columns if name not in (saved.columns or ())]
    named = next((name for name in more if name.lower() in LABELS), None)
    if named is not None or not labelled:
        return named
    return more[-1] if saved.columns is None or len(more) == 1 else None


def _of_table(
    saved: SavedModel, file: UserFile, label: str | None, labelled: bool
) -> Iterator[tuple[Any, list[str] | None]]:
    if labelled and label not in file.columns:
        wanted = f"no column '{label}'" if label else "no column with the label"
        raise _InFileError(f"has {wanted}; name that with --label. Its columns: {', '.join(file.columns[:20])}")
    if isinstance(saved.preprocessing, Table) and label in saved.preprocessing.seen_columns:
        raise _InFileError(f"'{label}' cannot be the label: the model takes this column as a feature")
    first = 1
    for frame in file.pieces():
        labels = None if label not in frame.columns else texts_of(frame[label]).tolist()
        yield _raw(saved, frame, label, first), labels
        first += len(frame)


def _raw(saved: SavedModel, frame: pd.DataFrame, label: str | None, first_row: int) -> Any:
    """Return a piece of a table as the model takes raw rows: as it is, or as numbers."""
    given = frame.drop(columns=[label]) if label in frame.columns else frame
    if isinstance(saved.preprocessing, Table):
        try:
            return saved.ordered(frame if label == saved.preprocessing.label else given)
        except DataError as fault:
            raise _InFileError(str(fault)) from None
    if saved.columns is None and given.shape[1] != _columns(saved):
        raise _InFileError(
            f"has {given.shape[1]:,} columns besides the label; the model takes {_columns(saved):,}; "
            "name the label with --label"
        )
    try:
        numbers = {name: _complete(texts, str(name), first_row) for name, texts in saved.ordered(given).items()}
    except DataError as fault:
        raise _InFileError(str(fault)) from None
    values = pd.DataFrame(numbers)
    return values if saved.columns is not None else values.to_numpy()


def _complete(texts: Any, name: str, first_row: int) -> NDArray[np.float64]:
    numbers = numbers_of(texts, name, first_row)
    if np.isnan(numbers).any():
        row = first_row + int(np.flatnonzero(np.isnan(numbers))[0])
        raise DataError(f"row {row}, column '{name}': no number")
    return numbers

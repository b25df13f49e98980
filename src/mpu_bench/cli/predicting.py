"""What a saved model says of rows, which it takes piece by piece from a file or a dataset: labels, errors."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mpu_bench.cli.options import TextOptions, console, say, write
from mpu_bench.core.models import labels_of
from mpu_bench.core.rows import Rows, count, take, with_constant
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.data.download.compression import digest_stream, open_content
from mpu_bench.data.prepare.load import load_problem, preprocessing_of, training_content
from mpu_bench.data.user_files.formats import LABELS, unnamed
from mpu_bench.data.user_files.tables import UserFile, open_table
from mpu_bench.display.terminal import Drawn
from mpu_bench.errors import ConfigError, DataError
from mpu_bench.files import as_store_error, is_file, written_whole
from mpu_bench.models.evaluation import METRICS, Confusion, score_of
from mpu_bench.models.probabilities import brier_score, calibration_error
from mpu_bench.models.saved import LEARNED_TEST_ROWS, SavedModel, load
from mpu_bench.preprocessing import (
    CategoricalColumn,
    NumberColumn,
    Preprocessing,
    Table,
    Vectors,
    plain_number,
    texts_of,
)
from mpu_bench.quantities import DECLARED
from mpu_bench.report import tables
from mpu_bench.texts import counted, one_line

_ROWS_AT_ONCE = 4096
_MAX_SHOWN, _MAX_CLASSES = 60, 5  # characters of a word, and classes
_MAX_SCORES = 10_000_000  # that are kept to be ranked


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
    home: DataDirectory,
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
        Whether the rows must have labels, whose classes are then known.
    home : DataDirectory
    separator : str or None
        The character between the cells of a file of text, or ``"tab"``; None: it is detected.
    header : bool or None
        Whether the first line of a file of text names the columns; None: it is detected.

    Raises
    ------
    DataError
        Naming the file: it is neither, cannot be read, has other columns, or a value or label is unknown.
    """
    path = Path(data)
    if not is_file(path) and data in catalog.names():
        options = {"--label": label, "--separator": separator, "--header": header}
        if of_files := [name for name, value in options.items() if value is not None]:
            raise ConfigError(f"{', '.join(of_files)}: cannot be given for '{data}', which is a dataset, not a file")
        yield from _prepared(saved, data, home)
        return
    known, separator = (*_names(saved), *([label] if label else ())), unnamed(separator)
    if separator is not None and len(separator) != 1:
        raise ConfigError(f"--separator '{separator}': must be one character, or tab")
    try:
        file = open_table(path, separator=separator, header=header, known=known)
        yield from _of_file(saved, file, label, labelled)
    except _InFileError as error:
        raise DataError(f"{path}: {error}") from None


class _InFileError(DataError):
    """What is wrong with the content of a file, which is named once."""


def _prepared(saved: SavedModel, name: str, home: DataDirectory) -> Iterator[Piece]:
    """Yield the test rows of a dataset as they are prepared, with the options that the model's own data had."""
    same = saved.origin.dataset == name
    card = catalog.card(name, dict(saved.origin.options) if same else {})
    problem = load_problem(card, home)
    if problem.features != saved.raw_features:
        raise DataError(
            f"{name}: its prepared rows have {counted(problem.features, 'feature')}; "
            f"the model takes {saved.raw_features:,}"
        )
    if saved.preprocessing is not None and not _is_alike(preprocessing_of(card, home), saved.preprocessing):
        raise DataError(
            f"{name}: its rows are scaled or coded by other training rows than those of the model, or have changed "
            "since; name a file with raw rows instead, or train the model again"
        )
    before, now = saved.origin.trained_on, training_content(card, home)
    if same and card.split is not None and before and now and before != now:
        raise DataError(
            f"{name}: has changed since the model was trained, and its test rows are drawn anew: some may have trained "
            "the model; train it again"
        )
    try:
        names = saved.classes.indices([*problem.classes])
    except DataError:
        theirs, ours = (", ".join(classes[:_MAX_CLASSES]) for classes in (problem.classes, saved.classes.names))
        raise DataError(f"{name}: its classes ({theirs}) are not those of the model ({ours})") from None
    for first in range(0, problem.n_test, _ROWS_AT_ONCE):
        chosen = np.arange(first, min(first + _ROWS_AT_ONCE, problem.n_test))
        rows = take(problem.test, chosen)
        if saved.constant is not None:
            rows = with_constant(rows, saved.raw_features, saved.constant)
        yield Piece(first + 1, None, rows, names[problem.test_labels[chosen]])


def _is_alike(one: Preprocessing | None, other: Preprocessing) -> bool:
    """Return whether both make the same features of raw rows, however these are written and those are stored."""
    layout = {name: getattr(other, name) for name in ("sparse", "first_index", "label") if hasattr(other, name)}
    return one is not None and one.model_copy(update=layout) == other


def _of_file(saved: SavedModel, file: UserFile, label: str | None, labelled: bool) -> Iterator[Piece]:
    if file.format == "svmlight":
        if label is not None:
            raise _InFileError("is svmlight, to which --label does not apply: the label is the first word of a line")
        parts: Iterator[tuple[Any, list[str] | None]] = _of_vectors(saved, file)
    else:
        known = label or _label_of(saved, file, labelled)
        parts = _of_table(saved, file, known, must_have=labelled or label is not None)
    first = 1
    for raw, labels in parts:
        try:
            if first == 1:
                _warn_of_unknown_words(saved, raw)
            rows = saved.rows(raw, first)
            classes = saved.classes.indices(labels, first) if labelled and labels is not None else None
        except DataError as error:
            raise _InFileError(str(error)) from None
        piece = Piece(first, raw, rows, classes)
        first += len(piece)
        yield piece


def _warn_of_unknown_words(saved: SavedModel, raw: Any) -> None:
    """Warn of columns that may be written otherwise than in the training rows: none of their words is known."""
    for column in saved.preprocessing.columns if isinstance(saved.preprocessing, Table) else ():
        if isinstance(column, CategoricalColumn) and len(raw) and (column.codes(raw[column.name]) < 0).all():
            word = one_line(str(raw[column.name].iloc[0]), _MAX_SHOWN)
            say(
                f"warning: column '{column.name}': the training rows have none of its words, such as '{word}'; the "
                "model ignores them"
            )


def _of_vectors(saved: SavedModel, file: UserFile) -> Iterator[tuple[Any, list[str] | None]]:
    prepared = saved.preprocessing
    if isinstance(prepared, Table):
        raise _InFileError("is svmlight; the model needs a table with named columns")
    first_index = prepared.first_index if isinstance(prepared, Vectors) else 1
    for labels, rows in file.vectors(_columns(saved), first_index):
        yield rows, [plain_number(number) for number in labels.tolist()]


def _names(saved: SavedModel) -> tuple[str, ...]:
    """Return what a header may hold."""
    if isinstance(saved.preprocessing, Table):
        return tuple(column.name for column in saved.preprocessing.columns)
    return saved.columns or ()


def _columns(saved: SavedModel) -> int:
    return saved.preprocessing.features_in if isinstance(saved.preprocessing, Vectors) else saved.raw_features


def _label_of(saved: SavedModel, file: UserFile, labelled: bool) -> str | None:
    """Return the column of a table that holds the label: as the model has it, or the one more than the model takes.

    Where labels are not needed, that one must be called so: it might as well be an identifier.
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
    saved: SavedModel, file: UserFile, label: str | None, *, must_have: bool
) -> Iterator[tuple[Any, list[str] | None]]:
    if must_have and label not in file.columns:
        wanted = f"no column '{label}'" if label else "no column with the label"
        raise _InFileError(f"has {wanted}; name the label with --label. Its columns: {', '.join(file.columns[:20])}")
    if isinstance(saved.preprocessing, Table) and label in saved.preprocessing.seen_columns:
        raise _InFileError(f"'{label}' cannot be the label: the model takes this column as a feature")
    for frame in file.pieces():
        labels = None if label not in frame.columns else texts_of(frame[label]).tolist()
        try:
            raw = _raw(saved, frame, label, int(frame.index[0]))
        except DataError as error:
            raise _InFileError(str(error)) from None
        yield raw, labels


def _raw(saved: SavedModel, frame: pd.DataFrame, label: str | None, first_row: int) -> Any:
    """Return a piece of a table as the model takes raw rows: as it is, or as numbers."""
    features = frame.drop(columns=[label]) if label in frame.columns else frame
    if isinstance(saved.preprocessing, Table):
        return saved.ordered(frame if label == saved.preprocessing.label else features)
    if saved.columns is None and features.shape[1] != _columns(saved):
        raise DataError(
            f"has {counted(features.shape[1], 'column')} besides the label; the model takes {_columns(saved):,}; "
            "name the label with --label"
        )
    named = saved.ordered(features).items()
    values = pd.DataFrame({name: NumberColumn(name=str(name)).values(texts, first_row) for name, texts in named})
    return values if saved.columns is not None else values.to_numpy()


# ------------------------------------------------------------------ predictions


def predict(
    model: Path,
    data: str,
    label: str | None,
    options: TextOptions,
    *,
    out: Path | None,
    scores: bool,
    probabilities: bool,
) -> None:
    """Write the labels of rows as CSV, to a file or to standard output; the parameters are the options of the verb."""
    texts = _predictions(load(model), data, label, options, scores=scores, probabilities=probabilities)
    if out is None:
        for text, _ in texts:
            write(text)
        return
    rows = 0
    with as_store_error(out), written_whole(out) as stream:
        for text, count_of_rows in texts:
            stream.write(text.encode(errors="backslashreplace"))
            rows += count_of_rows
    say(f"written: {out}, {counted(rows, 'row')}")


def _pieces(
    saved: SavedModel, data: str, label: str | None, options: TextOptions, labelled: bool = False
) -> Iterator[Piece]:
    return pieces_of(
        saved, data, label, labelled, home=options.home, separator=options.separator, header=options.header
    )


def check_free(path: Path | None, force: bool, read: Sequence[Path | str | None] = ()) -> None:
    """Raise an error if a file would be overwritten without --force, or one that is read.

    Raises
    ------
    ConfigError
        If there is a file of that name.
    """
    if path is None or not path.exists():
        return
    if not force:
        fix = "overwrite it with --force, or name another file" if is_file(path) else "name a file"
        raise ConfigError(f"{path}: already exists{'' if is_file(path) else ', and is no file'}; {fix}")
    if any(os.path.realpath(path) == os.path.realpath(source) for source in read if source is not None):
        raise ConfigError(f"{path}: is read here, and would be overwritten; name another file")


def _predictions(
    saved: SavedModel, data: str, label: str | None, read: TextOptions, *, scores: bool, probabilities: bool
) -> Iterator[tuple[str, int]]:
    """Yield CSV, and how many rows it holds: the heading, then the rows piece by piece."""
    begun = False
    for piece in _pieces(saved, data, label, read):
        values = saved.scores_of(piece.rows, piece.first_row)
        labels, names = saved.classes.labels[labels_of(values)].tolist(), saved.classes.names
        columns: list[str] = []
        numbers = np.zeros((len(labels), 0))
        if scores:
            columns += [f"score of {name}" for name in (names[1:] if values.shape[1] == 1 else names)]
            numbers = np.hstack([numbers, values])
        if probabilities:
            columns += [f"probability of {name}" for name in names]
            numbers = np.hstack([numbers, saved.probabilities_of(values)])
        if not begun:
            yield _csv([["row", "label", *columns]]), 0
            begun = True
        rows = zip(range(piece.first_row, piece.first_row + len(piece)), labels, numbers.tolist(), strict=True)
        yield (
            _csv([[row, predicted, *(f"{number:.9g}" for number in more)] for row, predicted, more in rows]),
            len(piece),
        )
    if not begun:
        raise DataError(f"{data}: has no rows")


def _csv(rows: list[list[Any]]) -> str:
    """Return CSV for programs: a label is as it is in the data, also where a spreadsheet takes it for a formula."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


# ------------------------------------------------------------------ evaluation


def evaluate(model: Path, data: str, label: str | None, options: TextOptions) -> None:
    """Print the errors of a model on labelled rows; the parameters are the options of the verb."""
    saved = load(model)
    confusion = Confusion.of(len(saved.classes))
    seen: list[tuple[Any, Any]] = []
    for piece in _pieces(saved, data, label, options, labelled=True):
        if piece.classes is not None:
            scores = saved.scores_of(piece.rows, piece.first_row)
            confusion.add(piece.classes, labels_of(scores))
            if confusion.rows * scores.shape[1] <= _MAX_SCORES:
                seen.append((piece.classes, scores))
    if not confusion.rows:
        raise DataError(f"{data}: has no rows")
    labels, scores = (
        (np.concatenate(parts) for parts in zip(*seen, strict=True)) if seen else (np.zeros(0), np.zeros(0))
    )
    _print_evaluation(saved, confusion, _ranked(saved, labels, scores) if len(labels) == confusion.rows else None)
    if _is_trained_on(saved, data):
        say(f"{data}: contains the rows that this model was trained on: expect larger errors on new rows")


def _ranked(saved: SavedModel, labels: Any, scores: Any) -> dict[str, str]:
    """Return the metrics of scores and of probabilities that exist, as they are printed."""
    predicted, names = labels_of(scores), ("f1", "auc", "average-precision")
    known = {METRICS[name]: score_of(name, labels, predicted, scores) for name in names}
    metrics = {f"{words}, %": f"{100 * score:.2f}" for words, score in known.items() if not math.isnan(score)}
    if saved.sigmoids is not None:
        probabilities = saved.probabilities_of(scores)
        metrics["Brier score"] = f"{brier_score(labels, probabilities):.4f}"
        metrics["calibration error, %"] = f"{100 * calibration_error(labels, probabilities):.2f}"
    return metrics


def _is_trained_on(saved: SavedModel, data: str) -> bool:
    """Return whether a file has the content of one that the model was trained on, or a dataset's test rows were."""
    if not is_file(Path(data)):
        return saved.origin.dataset == data and LEARNED_TEST_ROWS in saved.origin.parameters
    with open_content(Path(data)) as content:
        return digest_stream(content, lambda _count: None)[0] in saved.origin.trained_on


def _print_evaluation(saved: SavedModel, confusion: Confusion, ranked: dict[str, str] | None) -> None:
    shown, values = console(), confusion.by_class()
    shown.tell(f"rows: {confusion.rows:,}")
    shown.tell(f"error, %: {100 * confusion.error:.2f}")
    for name, words in (
        ("balanced_error", "balanced error, %"),
        ("positives_found", DECLARED["positives_found"].heading),
        ("constant_error", "error of a constant, %"),
    ):
        if (value := values[name]) is not None:
            shown.tell(f"{words}: {100 * value:.2f}")
    if ranked is None:
        shown.tell(f"other metrics are not computed: there are more than {_MAX_SCORES:,} scores")
    for words, text in (ranked or {}).items():
        shown.tell(f"{words}: {text}")
    names = saved.classes.names
    if len(names) == 2:
        shown.tell(f"positive class: {names[1]}")
    rows = [(name, *map(str, row)) for name, row in zip(names, confusion.counts.tolist(), strict=True)]
    headings = ["of class", *(f"as {name}" for name in names)]
    shown.print(Drawn(tables.Table(headings, rows, "l" + "r" * len(names)), framed=False))

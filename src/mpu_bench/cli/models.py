"""The verbs on saved models: predict, evaluate, export-c."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mpu_bench.cli.options import DataFolder, console, say, write
from mpu_bench.cli.table_options import Header, Separator

if TYPE_CHECKING:
    from mpu_bench.models.evaluation import Confusion
    from mpu_bench.models.saved import SavedModel

_MOST_SCORES = 10_000_000  # that are kept to be ranked
ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A saved model, such as results/adult/models/....mpu.")
]
DataFile = Annotated[
    str, typer.Argument(metavar="DATA", help="An svmlight, CSV, TSV or Parquet file; or a dataset, for its test set.")
]
LabelColumn = Annotated[
    str | None,
    typer.Option("--label", metavar="COLUMN", help="The label column. By default the model's."),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]


def predict(
    model: ModelFile,
    data: DataFile,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The CSV file to write. By default standard output.")
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Add the scores of every class.")] = False,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Add the probabilities of a model trained with probability=True.")
    ] = False,
    label: LabelColumn = None,
    header: Header = None,
    separator: Separator = None,
    force: Force = False,
    data_folder: DataFolder = None,
) -> None:
    """Predict labels with a saved model, as CSV.

    Each line has the number of the row and its label.
    """
    from mpu_bench import load
    from mpu_bench.files import told_if_unwritable, written_whole

    saved = load(model)
    read = {"data_folder": data_folder, "header": header, "separator": separator}
    added = {"scores": scores, "probabilities": probabilities}
    if out is None:
        for text in _predictions(saved, data, label, read, **added):
            write(text)
        return
    check_free(out, force)
    rows = -1
    with told_if_unwritable(out), written_whole(out) as stream:
        for text in _predictions(saved, data, label, read, **added):
            stream.write(text.encode(errors="backslashreplace"))
            rows += text.count("\n")
    say(f"written: {out}, {rows:,} rows")


def check_free(path: Path, force: bool) -> None:
    """Raise an error if a file would be overwritten without --force.

    Raises
    ------
    ConfigError
        If there is a file of that name.
    """
    from mpu_bench.errors import ConfigError

    if path.exists() and not force:
        raise ConfigError(f"{path}: already exists; overwrite it with --force, or name another file")


def _predictions(
    saved: SavedModel, data: str, label: str | None, read: dict[str, Any], *, scores: bool, probabilities: bool
) -> Iterator[str]:
    """Yield CSV: the heading, then the rows piece by piece."""
    import numpy as np

    from mpu_bench.cli.model_rows import pieces_of
    from mpu_bench.core.models import labels_of

    begun = False
    for piece in pieces_of(saved, data, label, labelled=False, **read):
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
            yield _csv([["row", "label", *columns]])
            begun = True
        rows = zip(range(piece.first_row, piece.first_row + len(piece)), labels, numbers.tolist(), strict=True)
        yield _csv([[row, each, *(f"{number:.9g}" for number in more)] for row, each, more in rows])


def _csv(rows: list[list[Any]]) -> str:
    """Return CSV for programs: a label is as it is in the data, also where a spreadsheet takes it for a formula."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def evaluate(
    model: ModelFile,
    data: DataFile,
    label: LabelColumn = None,
    header: Header = None,
    separator: Separator = None,
    data_folder: DataFolder = None,
) -> None:
    """Evaluate a saved model on labelled rows.

    Prints the error, other metrics and the confusion matrix.
    """
    import numpy as np

    from mpu_bench import load
    from mpu_bench.cli.model_rows import pieces_of
    from mpu_bench.errors import DataError
    from mpu_bench.models.evaluation import Confusion

    saved = load(model)
    confusion = Confusion.of(len(saved.classes))
    seen: list[tuple[Any, Any]] = []
    read: dict[str, Any] = {"data_folder": data_folder, "header": header, "separator": separator}
    for piece in pieces_of(saved, data, label, labelled=True, **read):
        if piece.classes is not None:
            scores = saved.scores_of(piece.rows, piece.first_row)
            confusion.add_scores(piece.classes, scores)
            if confusion.rows * scores.shape[1] <= _MOST_SCORES:
                seen.append((piece.classes, scores))
    if not confusion.rows:
        raise DataError(f"{data}: has no rows")
    labels, scores = (np.concatenate(each) for each in zip(*seen, strict=True)) if seen else (np.zeros(0), np.zeros(0))
    _print_evaluation(saved, confusion, _ranked(saved, labels, scores) if len(labels) == confusion.rows else None)
    if _is_trained_on(saved, data):
        say(f"{data}: contains the rows that this model was trained on: expect larger errors on new rows")


def _ranked(saved: SavedModel, labels: Any, scores: Any) -> dict[str, str]:
    """Return the metrics of scores and of probabilities that exist, as they are printed."""
    from mpu_bench.core.models import labels_of
    from mpu_bench.models.evaluation import METRICS, score_of
    from mpu_bench.models.probabilities import brier_score, calibration_error

    predicted, names = labels_of(scores), ("f1", "auc", "average-precision")
    known = {METRICS[name]: score_of(name, labels, predicted, scores) for name in names}
    found = {f"{words}, %": f"{100 * score:.2f}" for words, score in known.items() if not math.isnan(score)}
    if saved.sigmoids is not None:
        probabilities = saved.probabilities_of(scores)
        found["Brier score"] = f"{brier_score(labels, probabilities):.4f}"
        found["calibration error, %"] = f"{100 * calibration_error(labels, probabilities):.2f}"
    return found


def _is_trained_on(saved: SavedModel, data: str) -> bool:
    """Return whether a file has the content of one that the model was trained on."""
    from mpu_bench.data.download.compression import digest_stream, open_content
    from mpu_bench.files import is_file

    if not saved.origin.trained_on or not is_file(Path(data)):
        return False
    with open_content(Path(data)) as content:
        return digest_stream(content, lambda _count: None)[0] in saved.origin.trained_on


def _print_evaluation(saved: SavedModel, confusion: Confusion, ranked: dict[str, str] | None) -> None:
    from mpu_bench.display.terminal import Drawn
    from mpu_bench.quantities import DECLARED
    from mpu_bench.report.tables import Table

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
        shown.tell(f"other metrics are not computed: there are more than {_MOST_SCORES:,} scores")
    for words, text in (ranked or {}).items():
        shown.tell(f"{words}: {text}")
    names = saved.classes.names
    rows = [(name, *map(str, row)) for name, row in zip(names, confusion.counts.tolist(), strict=True)]
    headings = ["of class", *(f"as {name}" for name in names)]
    shown.print(Drawn(Table(headings, rows, "l" + "r" * len(names)), framed=False))

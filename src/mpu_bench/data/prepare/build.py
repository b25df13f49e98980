"""Makes the prepared arrays of a dataset: reads the source files once, chunk by chunk, and writes array files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from mpu_bench.data.cards.parts import Part
from mpu_bench.data.cards.schema import (
    Card,
    DelimitedCard,
    EmbeddedCard,
    GeneratedCard,
    IdxCard,
    StorageOfRows,
    SvmlightCard,
    TableCard,
)
from mpu_bench.data.prepare import generators, streams, transforms
from mpu_bench.data.prepare.npy import PartWriter, make_dense
from mpu_bench.data.prepare.room import check_disk, check_memory
from mpu_bench.data.readers.blocks import Chunk, Labels, SourceFile
from mpu_bench.data.readers.idx import read_idx
from mpu_bench.errors import DataError
from mpu_bench.preprocessing import (
    CategoricalColumn,
    Column,
    NumberColumn,
    OmittedColumn,
    Preprocessing,
    Table,
    Vectors,
)
from mpu_bench.texts import command, counted

if TYPE_CHECKING:
    from mpu_bench.data.readers.delimited import ColumnEncoding

DENSE_FROM = 0.5  #: the share of stored values from which dense rows (4 bytes a value) are smaller than pairs (8)
_WIDEST = 1e300  # by which what must become 0 is divided
_COMMAND = "mpu-bench data add"  # which writes a card, with itself at its head
_DIGITS_SHA256 = "87ff0c9e40dc7e2c0e34e7257799c2e3f3aec1a016363bb11cad869ec428a826"


#: Reads the named files, one after the other.
Read = Callable[[Sequence[str]], Iterator[Chunk]]


class Source(NamedTuple):
    """How to read a card's files, and what is done to their raw rows meanwhile, where that can be said."""

    read: Read
    raw: Preprocessing | None


@dataclass(frozen=True)
class Built:
    """What came out: the tuple of core.rows that the files make, the columns, and the counts of each class.

    ``measured`` is what a stream must know of its training part, which is not stored. ``preprocessing`` says what was
    done to the raw rows, where that can be said.
    """

    storage: StorageOfRows
    features: int
    counts: dict[str, list[int]]
    measured: dict[str, list[float]] = field(default_factory=dict)
    preprocessing: Preprocessing | None = None


def build(card: Card, files: Mapping[str, SourceFile], folder: Path) -> Built:
    """Prepare a dataset into an empty folder.

    Parameters
    ----------
    card : Card
    files : mapping of str to SourceFile
        The card's source files by name.
    folder : Path
        Where to write ``train-values.npy``, ``train-labels.npy`` and so on.

    Returns
    -------
    Built

    Raises
    ------
    DataError
        If a file cannot be read as the card says, does not come to what the card expects, or this machine has no room.
    """
    try:
        return _build(card, files, folder)
    except DataError as error:
        raise DataError(f"{error}{_hint(card)}") from error


def _build(card: Card, files: Mapping[str, SourceFile], folder: Path) -> Built:
    _check_room(card, folder)
    source = _READERS[card.kind](card, files)
    raw = None if card.smooth else source.raw
    table = raw if isinstance(raw, Table) and card.kind == "table" else None
    width = table.features if table else card.features
    dense = width if (not table.sparse if table else card.storage == "dense") else None
    with ExitStack() as stack:
        parts = {
            part: stack.enter_context(PartWriter(folder, part, len(card.classes), dense)) for part in ("train", "test")
        }
        for part, chunk in _read(card, source.read):
            for piece in chunk.dense_pieces() if card.smooth else [chunk]:
                ready = piece if card.kind == "table" else transforms.transform_chunk(piece, card)
                for rows in ready.dense_pieces() if dense else [ready.sparse()]:
                    parts[part].append(rows)
        if not card.stream:
            _check(card, parts)
        storage = _storage(card, parts, width)
    if card.stream:
        return _measured(card, folder, raw, [int(count) for count in parts["test"].counts])
    for part in parts:
        if storage == "ones":
            (folder / f"{part}-values.npy").unlink()
        elif storage == "dense" and not dense:
            make_dense(folder, part, width)
    features, preprocessing = _finish(card, folder, raw, width, storage)
    counts = {part: [int(count) for count in writer.counts] for part, writer in parts.items()}
    return Built(storage, features, counts, preprocessing=preprocessing)


def _check_room(card: Card, folder: Path) -> None:
    """Refuse what the card alone shows to be too large for this machine."""
    d = card.features
    if card.kind == "generated":
        rows = generators.GENERATORS[card.content].block_rows
        check_memory(32 * rows * d, f"making {rows:,} rows of {d:,} columns", card.origin)
    if card.storage == "dense" and card.kind != "table":
        check_memory(16 * d, f"a dense row of {d:,} columns", card.origin)
        train, test = card.expected_rows()
        stored = (0 if card.stream else train or 0) + (test or 0)
        check_disk(4 * d * stored, folder, f"{stored:,} dense rows of {d:,} columns", card.origin)
    if card.split is not None and card.total is not None:
        check_memory(9 * card.total.rows, f"splitting {card.total.rows:,} rows", card.origin)


def _read(card: Card, read: Read) -> Iterator[tuple[str, Chunk]]:
    """Read everything, each chunk with the part that it belongs to."""
    if card.kind == "generated":
        yield from _generated(card)
        return
    if card.split is None:
        for part, names in (("train", card.train), ("test", card.test)):
            if names or (card.kind, part) == ("embedded", "train"):
                yield from ((part, chunk) for chunk in read(names))
        return
    in_training, row = transforms.training_rows(card), 0
    for chunk in read(card.train):
        chosen = in_training(row, len(chunk.labels))
        row += len(chunk.labels)
        yield "train", chunk.take(chosen)
        yield "test", chunk.take(~chosen)


def _measured(card: GeneratedCard, folder: Path, raw: Preprocessing | None, test_counts: list[int]) -> Built:
    """Measure a training part that is not stored, and scale the test part by it."""
    measured = streams.measure(card)
    chosen = streams.scaling(card, measured)
    if chosen is not None:
        transforms.rescale(folder / "test-values.npy", chosen)
    for path in folder.glob("train-*.npy"):
        path.unlink()
    counts = {"train": streams.Streamed(card).counts(), "test": test_counts}
    preprocessing = _finished(raw, None, chosen, sparse=False)
    return Built("dense", card.features, counts, measured, preprocessing)


def _generated(card: GeneratedCard) -> Iterator[tuple[str, Chunk]]:
    name, generator = card.content, generators.GENERATORS[card.content]
    _check_content(card, name, generator.features, generator.classes)
    for part, rows in (("train", 0 if card.stream else card.rows), ("test", card.test_rows)):
        yield from (
            (part, Chunk(labels, values)) for values, labels in generators.blocks(name, part, rows or 0, dict(card))
        )


def _check_content(card: Card, name: str, features: int | None, classes: int) -> None:
    """Refuse a card that says other things of what the project makes itself."""
    for key, expected, declared in (("features", features, card.features), ("classes", classes, len(card.classes))):
        if expected not in (None, declared):
            raise DataError(f"{card.origin}: {key}: '{name}' has {expected}, not {declared}")


def _idx(card: IdxCard, files: Mapping[str, SourceFile]) -> Source:
    def read(names: Sequence[str]) -> Iterator[Chunk]:
        images, labels = (files[name] for name in names)
        yield from read_idx(images, labels, Labels(card.classes), card.features)

    return Source(read, _raw_vectors(card))


def _svmlight(card: SvmlightCard, files: Mapping[str, SourceFile]) -> Source:
    from mpu_bench.data.readers.svmlight import NumericLabels, Rules, Topics, read_svmlight

    labels: NumericLabels = Labels(card.classes)
    if card.topic:
        labels = Topics(files[card.topic.file], card.topic.name)
    rules = Rules(labels, card.features, card.first_index, card.repeated_pairs)
    return Source(
        lambda names: chain.from_iterable(read_svmlight(files[name], rules) for name in names), _raw_vectors(card)
    )


def _delimited(card: DelimitedCard, files: Mapping[str, SourceFile]) -> Source:
    """Read text; where there are categories, in a second pass, after one that collects them."""
    from mpu_bench.data.readers import delimited

    training = [files[name] for name in card.train]
    scaled = card.coded and card.scale == "unit-interval"
    encoding = delimited.new_encoding(training[0], card.columns, scaled, card.features)
    if card.coded:
        delimited.fit(encoding, training, transforms.training_rows(card))
    if encoding.features != card.features:
        raise DataError(f"{training[0].path}: gives {counted(encoding.features, 'column')} instead of {card.features}")
    labels = Labels(card.classes)
    return Source(
        lambda names: chain.from_iterable(delimited.read_delimited(files[name], encoding, labels) for name in names),
        _raw_table(card, encoding),
    )


def _table(card: TableCard, files: Mapping[str, SourceFile]) -> Source:
    """Read a table in a second pass, after one in which its columns are fitted to the training part."""
    from mpu_bench.data.prepare import tables

    source = tables.open_source(card, files)
    fitted = tables.fit(source, transforms.training_rows(card))
    if not 0 < fitted.features <= card.features:
        raise DataError(
            f"{card.origin}: gives {counted(fitted.features, 'feature')}; allowed are 1 to {card.features:,}"
        )
    return Source(lambda names: tables.read(source, fitted, names), fitted)


def _embedded(card: EmbeddedCard, _files: Mapping[str, SourceFile]) -> Source:
    """Return scikit-learn's 8 x 8 digits, the one dataset that comes with an installed package."""
    from sklearn.datasets import load_digits

    _check_content(card, card.content, 64, 10)
    digits = load_digits()
    values, labels = digits.data.astype(np.uint8), digits.target.astype(np.uint8)
    if hashlib.sha256(values.tobytes() + labels.tobytes()).hexdigest() != _DIGITS_SHA256:
        raise DataError("this version of scikit-learn brings other digits; install scikit-learn >=1.6,<2")
    return Source(lambda _names: iter([Chunk(labels.astype(np.int32), values)]), _raw_vectors(card))


_READERS: dict[str, Callable[[Any, Mapping[str, SourceFile]], Source]] = {
    "svmlight": _svmlight,
    "delimited": _delimited,
    "table": _table,
    "idx": _idx,
    "embedded": _embedded,
    "generated": lambda card, _files: Source(lambda _names: iter(()), _raw_vectors(card)),  # see `_generated`
}


def _storage(card: Card, parts: Mapping[str, PartWriter], features: int) -> StorageOfRows:
    """Decide how the rows are stored where the card leaves it open."""
    if card.storage in ("dense", "sparse"):
        return card.storage
    if all(writer.only_ones for writer in parts.values()):
        return "ones"
    if card.storage == "ones":
        raise DataError(f"{card.origin}: storage: 'ones', but some values are not 1; write 'sparse'")
    cells = features * sum(writer.rows for writer in parts.values())
    return "dense" if sum(writer.pairs for writer in parts.values()) >= DENSE_FROM * cells else "sparse"


def _finish(
    card: Card, folder: Path, raw: Preprocessing | None, features: int, storage: StorageOfRows
) -> tuple[int, Preprocessing | None]:
    """Take the steps that need the whole training part; return the columns that are left, and the description."""
    kept_columns = scaling = None
    if card.drop_columns != "none":
        kept_columns = transforms.drop_columns(folder, card.drop_columns)
        features = len(kept_columns)
    if not features:
        raise DataError(f"{card.origin}: drop_columns: every column of the training part is zero; none is left")
    if card.kept_features not in (None, features):
        raise DataError(f"{card.origin}: {features} columns are left instead of the {card.kept_features} expected")
    if card.kind == "table":  # scaled while it was read
        return features, raw
    if card.scale != "none" and not card.coded:
        scaling = transforms.scale(folder, card.scale)
    return features, _finished(raw, kept_columns, scaling, sparse=storage != "dense")


def _check(card: Card, parts: Mapping[str, PartWriter]) -> None:
    """Compare rows and classes with what the card expects."""
    train, test = parts["train"], parts["test"]
    if not train.rows:
        raise DataError(f"{card.origin}: the training part has no rows")
    if card.split is not None and card.total is not None:
        _compare(card, "the data", card.total, train.rows + test.rows, train.counts + test.counts)
        return
    _compare(card, "the training part", card.expect.train or card.expect.total, train.rows, train.counts)
    _compare(card, "the test part", card.expect.test, test.rows, test.counts)


def _user_file(card: Card) -> Path | None:
    return next((file.path for file in card.remote_files if file.path is not None), None)


def _hint(card: Card) -> str:
    """Return what mends the card of a user file, or a broken download of which no hash is known.

    A config counts a user file each time.
    """
    user_file = _user_file(card)
    if user_file is None and any(file.urls and not file.hashes for file in card.remote_files):
        return f"; if the download is broken: mpu-bench data clean {card.name}, and fetch it again"
    if user_file is None or not card.origin.endswith(".yaml"):
        return ""
    with suppress(OSError):
        if _COMMAND in Path(card.origin).read_text(encoding="utf-8", errors="replace"):
            return f"; if {user_file} has changed, give the command at the head of {card.origin} again"
    return f"; if {user_file} has changed, make its card again: " + command(
        "data", "add", user_file, "--name", card.name, "--force"
    )


def _compare(card: Card, what: str, expected: Part | None, rows: int, counts: np.ndarray) -> None:
    if expected is None:
        return
    source = f"dataset '{card.name}' ({card.origin}): {what}"
    hint = "" if _user_file(card) else "; is it another version of the files?"
    if rows != expected.rows:
        raise DataError(f"{source} has {counted(rows, 'row')}, expected {expected.rows:,}{hint}")
    for name, count in zip(card.classes, counts, strict=True):
        wanted = expected.classes.get(name, count)
        if count != wanted:
            raise DataError(f"{source} has {counted(count, 'row')} of class '{name}', expected {wanted:,}{hint}")


# ------------------------------------------------------------------ what is done to raw rows, as preprocessing says it


def _raw_vectors(card: Card) -> Vectors:
    """Describe what is done to vectors while they are read."""
    factor, divisor = card.multiplier
    return Vectors(
        features_in=card.features,
        first_index=getattr(card, "first_index", 1),
        multiply_by=factor,
        divide_by=divisor,
        unit_rows=card.unit_rows,
    )


def _raw_table(card: Card, encoding: ColumnEncoding) -> Table | None:
    """Describe what is done to a delimited text while it is read; None for what no `Table` can say.

    Its columns are called ``column 1`` and so on, as those of any table without a header.
    """
    if card.coded and card.multiplier != (1.0, 1.0):
        return None  # the features of words are multiplied, too
    try:
        return _raw_columns(card, encoding)
    except (ValidationError, KeyError):  # such as of a negative factor, or a training part without rows
        return None


def _raw_columns(card: Card, encoding: ColumnEncoding) -> Table:
    factor, divisor = card.multiplier
    columns: list[Column] = []
    for index in range(encoding.count):
        name = f"column {index + 1}"
        if index not in encoding.used:
            columns.append(OmittedColumn(name=name))
        elif index in encoding.values:
            columns.append(CategoricalColumn(name=name, categories=encoding.values[index], exact=True))
        elif encoding.scaled:
            low, high = encoding.low[index], encoding.high[index]
            columns.append(NumberColumn(name=name, shift=low, width=high - low if high > low else _WIDEST))
        else:
            columns.append(NumberColumn(name=name, width=divisor / factor))
    label = f"column {encoding.layout.label}"
    return Table(columns=tuple(columns), label=label, unit_rows=card.unit_rows)


def _finished(
    raw: Preprocessing | None, kept_columns: NDArray[np.intp] | None, scaling: transforms.Scaling | None, sparse: bool
) -> Preprocessing | None:
    """Add the steps that need the whole training part: the columns that are kept, and how they are scaled.

    Parameters
    ----------
    raw : Preprocessing or None
        What is done to the rows while they are read; None if it cannot be said.
    kept_columns : array of int or None
        The columns that are left, None for all.
    scaling : Scaling or None
    sparse : bool
        Whether the rows are stored sparse.
    """
    try:
        if isinstance(raw, Vectors):
            steps = {
                "kept": None if kept_columns is None else tuple(kept_columns.tolist()),
                "shift": None if scaling is None else tuple(scaling.shift.tolist()),
                "width": None if scaling is None else tuple(scaling.width.tolist()),
            }
            return Vectors(**{**dict(raw), **steps, "sparse": sparse})
        return None if raw is None else _finished_table(raw, kept_columns, scaling, sparse)
    except ValidationError:  # such as of a width that is not finite
        return None


def _finished_table(
    raw: Table, kept_columns: NDArray[np.intp] | None, scaling: transforms.Scaling | None, sparse: bool
) -> Table | None:
    if raw.unit_rows and kept_columns is not None:
        return None  # a row was given unit length with the columns that were dropped since
    kept = range(raw.features) if kept_columns is None else kept_columns.tolist()
    positions = {index: position for position, index in enumerate(kept)}
    columns: list[Column] = []
    first = 0
    for column in raw.columns:
        left = [i for i in range(column.features) if first + i in positions]
        if not left:
            columns.append(OmittedColumn(name=column.name))
        elif isinstance(column, CategoricalColumn):
            columns.append(column.model_copy(update={"categories": tuple(column.categories[i] for i in left)}))
        elif isinstance(column, NumberColumn) and scaling is not None:
            shift, width = float(scaling.shift[positions[first]]), float(scaling.width[positions[first]])
            columns.append(NumberColumn(name=column.name, shift=shift * column.width, width=width * column.width))
        else:
            columns.append(column)
        first += column.features
    return Table(columns=tuple(columns), label=raw.label, unit_rows=raw.unit_rows, sparse=sparse)

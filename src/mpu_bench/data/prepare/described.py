"""What the preparation of a stored dataset does to its raw rows, as `mpu_bench.preprocessing` describes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from mpu_bench.data.cards.schema import Card
from mpu_bench.preprocessing import (
    CategoricalColumn,
    Column,
    NumberColumn,
    OmittedColumn,
    Preprocessing,
    Table,
    Vectors,
)

if TYPE_CHECKING:
    from mpu_bench.data.prepare.transforms import Scaling
    from mpu_bench.data.readers.delimited import ColumnEncoding

_WIDEST = 1e300  #: by which what must become 0 is divided


def vectors(card: Card) -> Vectors:
    """Describe what is done to vectors while they are read."""
    factor, divisor = card.multiplier
    return Vectors(
        features_in=card.features,
        first_index=getattr(card, "first_index", 1),
        multiply_by=factor,
        divide_by=divisor,
        unit_rows=card.unit_rows,
    )


def table(card: Card, encoding: ColumnEncoding) -> Table | None:
    """Describe what is done to a delimited text while it is read; None for what no `Table` can say.

    Its columns are called ``column 1`` and so on, as those of any table without a header.
    """
    if card.coded and card.multiplier != (1.0, 1.0):
        return None  # the features of words are multiplied, too
    try:
        return _table(card, encoding)
    except (ValidationError, KeyError):  # such as of a negative factor, or a training part without rows
        return None


def _table(card: Card, encoding: ColumnEncoding) -> Table:
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


def finished(
    raw: Preprocessing | None, kept_columns: NDArray[np.intp] | None, scaling: Scaling | None, sparse: bool
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
    raw: Table, kept_columns: NDArray[np.intp] | None, scaling: Scaling | None, sparse: bool
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

"""The steps of a preparation: on chunks while they are read, and on stored dense rows where statistics are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.rows import Dense, Rows, with_constant
from mpu_bench.data.cards.parts import Smooth
from mpu_bench.data.cards.schema import Card
from mpu_bench.data.prepare.npy import ArrayFile, open_array, pieces
from mpu_bench.data.prepare.room import check_memory
from mpu_bench.data.readers.blocks import Chunk

_ROUNDING = 16 * float(np.finfo(np.float64).eps)  # of a number that was computed in more than one way
_SMALLEST = float(np.finfo(np.float64).tiny)


#: called with the number of a first row, from 0, and a number of rows; returns which of them are training rows
InTraining = Callable[[int, int], NDArray[np.bool_]]


def training_rows(card: Card) -> InTraining:
    """Return which rows are training rows: with a seed a random set, else the first ones; all without a split.

    Rows beyond the total are training rows.
    """
    if card.split is None or card.total is None:
        return lambda _first, count: np.ones(count, bool)
    total, size = card.total.rows, card.split.train_rows(card.total.rows)
    train = np.zeros(total, bool)
    if card.split.seed is None:
        train[:size] = True
    else:
        entropy = [card.split.seed, *b"split"]
        random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))
        train[random.permutation(total)[:size]] = True

    def in_training(first: int, count: int) -> NDArray[np.bool_]:
        known = train[first : first + count]
        return np.concatenate([known, np.ones(count - len(known), bool)])

    return in_training


def transform_chunk(chunk: Chunk, card: Card) -> Chunk:
    """Smooth, multiply, divide and normalise the rows of a chunk as the card says; images must be dense."""
    factor, divisor = card.multiplier
    if card.smooth:
        chunk = chunk.with_values(_smoothed(chunk.rows, card.smooth))
    if (factor, divisor) != (1.0, 1.0):
        chunk = chunk.with_values(chunk.values.astype(np.float64) * factor / divisor)
    return _unit_rows(chunk) if card.unit_rows else chunk


def _smoothed(values: NDArray[Any], how: Smooth) -> NDArray[np.float64]:
    from scipy.ndimage import gaussian_filter

    images = values.reshape(-1, how.rows, how.columns).astype(np.float64)
    smooth: NDArray[np.float64] = gaussian_filter(
        images, (0, how.deviation, how.deviation), mode="constant", cval=how.outside
    )
    return smooth.reshape(values.shape)


def _unit_rows(chunk: Chunk) -> Chunk:
    """Divide every row by its Euclidean norm; empty rows stay as they are."""
    values = chunk.values.astype(np.float64)
    if values.ndim == 2:
        norms = np.sqrt((values**2).sum(axis=1, keepdims=True))
        return chunk.with_values(values / np.where(norms > 0, norms, 1.0))
    row = np.repeat(np.arange(len(chunk.labels)), np.diff(chunk.rows.indptr))
    norms = np.sqrt(np.bincount(row, values**2, len(chunk.labels)))
    return chunk.with_values(values / np.where(norms > 0, norms, 1.0)[row])


def drop_columns(folder: Path, which: str) -> NDArray[np.intp]:
    """Drop columns of stored dense rows that are zero in the whole training part.

    Parameters
    ----------
    folder : Path
    which : str
        ``"zero"`` for all of them, ``"trailing-zero"`` for those after the last other one.

    Returns
    -------
    array of int
        The columns that are left.
    """
    train = open_array(folder / "train-values.npy")
    used = np.zeros(train.shape[1], bool)
    for piece in pieces_of(train):
        used |= piece.any(axis=0)
    if which == "trailing-zero":
        used[: 1 + np.max(np.flatnonzero(used), initial=0)] = True
    for part in ("train", "test"):
        _keep_columns(folder / f"{part}-values.npy", used)
    return np.flatnonzero(used)


def _keep_columns(path: Path, used: NDArray[np.bool_]) -> None:
    with ArrayFile(path.with_name("kept.npy"), np.float32, int(used.sum())) as written:
        for piece in pieces_of(open_array(path)):
            written.append(piece[:, used])
    written.path.replace(path)


class Scaling(NamedTuple):
    """What is taken from every column, and what it is then divided by; (d,) each."""

    shift: NDArray[np.float64]
    width: NDArray[np.float64]

    def __call__(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Scale rows."""
        return ((values.astype(np.float64) - self.shift) / self.width).astype(np.float32)


#: begins anew to hand out dense rows one piece after the other, cut as `pieces_of` does
Pieces = Callable[[], Iterator[NDArray[np.float32]]]


def scale(folder: Path, how: str) -> Scaling:
    """Scale stored dense rows in place, both parts by the statistics of the training part; return how.

    Parameters
    ----------
    folder : Path
    how : str
        As `scaling` takes it.
    """
    train = open_array(folder / "train-values.npy")
    chosen = scaling(partial(pieces_of, train), train.shape, how)
    del train
    for part in ("train", "test"):
        rescale(folder / f"{part}-values.npy", chosen)
    return chosen


def rescale(path: Path, chosen: Scaling) -> None:
    """Scale stored dense rows in place."""
    for piece in pieces_of(open_array(path, mode="r+")):
        piece[:] = chosen(piece)


def pieces_of(values: NDArray[np.float32]) -> Iterator[NDArray[np.float32]]:
    """Cut rows into pieces that are worked on at once."""
    for first, last in pieces(len(values), 8 * values.shape[1]):
        yield values[first:last]


def scaling(rows: Pieces, shape: tuple[int, ...], how: str) -> Scaling:
    """Choose how to scale columns.

    Parameters
    ----------
    rows : function
        Hands out the training part.
    shape : (int, int)
        Its rows and columns.
    how : str
        ``"standard"``: every column to mean 0 and deviation 1; ``"standard-overall"``: the same with one mean and
        one deviation for all values; ``"unit-interval"``: every column to [0, 1]; ``"symmetric"``: every column to
        [-1, 1]. The deviation is that of the population; a column that never changes becomes 0.
    """
    match how:
        case "unit-interval":
            shift, width = _range(rows)
        case "symmetric":
            low, width = _range(rows)
            width = width / 2
            shift = low + width
        case _:
            shift, width = moments(rows, shape, how == "standard-overall")
    return Scaling(shift, np.where(width > 0, width, 1.0))


Statistics = tuple[NDArray[np.float64], NDArray[np.float64]]


def _range(rows: Pieces) -> Statistics:
    low = np.min([piece.min(axis=0) for piece in rows()], axis=0).astype(np.float64)
    return low, np.max([piece.max(axis=0) for piece in rows()], axis=0) - low


def moments(rows: Pieces, shape: tuple[int, ...], overall: bool = False) -> Statistics:
    """Return mean and standard deviation of every column, or of all values (repeated), in two passes in float64.

    The deviation of a column that never changes is 0, not what rounding makes of it.
    """
    n, d = shape
    total, squares = np.zeros(d), np.zeros(d)
    low, high = np.full(d, np.inf), np.full(d, -np.inf)
    for piece in rows():
        total += piece.sum(axis=0, dtype=np.float64)
        low, high = np.minimum(low, piece.min(axis=0)), np.maximum(high, piece.max(axis=0))
    if overall:
        low, high = np.full(d, low.min()), np.full(d, high.max())
    mean = np.full(d, total.sum() / (n * d)) if overall else total / n
    for piece in rows():
        squares += ((piece - mean) ** 2).sum(axis=0)
    deviation = np.sqrt(np.full(d, squares.sum() / (n * d)) if overall else squares / n)
    constant = is_constant(low, high)
    return np.where(constant, low, mean), np.where(constant, 0.0, deviation)


def is_constant(low: Any, high: Any) -> Any:
    """Return whether numbers that lie between these differ by no more than rounding, of each pair of an array."""
    with np.errstate(over="ignore"):
        return np.subtract(high, low) <= np.maximum(_ROUNDING * np.maximum(np.abs(low), np.abs(high)), _SMALLEST)


def augment(rows: Rows, features: int, rho: float) -> Rows:
    """Append a constant feature to every row (mpu-2010), which gives each linear solver a bias.

    Raises
    ------
    DataError
        If the rows come to more values than can be stored, or to more memory than there is.
    """
    if isinstance(rows, Dense):
        n, size = len(rows.values), rows.values.itemsize
        check_memory(n * (features + 1) * size, f"appending a feature to {n:,} dense rows", "augment")
    return with_constant(rows, features, rho)

"""The generated datasets, as streams of any length: checkerboard, waveform and separable.

A stream is made of blocks of a fixed number of rows, each from its own generator seeded by (seed, dataset and part,
number of the block). So a longer stream begins with the shorter one, and never more than a block is held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Block = tuple[NDArray[np.float32], NDArray[np.int32]]


class Generator(NamedTuple):
    """A generated dataset: ``block(random, rows, **settings)`` makes a block of it, by those that it ``takes``.

    ``features`` is None where a setting decides it.
    """

    features: int | None
    classes: int
    block: Callable[..., Block]
    takes: tuple[str, ...] = ()
    block_rows: int = 65_536


def blocks(name: str, part: str, rows: int, settings: Mapping[str, Any]) -> Iterator[Block]:
    """Generate a dataset block by block.

    Parameters
    ----------
    name : str
        One of `GENERATORS`.
    part : str
        ``"train"`` and ``"test"`` are independent streams; those of ``"separable"`` share the hyperplane.
    rows : int
        The length of the whole stream.
    settings : mapping
        ``seed``, not negative: different seeds give independent streams; ``features``, the number of columns d;
        ``margin``, between 0 and 1, for ``"separable"``.

    Yields
    ------
    values : array of float32, shape (m, d)
    labels : array of int32, shape (m,)
    """
    for number in range(-(-rows // GENERATORS[name].block_rows)):
        yield block(name, part, number, rows, settings)


def block(name: str, part: str, number: int, rows: int, settings: Mapping[str, Any]) -> Block:
    """Generate one block of a stream, counted from 0; parameters as those of `blocks`."""
    generator = GENERATORS[name]
    random = _random(settings["seed"], f"{name} {part}", number)
    values, labels = generator.block(random, generator.block_rows, **{key: settings[key] for key in generator.takes})
    size = min(generator.block_rows, rows - number * generator.block_rows)
    return values[:size], labels[:size]


def _random(seed: int, purpose: str, *more: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *purpose.encode(), *more])))


def _checkerboard(random: np.random.Generator, rows: int) -> Block:
    """Draw points uniform on the unit square, cut into 4 x 4 squares whose colours alternate."""
    values = random.random((rows, 2), dtype=np.float32)
    squares = (4 * values).astype(np.int32)
    return values, (squares.sum(axis=1) & 1).astype(np.int32)


def _waveform(random: np.random.Generator, rows: int) -> Block:
    """Mix two of three triangles (Breiman et al. 1984, p. 49) at random and add N(0, 1) to each of the 21 inputs."""
    labels = random.integers(0, 3, rows, dtype=np.int32)
    share = random.random((rows, 1), dtype=np.float32)
    values = random.standard_normal((rows, 21), dtype=np.float32)
    values += share * _FIRST[labels] + (1 - share) * _SECOND[labels]
    return values, labels


_TRIANGLES = np.maximum(6 - np.abs(np.arange(1, 22) - np.array([[11], [15], [7]])), 0).astype(np.float32)
_FIRST: NDArray[Any] = _TRIANGLES[[0, 0, 1]]  #: of each class
_SECOND: NDArray[Any] = _TRIANGLES[[1, 2, 2]]
_PAIR_EVERY = 8


def direction(seed: int, features: int) -> NDArray[np.float64]:
    """Return the unit vector that separates the rows of ``"separable"`` with the largest margin, shape (d,)."""
    drawn: NDArray[np.float64] = _random(seed, "separable direction").standard_normal(features)
    drawn /= np.sqrt((drawn**2).sum())
    return drawn


def _separable(random: np.random.Generator, rows: int, seed: int, features: int, margin: float) -> Block:
    """Draw rows x of length 1 that the hyperplane through the origin with normal u separates with a known margin.

    With z = x or -x by class, the first two of every eight rows are z = margin u + v and z = margin u - v, of
    different classes, with v orthogonal to u; the others are (margin + slack) u + v, with slack uniform on
    [0, 1 - margin). The margin of the best hyperplane through the origin is ``margin``, and it is u's alone:

        u.z >= margin for every z, so u attains it;
        and on a pair any unit w has min w.z <= mean w.z = margin w.u <= margin, with equality only for w = u.

    Rounding to float32 moves each z by at most 2^-24, so it moves the margin by 6e-8 at most: by 6e-7 of it at 0.1.
    """
    u = direction(seed, features)
    labels = random.integers(0, 2, rows, dtype=np.int32)
    along = margin + (1 - margin) * random.random(rows)
    across = random.standard_normal((rows, features))
    first, second = slice(0, None, _PAIR_EVERY), slice(1, None, _PAIR_EVERY)
    labels[second] = 1 - labels[first]
    along[first] = along[second] = margin
    across[second] = -across[first]
    for _ in range(2):  # once more, because what is left of a vector almost along u is mostly rounding
        across -= (across * u).sum(axis=1, keepdims=True) * u  # not by BLAS: it adds up in an order of its own
        across /= np.sqrt((across**2).sum(axis=1, keepdims=True))
    across *= np.sqrt(1 - along**2)[:, None]
    across += along[:, None] * u
    across *= (2 * labels - 1)[:, None]
    return across.astype(np.float32), labels


GENERATORS = {
    "checkerboard": Generator(2, 2, _checkerboard),
    "waveform": Generator(21, 3, _waveform),
    "separable": Generator(None, 2, _separable, ("seed", "features", "margin"), 1024),
}

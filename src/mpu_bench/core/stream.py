"""The training examples in the order in which an online solver sees them: pass after pass, each in a new random order.

The order is a function of the seed alone, so that all online solvers of one seed see the same. A problem whose
examples are generated (`StreamedProblem`) is visited block by block, the blocks in random order and the rows of each
in random order, so that never more than a block is held.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.clock import untimed
from mpu_bench.core.problem import Problem
from mpu_bench.core.rng import rng, shuffle
from mpu_bench.core.rows import AnyRows, any_rows, count


class Chunk(NamedTuple):
    """Some examples and the order in which they are presented."""

    rows: AnyRows
    labels: NDArray[np.int32]  #: (m,) classes
    order: NDArray[np.uint32]  #: (m,) which rows are presented, one after the other
    first: int  #: the number of the first row among all n examples


class Stream:
    """The examples of a problem, presented without end.

    Parameters
    ----------
    problem : Problem
    seed : int
        Decides the order.
    """

    def __init__(self, problem: Problem, seed: int) -> None:
        self.length = problem.n  #: examples a pass
        self._problem = problem
        self._generator = rng(seed, "order of presentation")
        self._blocks = np.arange(problem.blocks, dtype=np.uint32)
        self._next = 0  # position in _blocks
        self._begins, self._ends = 0, 0  # which presentations the chunk at hand is for
        self._chunk: Chunk | None = None

    def at(self, presented: int) -> tuple[Chunk, int]:
        """Return the chunk that holds the example to be presented next, and its position in the chunk's order.

        Parameters
        ----------
        presented : int
            How many have been presented; may not fall from call to call.

        Raises
        ------
        DataError
            If a row of a stream holds a number that is not finite.
        """
        while self._chunk is None or presented >= self._ends:
            self._chunk = self._following()
            self._begins, self._ends = self._ends, self._ends + len(self._chunk.order)
        return self._chunk, presented - self._begins

    def _following(self) -> Chunk:
        if self._next == 0:
            shuffle(self._generator, self._blocks, len(self._blocks))
        number = int(self._blocks[self._next])
        self._next = (self._next + 1) % len(self._blocks)
        with untimed():
            rows, labels, first = self._problem.block(number)
        m = int(count(rows))
        if self._chunk is not None and len(self._chunk.order) == m and len(self._blocks) == 1:
            order = self._chunk.order  # permuted further
        else:
            order = np.arange(m, dtype=np.uint32)
        shuffle(self._generator, order, m)
        return Chunk(any_rows(rows), labels, order, first)

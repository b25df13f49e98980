"""Several classes, separated by models of two classes each: one against one, or one against the rest.

One against one: the machine of a pair of classes votes for one of them; a score of exactly zero is a vote for the
lower one. The class with the most votes wins; among those with as many, the one with the highest sum of its machines'
scores; among those with the same sum, the lowest index. (LIBSVM takes the lowest index at once.)

One against the rest: the class with the highest score wins, the lowest index on ties.

Kernel machines share their vectors: an example's kernel values with all of them are computed once, for all machines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.jit import jit
from mpu_bench.core.models import (
    FourierModel,
    KernelModel,
    LinearModel,
    Model,
    ScoredModel,
    all_finite,
    used_columns,
    vector_blocks,
)
from mpu_bench.core.rows import Dense, Ones, Rows, Sparse, any_rows, count, take
from mpu_bench.core.vectors import kernel_values
from mpu_bench.errors import SolverError
from mpu_bench.kernels import Kernel

REST = -1  #: instead of a class: all the others
_SCORES_AT_ONCE = 1 << 22  # of machines: 32 MB


@dataclass(frozen=True, eq=False)
class SharedExpansions:
    """p kernel expansions, each over some of the same m vectors: f_k(x) = sum_j alpha_jk K(x_j, x) + b_k.

    Attributes
    ----------
    vectors : Rows
        The m vectors.
    starts : array of int64, shape (m + 1,)
        Vector j has the coefficients ``starts[j]:starts[j + 1]``.
    machines : array of int32
        k, of every coefficient.
    coefficients : array of float64
        alpha_jk.
    biases : array of float64, shape (p,)
        b_k.
    kernel : Kernel
    features : int
        The number of columns of the vectors, d.
    support : array of int, shape (m,), optional
        Which of the training rows they are, the first of rows that are equal.
    """

    vectors: Rows
    starts: NDArray[np.int64]
    machines: NDArray[np.int32]
    coefficients: NDArray[np.float64]
    biases: NDArray[np.float64]
    kernel: Kernel
    features: int
    support: NDArray[np.integer[Any]] | None = None

    @property
    def finite(self) -> bool:
        """Whether all coefficients and biases are."""
        return all_finite(self.coefficients) and all_finite(self.biases)

    def scores(self, rows: Rows) -> NDArray[np.float64]:
        """Return the scores of every row by every machine, shape (n, p)."""
        scores = np.tile(self.biases, (count(rows), 1))
        parts = self.starts, self.machines, self.coefficients
        with np.errstate(over="ignore"):
            squares = np.bincount(self.machines, np.square(self.coefficients), len(self.biases))
        length = float(np.sqrt(squares.max(initial=0.0)))
        vectors, rows, features = used_columns(self.vectors, rows, self.features, self.kernel)
        for first, block in vector_blocks(vectors, rows, self.kernel, features, length):
            _add_scores(block, first, self.kernel, any_rows(rows), *parts, scores)
        return scores


def shared(models: Sequence[KernelModel]) -> SharedExpansions:
    """Return expansions as one; vectors that are equal become one."""
    all_vectors = _joined([model.vectors for model in models])
    numbers: dict[bytes, int] = {}
    number = np.array([numbers.setdefault(key, len(numbers)) for key in _contents(all_vectors)], np.int64)
    _, firsts = np.unique(number, return_index=True)
    machines = np.repeat(np.arange(len(models), dtype=np.int32), [count(model.vectors) for model in models])
    coefficients = np.concatenate([model.coefficients[:, 0] for model in models])
    by_vector = np.argsort(number, kind="stable")
    supports = [model.support for model in models if model.support is not None]
    return SharedExpansions(
        take(all_vectors, firsts),
        np.concatenate([[0], np.cumsum(np.bincount(number, minlength=len(firsts)))]),
        machines[by_vector],
        coefficients[by_vector],
        np.array([model.bias for model in models]),
        models[0].kernel,
        models[0].features,
        np.concatenate(supports)[firsts] if len(supports) == len(models) else None,
    )


@dataclass(frozen=True, eq=False)
class MulticlassModel(ScoredModel):
    """The vote of machines that each separate two classes.

    Attributes
    ----------
    machines : LinearModel or SharedExpansions
        With one score per machine, above zero for the second class of its pair.
    pairs : array of int32, shape (p, 2)
        The classes that a machine tells apart; the first is `REST` for one against the rest.
    classes : int
        c.
    """

    machines: LinearModel | SharedExpansions
    pairs: NDArray[np.int32]
    classes: int

    @property
    def linear(self) -> bool:
        """Whether it is evaluated without kernel values."""
        return isinstance(self.machines, LinearModel)

    @property
    def support_vectors(self) -> int:
        """How many vectors have a coefficient that is not zero; 0 for linear machines."""
        if isinstance(self.machines, LinearModel):
            return 0
        nonzero = np.concatenate([[0], np.cumsum(self.machines.coefficients != 0)])[self.machines.starts]
        return int(np.count_nonzero(np.diff(nonzero)))

    def scores(self, rows: Rows) -> NDArray[np.float64]:
        """Return the scores of every row by class, shape (n, c).

        One against the rest: the scores of the machines; a class without a machine has 0. One against one: the votes,
        plus a number between -1/3 and 1/3 that grows with the sum of the scores.
        """
        at_once, first = max(1, _SCORES_AT_ONCE // max(len(self.pairs), 1)), 0
        scores = np.zeros((count(rows), self.classes))
        for part in _parts(rows, at_once):
            _add_votes(self.machines.scores(part), self.pairs, scores[first : first + at_once])
            first += at_once
        return scores

    @property
    def finite(self) -> bool:
        """Whether the numbers of all machines are."""
        return self.machines.finite


def combined(models: Sequence[Model], pairs: NDArray[np.int32], classes: int) -> MulticlassModel:
    """Return one model of the models of machines, one score each.

    Parameters
    ----------
    models : sequence of Model
        All linear models or all kernel models; at least one.
    pairs : array of int32, shape (p, 2)
        The classes each tells apart.
    classes : int
        c.

    Raises
    ------
    SolverError
        If they have not one score each, or what the machines of a vote share differs: the kind, the kernel, the
        frequencies, the bias of linear ones.
    """
    shared_part = _shared_part(models[0])
    if shared_part[0] != 1 or any(_shared_part(model) != shared_part for model in models[1:]):
        raise SolverError(
            "several classes: their models must have one score each, and be kernel models with the same kernel, or"
            " linear ones with the same bias and frequencies; for a bias of each class, weigh a constant feature"
        )
    if isinstance(models[0], LinearModel):
        weights = np.vstack([cast("LinearModel", model).weights for model in models])
        return MulticlassModel(replace(models[0], weights=weights), pairs, classes)
    return MulticlassModel(shared([cast("KernelModel", model) for model in models]), pairs, classes)


def _shared_part(model: Model) -> tuple[Any, ...]:
    """Return the number of scores, 0 of a foreign model, and what is one for all machines of a vote."""
    if isinstance(model, FourierModel):
        return len(model.weights), type(model), model.bias, model.frequencies.tobytes()
    if isinstance(model, LinearModel):
        return len(model.weights), type(model), model.bias
    if isinstance(model, KernelModel):
        return model.coefficients.shape[1], type(model), model.kernel.name, model.kernel.parameters
    return 0, type(model)


def _joined(parts: Sequence[Rows]) -> Rows:
    """Return rows of one kind below each other."""
    if isinstance(parts[0], Dense):
        return Dense(np.concatenate([cast("Dense", part).values for part in parts]))
    sparse = [cast("Sparse | Ones", part) for part in parts]
    lengths = np.concatenate([part.starts[1:] - part.starts[:-1] for part in sparse])
    starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.uint32)
    indices = np.concatenate([part.indices for part in sparse])
    if isinstance(parts[0], Ones):
        return Ones(indices, starts)
    return Sparse(np.concatenate([cast("Sparse", part).values for part in sparse]), indices, starts)


def _contents(rows: Rows) -> Iterator[bytes]:
    """Yield the content of every row."""
    if isinstance(rows, Dense):
        for values in rows.values:
            yield values.tobytes()
        return
    for start, stop in zip(rows.starts[:-1], rows.starts[1:], strict=True):
        values = rows.values[start:stop].tobytes() if isinstance(rows, Sparse) else b""
        yield rows.indices[start:stop].tobytes() + values


def _parts(rows: Rows, at_once: int) -> Iterator[Rows]:
    """Yield views of some of the rows after the other."""
    for first in range(0, count(rows), at_once):
        if isinstance(rows, Dense):
            yield Dense(rows.values[first : first + at_once])
        else:
            yield rows._replace(starts=rows.starts[first : first + at_once + 1])


@jit(allocates=True)
def _add_scores(vectors, first, kernel, rows, starts, machines, coefficients, scores):
    kernel_row = np.empty_like(vectors.squared_norms)
    for i in range(len(scores)):
        kernel_values(vectors, kernel, rows, np.uint32(i), kernel_row)
        for j in range(vectors.size[0]):
            for k in range(starts[first + j], starts[first + j + 1]):
                scores[i, machines[k]] += coefficients[k] * kernel_row[j]


@jit(allocates=True)
def _add_votes(scores, pairs, by_class):
    """Add to zeros (n, c) the sums of the scores (n, p) by class, or votes with a number that grows with these sums."""
    votes = np.zeros(by_class.shape[1])
    for i in range(len(scores)):
        sums, rest = by_class[i], True
        votes[:] = 0.0
        for k in range(len(pairs)):
            first, second, score = pairs[k, 0], pairs[k, 1], scores[i, k]
            sums[second] += score
            if first != REST:
                rest = False
                sums[first] -= score
                if score > 0:
                    votes[second] += 1.0
                else:
                    votes[first] += 1.0
        if not rest:
            for c in range(len(votes)):
                sums[c] = votes[c] + sums[c] / (3.0 * (abs(sums[c]) + 1.0))

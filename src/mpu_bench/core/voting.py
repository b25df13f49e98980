"""Several classes told apart by machines that each separate two: one against one, or one against the rest.

One against one: the machine of a pair of classes votes for one of them; a score of exactly zero is a vote for the
lower one. The class with the most votes wins; among those with as many, the one with the highest sum of its machines'
scores; among those with the same sum, the lowest index. (LIBSVM takes the lowest index at once.)

One against the rest: the class with the highest score wins, the lowest index on ties.

Kernel machines share their vectors: an example's kernel values with all of them are computed once, for all machines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mpu_bench.core.kernels import Kernel
from mpu_bench.core.models import (
    FourierModel,
    KernelModel,
    LinearModel,
    Model,
    expansion_from_arrays,
    expansion_to_arrays,
    held_vectors,
    labels_of,
)
from mpu_bench.core.rows import Dense, Ones, Rows, Sparse, count, take
from mpu_bench.core.vectors import kernel_values

REST = -1  #: instead of a class: all the others
_HELD_SCORES = 1 << 22  # of machines, at once: 32 MB
_NUMBERS = ("starts", "machines", "coefficients", "biases")  # of SharedExpansions, as they are saved


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
    """

    vectors: Rows
    starts: NDArray[np.int64]
    machines: NDArray[np.int32]
    coefficients: NDArray[np.float64]
    biases: NDArray[np.float64]
    kernel: Kernel
    features: int

    def scores(self, rows: Rows) -> NDArray[np.float64]:
        """Score every row by every machine; shape (n, p)."""
        scores = np.tile(self.biases, (count(rows), 1))
        parts = self.starts, self.machines, self.coefficients
        for first, held in held_vectors(self.vectors, rows, self.features):
            _add_scores(held, first, self.kernel, rows, *parts, scores)
        return scores


def shared(models: Sequence[KernelModel]) -> SharedExpansions:
    """Put expansions together; vectors that are equal become one."""
    all_vectors = _joined([model.vectors for model in models])
    places: dict[bytes, int] = {}
    which = np.array([places.setdefault(key, len(places)) for key in _contents(all_vectors)], np.int64)
    _, firsts = np.unique(which, return_index=True)
    machines = np.repeat(np.arange(len(models), dtype=np.int32), [count(model.vectors) for model in models])
    coefficients = np.concatenate([model.coefficients[:, 0] for model in models])
    by_vector = np.argsort(which, kind="stable")
    return SharedExpansions(
        take(all_vectors, firsts),
        np.concatenate([[0], np.cumsum(np.bincount(which, minlength=len(firsts)))]),
        machines[by_vector],
        coefficients[by_vector],
        np.array([model.bias for model in models]),
        models[0].kernel,
        models[0].features,
    )


@dataclass(frozen=True, eq=False)
class MulticlassModel:
    """What machines that separate two classes say of several.

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
        """Score every row by class, shape (n, c).

        One against the rest: what the machines say; a class without a machine has 0. One against one: the votes,
        plus a number between -1/3 and 1/3 that grows with the sum of the scores.
        """
        together = max(1, _HELD_SCORES // max(len(self.pairs), 1))
        parts = [self._by_class(self.machines.scores(part)) for part in _in_parts(rows, together)]
        return np.concatenate([np.zeros((0, self.classes)), *parts])

    def labels(self, rows: Rows) -> NDArray[np.int32]:
        """Predict class indices, shape (n,)."""
        return labels_of(self.scores(rows))

    def _by_class(self, said: NDArray[np.float64]) -> NDArray[np.float64]:
        votes, sums = np.zeros((len(said), self.classes)), np.zeros((len(said), self.classes))
        for score, (first, second) in zip(said.T, self.pairs, strict=True):
            sums[:, second] += score
            if first != REST:
                sums[:, first] -= score
                votes[:, second] += score > 0
                votes[:, first] += score <= 0
        if (self.pairs[:, 0] == REST).all():
            return sums
        return votes + sums / (3.0 * (np.abs(sums) + 1.0))

    def save(self, path: Path) -> None:
        """Write the model to a ``.npz`` file."""
        parts: dict[str, Any] = {"pairs": self.pairs, "classes": self.classes}
        machines = self.machines
        if isinstance(machines, LinearModel):
            parts |= vars(machines)
        else:
            parts |= {name: getattr(machines, name) for name in _NUMBERS}
            parts |= expansion_to_arrays(machines.vectors, machines.kernel, machines.features)
        np.savez(path, model="multiclass", **parts)


def from_arrays(content: Mapping[str, Any]) -> MulticlassModel:
    """Read what `MulticlassModel.save` wrote."""
    machines: LinearModel | SharedExpansions
    if "frequencies" in content:
        machines = FourierModel(content["weights"], content["frequencies"])
    elif "weights" in content:
        machines = LinearModel(content["weights"])
    else:
        vectors, kernel, features = expansion_from_arrays(content)
        starts, which, coefficients, biases = (content[name] for name in _NUMBERS)
        machines = SharedExpansions(vectors, starts, which, coefficients, biases, kernel, features)
    return MulticlassModel(machines, content["pairs"], int(content["classes"]))


def combined(models: Sequence[Model], pairs: NDArray[np.int32], classes: int) -> MulticlassModel:
    """Make one model of the models of machines, one score each.

    Parameters
    ----------
    models : sequence of Model
        All linear models or all kernel models; at least one.
    pairs : array of int32, shape (p, 2)
        The classes each tells apart.
    classes : int
        c.
    """
    if isinstance(models[0], LinearModel):
        weights = np.vstack([cast("LinearModel", model).weights for model in models])
        return MulticlassModel(replace(models[0], weights=weights), pairs, classes)
    return MulticlassModel(shared([cast("KernelModel", model) for model in models]), pairs, classes)


def _joined(parts: Sequence[Rows]) -> Rows:
    """Put rows of one kind below each other."""
    if isinstance(parts[0], Dense):
        return Dense(np.concatenate([cast("Dense", part).values for part in parts]))
    sparse = [cast("Sparse | Ones", part) for part in parts]
    lengths = np.concatenate([part.starts[1:] - part.starts[:-1] for part in sparse])
    starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.uint32)
    columns = np.concatenate([part.columns for part in sparse])
    if isinstance(parts[0], Ones):
        return Ones(columns, starts)
    return Sparse(np.concatenate([cast("Sparse", part).values for part in sparse]), columns, starts)


def _contents(rows: Rows) -> Iterator[bytes]:
    """Give every row's content."""
    if isinstance(rows, Dense):
        for values in rows.values:
            yield values.tobytes()
        return
    for start, stop in zip(rows.starts[:-1], rows.starts[1:], strict=True):
        values = rows.values[start:stop].tobytes() if isinstance(rows, Sparse) else b""
        yield rows.columns[start:stop].tobytes() + values


def _in_parts(rows: Rows, together: int) -> Iterator[Rows]:
    """View some of the rows after the other."""
    for first in range(0, count(rows), together):
        if isinstance(rows, Dense):
            yield Dense(rows.values[first : first + together])
        else:
            yield rows._replace(starts=rows.starts[first : first + together + 1])


@njit(cache=True, nogil=True)
def _add_scores(held, first, kernel, rows, starts, machines, coefficients, scores):
    kernel_row = np.empty_like(held.squared_norms)
    for i in range(count(rows)):
        kernel_values(held, kernel, rows, np.uint32(i), kernel_row)
        for j in range(held.size[0]):
            for place in range(starts[first + j], starts[first + j + 1]):
                scores[i, machines[place]] += coefficients[place] * kernel_row[j]

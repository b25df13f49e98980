"""Models of every kind, made of random numbers: nothing is trained."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from mpu_bench.core.models import FourierModel, KernelModel, LinearModel, with_threshold
from mpu_bench.core.rows import Dense, Ones, Rows, Sparse
from mpu_bench.core.voting import REST, MulticlassModel, combined
from mpu_bench.kernels import Gaussian, Linear, Polynomial
from mpu_bench.models.classes import Classes
from mpu_bench.models.probabilities import Sigmoids
from mpu_bench.models.saved import SavedModel
from mpu_bench.preprocessing import CategoricalColumn, NumberColumn, OmittedColumn, Table, Vectors

FEATURES, VECTORS = 5, 7
PAIRS = {
    "ovo": np.array([[0, 1], [0, 2], [1, 2]], np.int32),
    "ovr": np.array([[REST, 0], [REST, 1], [REST, 2]], np.int32),
}


def rows_of(kind: str, seed: int = 0, dtype: Any = np.float32) -> Rows:
    random = np.random.default_rng(seed)
    values = random.normal(size=(VECTORS, FEATURES)).astype(dtype)
    if kind == "dense":
        return Dense(values)
    indices = np.concatenate([np.sort(random.choice(FEATURES, 2, replace=False)) for _ in range(VECTORS)])
    starts = np.arange(VECTORS + 1, dtype=np.uint32) * np.uint32(2)
    if kind == "ones":
        return Ones(indices.astype(np.uint32), starts)
    return Sparse(values.ravel()[: len(indices)].copy(), indices.astype(np.uint32), starts)


def expansion(kind: str, kernel: Any, scores: int = 1, seed: int = 0) -> KernelModel:
    coefficients = np.random.default_rng(seed + 1).normal(size=(VECTORS, scores))
    return KernelModel(rows_of(kind, seed), coefficients, kernel, FEATURES, 0.125)


def linear(scores: int = 1, seed: int = 0) -> LinearModel:
    return LinearModel(np.random.default_rng(seed).normal(size=(scores, FEATURES)))


def fourier(scores: int = 1) -> FourierModel:
    random = np.random.default_rng(3)
    return FourierModel(random.normal(size=(scores, 8)), random.normal(size=(4, FEATURES)))


def vote(machines: list[Any], kind: str) -> MulticlassModel:
    return combined(machines, PAIRS[kind], 3)


GAUSSIAN, CUBIC = Gaussian(0.3), Polynomial(0.5, 1.0, 3)
#: a model of every kind, and how many classes it has
MODELS: dict[str, tuple[Any, int]] = {
    "linear": (linear(), 2),
    "linear by class": (linear(3), 3),
    "linear ovo": (vote([linear(seed=s) for s in range(3)], "ovo"), 3),
    "linear ovr": (vote([linear(seed=s) for s in range(3)], "ovr"), 3),
    "fourier": (fourier(), 2),
    "linear above a threshold": (with_threshold(linear(), 0.4), 2),
    "fourier above a threshold": (with_threshold(fourier(), -0.2), 2),
    "gaussian above a threshold": (with_threshold(expansion("dense", GAUSSIAN), 0.3), 2),
    "dense gaussian": (expansion("dense", GAUSSIAN), 2),
    "sparse gaussian by class": (expansion("sparse", GAUSSIAN, 3), 3),
    "ones polynomial": (expansion("ones", CUBIC), 2),
    "dense normalized": (expansion("dense", Polynomial(0.5, 1.0, 3, True)), 2),
    "sparse linear kernel": (expansion("sparse", Linear()), 2),
    "dense gaussian ovo": (vote([expansion("dense", GAUSSIAN, seed=s) for s in range(3)], "ovo"), 3),
    "dense gaussian ovr": (vote([expansion("dense", GAUSSIAN, seed=s // 2) for s in range(3)], "ovr"), 3),
}


def saved(name: str, **more: Any) -> SavedModel:
    model, classes = MODELS[name]
    return SavedModel(model, Classes.of(np.array(["a", "b", "c"])[:classes]), FEATURES, **more)


def with_sigmoids(name: str) -> SavedModel:
    scores = 1 if MODELS[name][1] == 2 else 3
    return saved(name, sigmoids=Sigmoids((1.5, 0.7, -2.0)[:scores], (-0.5, 0.1, 0.3)[:scores]))


def raw_rows(n: int = 50, seed: int = 9) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, FEATURES)).astype(np.float32)


TABLE = Table(
    columns=(
        NumberColumn(name="age", shift=40.0, width=12.5, fill=38.0),
        CategoricalColumn(name='sort of */ "work"', categories=("", "self\\", "state")),
        OmittedColumn(name="label"),
        NumberColumn(name="hours", width=100.0),
    ),
    label="label",
)
#: columns that single precision does not tell apart: milliseconds, a constant scaled by noise, numbers beyond 2^31
FAR_TABLE = Table(
    columns=(
        NumberColumn(name="t", shift=1.7e12 + 0.5, width=0.5, fill=1.7e12),
        NumberColumn(name="k", shift=0.09999999999999999, width=1.3877787807814457e-17),
        CategoricalColumn(name="colour", categories=("blue", "red")),
        NumberColumn(name="id", shift=2147483648.5, width=40.0),
    )
)
FAR_STEPS = Vectors(
    features_in=5, multiply_by=3.0, shift=(2.0**40, 1.0, 0.0, 0.0, 7.0), width=(2.0**19, 1e-9, 1.0, 1.0, 3.0)
)


def far_rows(n: int = 60) -> pd.DataFrame:
    random = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "t": (1_700_000_000_000 + random.integers(0, 2, n)).astype(str),
            "k": "0.1",
            "colour": random.choice(["red", "blue", "green"], n),
            "id": (2**31 + random.integers(-50, 50, n)).astype(str),
        }
    )


def far_vectors(n: int = 60) -> np.ndarray:
    random = np.random.default_rng(4)
    steps = random.integers(-3, 4, (n, 5)) * np.array([2.0**18, 2.0**-24, 1.0, 1.0, 1.0])
    return (np.array([2.0**40, 1.0, 0.0, 0.0, 7.0]) + steps) / 3.0


VECTORS_STEPS = Vectors(
    features_in=7, multiply_by=2.0, divide_by=3.0, kept=(0, 2, 3, 5), shift=(0.5, 0.0, -1.0, 2.0),
    width=(1.0, 2.0, 0.5, 4.0), augment=1.0,
)  # fmt: skip

"""Arrays on which compiled code relies: what does not fit is refused before it is read beyond its end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from model_examples import FEATURES, MODELS, PAIRS, expansion
from mpu_bench.core.models import LinearModel
from mpu_bench.core.rows import Rows
from mpu_bench.core.voting import MulticlassModel, SharedExpansions
from mpu_bench.errors import DataError
from mpu_bench.kernels import Gaussian
from mpu_bench.models.classes import Classes
from mpu_bench.models.export.portable import portable
from mpu_bench.models.parts import bytes_of, put_together, taken_apart
from mpu_bench.models.saved import SavedModel


@pytest.mark.parametrize(
    ("name", "array", "change"),
    [
        ("ones polynomial", "vector-indices", lambda a: a + np.uint32(FEATURES)),
        ("sparse gaussian by class", "vector-starts", lambda a: a[::-1].copy()),
        ("sparse gaussian by class", "vector-starts", lambda a: a + np.uint32(1)),
        ("sparse gaussian by class", "vector-values", lambda a: a[:-1]),
        ("sparse gaussian by class", "coefficients", lambda a: a[:-1]),
        ("dense gaussian", "vector-values", lambda a: a[:, :-1]),
        ("dense gaussian", "vector-values", lambda a: a.astype(np.int32)),
        ("dense gaussian", "coefficients", lambda a: a * np.nan),
        ("dense gaussian ovo", "machines", lambda a: a + np.int32(9)),
        ("dense gaussian ovo", "starts", lambda a: a - 1),
        ("dense gaussian ovo", "pairs", lambda a: a + np.int32(9)),
        ("dense gaussian ovo", "pairs", lambda a: a[:-1]),
        ("linear", "weights", lambda a: a[:, :-1]),
        ("fourier", "frequencies", lambda a: a[:-1]),
    ],
)
def test_arrays_that_do_not_fit_are_refused(name: str, array: str, change: Any) -> None:
    model, classes = MODELS[name]
    parts, arrays = taken_apart(model, FEATURES, None)
    with pytest.raises(ValueError, match=array.partition("-")[0]):
        put_together(parts, arrays | {array: change(arrays[array])}, classes)


def test_an_array_too_many_or_too_few_is_refused() -> None:
    parts, arrays = taken_apart(MODELS["linear"][0], FEATURES, None)
    with pytest.raises(ValueError, match="an array 'more' too many"):
        put_together(parts, arrays | {"more": np.zeros(1)}, 2)
    with pytest.raises(ValueError, match="no array 'weights'"):
        put_together(parts, {}, 2)


class Cauchy(NamedTuple):
    """A kernel that somebody has added."""

    gamma: float


class Shifted(LinearModel):
    """A model that scores otherwise than its arrays say."""

    def scores(self, rows: Rows) -> np.ndarray:
        return super().scores(rows) + 1


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (replace(expansion("dense", Gaussian(1.0)), kernel=Cauchy(0.5)), r"kernel Cauchy\(gamma=0.5\)"),
        (replace(MODELS["dense gaussian ovo"][0].machines, kernel=Cauchy(0.5)), r"kernel Cauchy\(gamma=0.5\)"),
        (Shifted(np.ones((1, FEATURES))), "of type Shifted"),
    ],
)
def test_a_model_of_a_kind_of_its_own_is_neither_saved_nor_exported(model: Any, said: str) -> None:
    whole = MulticlassModel(model, PAIRS["ovo"], 3) if isinstance(model, SharedExpansions) else model
    with pytest.raises(DataError, match=f"{said} cannot be saved"):
        taken_apart(whole, FEATURES, None)
    with pytest.raises(DataError, match=f"{said} cannot be exported"):
        portable(SavedModel(whole, Classes.of([0, 1, 2][: 3 if whole is not model else 2]), FEATURES))


def test_the_bytes_of_a_model_are_those_of_its_numbers() -> None:
    assert bytes_of(MODELS["linear"][0], FEATURES) == 8 * FEATURES
    assert bytes_of(object(), FEATURES) is None  # type: ignore[arg-type]

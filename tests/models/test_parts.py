"""Arrays on which compiled code relies: what does not fit is refused before it is read beyond its end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from model_examples import FEATURES, MODELS
from mpu_bench.models.parts import bytes_of, put_together, taken_apart


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
    parts, arrays = taken_apart(MODELS[name][0], FEATURES, None)
    with pytest.raises(ValueError, match=array.partition("-")[0]):
        put_together(parts, arrays | {array: change(arrays[array])})


def test_an_array_too_many_or_too_few_is_refused() -> None:
    parts, arrays = taken_apart(MODELS["linear"][0], FEATURES, None)
    with pytest.raises(ValueError, match="an array 'more' too many"):
        put_together(parts, arrays | {"more": np.zeros(1)})
    with pytest.raises(ValueError, match="no array 'weights'"):
        put_together(parts, {})


def test_the_bytes_of_a_model_are_those_of_its_numbers() -> None:
    assert bytes_of(MODELS["linear"][0], FEATURES) == 8 * FEATURES
    assert bytes_of(object(), FEATURES) is None  # type: ignore[arg-type]

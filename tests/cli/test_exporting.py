"""``mpu-bench export-c``: what it writes and what it says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from model_examples import FEATURES, expansion, raw_rows, saved
from mpu_bench.core.kernels import Gaussian
from mpu_bench.models.classes import Classes
from mpu_bench.models.export import compiler
from mpu_bench.models.saved import SavedModel

needs_compiler = pytest.mark.skipif(compiler.find_compiler() is None, reason="there is no C compiler on the PATH")


@pytest.fixture
def models(place: Path) -> Path:
    saved("linear").save(place / "linear.mpu")
    SavedModel(expansion("dense", Gaussian(0.3)), Classes.of([-1, 1]), FEATURES).save(place / "kernel.mpu")
    np.savetxt(place / "rows.csv", raw_rows(), delimiter=",")
    return place


@needs_compiler
def test_it_tells_how_many_labels_differ_and_what_it_takes(called, models: Path) -> None:
    code, said = called("export-c", "linear.mpu", "--check", "rows.csv", "--out", "linear.c")
    assert code == 0
    assert "compared: 50 raw rows; labels that differ: 0 (100.00% agree); largest difference of a score: " in said
    assert "written: linear.c: int linear_predict(row) and void linear_scores(row, scores)" in said
    assert "flash: 36 bytes of constants, " in said
    assert "RAM: 28 bytes of arrays on the stack" in said
    assert "a prediction: 5 multiply-adds\n" in said
    assert "is there already" in called("export-c", "linear.mpu", "--out", "linear.c")[1]
    code, said = called("export-c", "kernel.mpu", "--check", "rows.csv", "--fixed-point", "--name", "tiny")
    assert code == 0
    assert "int tiny_predict(const int16_t *row)" in said
    assert "7 exponentials" in said


@needs_compiler
def test_without_rows_the_vectors_of_the_model_are_compared(called, models: Path) -> None:
    said = called("export-c", "kernel.mpu", "--out", "kernel.c")[1]
    assert "compared: 7 of the model's own vectors; labels that differ: 0" in said
    assert "name a file of raw rows with --check" in said


def test_where_nothing_is_compared_it_says_so(called, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = called("export-c", "linear.mpu", "--out", "linear.c")[1]
    assert "nothing was compared: there are no rows; name a file with --check DATA" in said
    monkeypatch.setenv("PATH", "")
    code, said = called("export-c", "linear.mpu", "--check", "rows.csv", "--out", "linear.c", "--force")
    assert code == 0
    assert "nothing was compared: there is no C compiler (cc, gcc or clang) on the PATH" in said


def test_fixed_point_needs_rows(called, models: Path) -> None:
    code, said = called("export-c", "linear.mpu", "--fixed-point")
    assert code == 2
    assert "--fixed-point needs rows, to know the ranges of the columns: name a file with --check DATA" in said


def test_the_width_of_integers_needs_integers(called, models: Path) -> None:
    code, said = called("export-c", "linear.mpu", "--bits", "8")
    assert (code, "--fixed-point" in said) == (2, True)

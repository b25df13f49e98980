"""``mpu-bench export-c``: what it writes and what it says."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from model_examples import FEATURES, expansion, raw_rows, saved
from mpu_bench.core.models import LinearModel
from mpu_bench.core.rows import Rows, count
from mpu_bench.kernels import Gaussian
from mpu_bench.models.classes import Classes
from mpu_bench.models.export import compiler
from mpu_bench.models.export.device import PROGRAMS
from mpu_bench.models.export.footprint import Footprint
from mpu_bench.models.export.portable import Portable, dense_features
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
    assert "flash: 36 bytes of constants; RAM: 28 bytes of stack arrays" in said
    assert "per prediction: 5 multiply-adds; for flash, RAM and time on a device: --device cortex-m0\n" in said
    assert "already exists" in called("export-c", "linear.mpu", "--out", "linear.c")[1]
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
    assert "labels not compared: no rows; name a file with --check DATA" in said
    monkeypatch.setenv("PATH", "")
    code, said = called("export-c", "linear.mpu", "--check", "rows.csv", "--out", "linear.c", "--force")
    assert code == 0
    assert "labels not compared: no C compiler (cc, gcc or clang) on the PATH" in said


def test_fixed_point_needs_rows(called, models: Path) -> None:
    code, said = called("export-c", "linear.mpu", "--fixed-point")
    assert code == 2
    assert "--fixed-point needs rows to find the range of each column: name a file with --check DATA" in said


def test_the_width_of_integers_needs_integers(called, models: Path) -> None:
    code, said = called("export-c", "linear.mpu", "--bits", "8")
    assert (code, "--fixed-point" in said) == (2, True)


@needs_compiler
def test_what_does_not_answer_alike_is_not_written(called, models: Path) -> None:
    random = np.random.default_rng(0)
    close = LinearModel(np.array([[1.0, -1.0, 0.002, 0.0, 0.0]]))
    SavedModel(close, Classes.of([0, 1]), FEATURES).save(models / "close.mpu")
    rows = np.column_stack([random.normal(size=200)] * 2 + [random.normal(size=(200, 3))])
    np.savetxt(models / "close.csv", rows, delimiter=",")
    for out in ((), ("--out", "close.c")):
        code, said = called("export-c", "close.mpu", "--check", "close.csv", "--fixed-point", "--bits", "8", *out)
        assert code == 1
        assert "nothing written: fewer than 99% of the labels agree" in said
        assert "close_predict" not in said
    assert not (models / "close.c").exists()


@needs_compiler
def test_labels_that_are_no_unicode_are_exported(called, models: Path) -> None:
    classes = Classes.of(np.array(["\ud83d", "b"], object))
    SavedModel(saved("linear").model, classes, FEATURES).save(models / "half.mpu")
    assert called("export-c", "half.mpu", "--check", "rows.csv", "--out", "half.c")[0] == 0
    assert r"\134ud83d" in (models / "half.c").read_text()
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    code, said = called("export-onnx", "half.mpu", "--check", "rows.csv", "--out", "half.onnx")
    assert (code, "labels that differ: 0 " in said) == (0, True)


def test_an_onnx_file_that_does_not_answer_alike_is_not_written(called, models: Path, monkeypatch) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    wrong = np.array(["a"] * 50), np.zeros((50, 1), np.float32)
    monkeypatch.setattr("mpu_bench.models.export.onnx_graph.runtime_answers", lambda *_: wrong)
    code, said = called("export-onnx", "linear.mpu", "--check", "rows.csv", "--out", "linear.onnx")
    assert (code, "nothing written: fewer than 99%" in said) == (1, True)
    assert not (models / "linear.onnx").exists()


def test_what_is_known_to_be_too_coarse_is_written_only_if_rows_show_that_it_agrees(called, models: Path) -> None:
    far = LinearModel(np.array([[1.0, 1.0, 0.0, 0.0, 0.0, -2e9]]))
    SavedModel(far, Classes.of([0, 1]), FEATURES + 1, constant=1.0).save(models / "far.mpu")
    for verb, out in (("export-c", "far.c"), ("export-onnx", "far.onnx")):
        code, said = called(verb, "far.mpu", "--out", out)
        assert code == 2
        assert "nothing written: the intercept -2e+09 cancels against columns far from zero" in said
        assert "--check DATA" in said
        assert not (models / out).exists()
    if compiler.find_compiler() is not None:
        for offset, expected in ((1e9, 1), (5.0, 0)):
            np.savetxt(models / "far.csv", raw_rows(200).astype(float) + offset, delimiter=",")
            assert called("export-c", "far.mpu", "--check", "far.csv", "--out", "far.c")[0] == expected
            assert (models / "far.c").exists() == (expected == 0)


@needs_compiler
def test_rows_beyond_single_precision_are_one_message(called, models: Path) -> None:
    np.savetxt(models / "huge.csv", raw_rows().astype(float) * 1e39, delimiter=",")
    for verb, *options in (["export-c"], ["export-c", "--fixed-point"], ["export-onnx", "--out", "m.onnx"]):
        code, said = called(verb, "linear.mpu", "--check", "huge.csv", *options)
        assert (code, said.count("too large for float32"), said.count("\n")) == (2, 1, 1)


@needs_compiler
def test_it_says_where_not_all_rows_are_compared(called, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mpu_bench.cli.exporting._MAX_ROWS", 50)
    assert "compared: 50 raw rows;" in called("export-c", "linear.mpu", "--check", "rows.csv")[1]
    monkeypatch.setattr("mpu_bench.cli.exporting._MAX_ROWS", 20)
    said = called("export-c", "linear.mpu", "--check", "rows.csv")[1]
    assert "compared: the first 20 raw rows (the limit);" in said


def test_rows_beyond_the_limit_never_become_dense(called, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # 4,096 rows of 300,000 columns are 10 GB, of which 66 rows would be compared
    lengths: list[int] = []

    def counted(rows: Rows, features: int) -> NDArray[np.float32]:
        lengths.append(count(rows))
        return dense_features(rows, features)

    def numbers(model: Portable, raw: Any) -> NDArray[np.floating[Any]]:
        lengths.append(raw.shape[0])
        return original(model, raw)

    original = Portable.numbers
    monkeypatch.setattr("mpu_bench.cli.exporting.dense_features", counted)
    monkeypatch.setattr(Portable, "numbers", numbers)
    monkeypatch.setattr("mpu_bench.cli.exporting._MAX_ROWS", 20)
    assert called("export-c", "linear.mpu", "--check", "rows.csv")[0] == 0
    assert lengths == [20, 20]


@needs_compiler
def test_a_test_program_a_makefile_and_a_sketch_come_with_the_file(called, models: Path) -> None:
    code, said = called("export-c", "linear.mpu", "--check", "rows.csv", "--out", "it's $1.c", "--with-test")
    assert code == 0
    assert "also written: it's $1_test.c, it's $1.mk, it's $1.ino" in said
    if shutil.which("make") is None:
        return
    done = subprocess.run(["make", "-f", "it's $1.mk", "test"], cwd=models, capture_output=True, text=True, check=True)
    assert "50 rows; labels that differ from Python's: 0\n" in done.stdout
    if all(map(shutil.which, PROGRAMS)):
        made = ["make", "-f", "it's $1.mk", "cortex-m0", "cortex-m4"]
        done = subprocess.run(made, cwd=models, capture_output=True, text=True, check=True)
        assert done.stdout.count("50 rows; labels that differ from Python's: 0; bytes of stack: ") == 2
    called("export-c", "linear.mpu", "--check", "rows.csv", "--out", "other.c", "--with-test")
    (models / "other.c").unlink()
    code, said = called("export-c", "linear.mpu", "--check", "rows.csv", "--out", "other.c", "--with-test")
    assert (code, "other_test.c: already exists" in said) == (2, True)
    assert not (models / "other.c").exists()


def test_what_no_file_can_replace_is_not_offered_to_force(called, models: Path) -> None:
    (models / "folder").mkdir()
    for verb, *rows in (["export-c"], ["export-onnx"], ["predict", "rows.csv"]):
        code, said = called(verb, "linear.mpu", *rows, "--out", "folder")
        assert (code, "folder: already exists, and is no file; name a file" in said) == (2, True), said


def test_the_makefile_needs_a_file_that_compilers_know(called, models: Path) -> None:
    for name in ("linear", "linear.mk", "linear.h"):
        code, said = called("export-c", "linear.mpu", "--check", "rows.csv", "--out", name, "--with-test")
        assert (code, f"--out {name}: must end in .c" in said) == (2, True), said
        assert not (models / name).exists()


@needs_compiler
def test_of_the_files_of_an_export_all_are_written_or_none(called, models: Path) -> None:
    (models / "whole.ino").mkdir()
    given = ("--check", "rows.csv", "--out", "whole.c", "--with-test", "--force")
    code, said = called("export-c", "linear.mpu", *given)
    assert (code, "whole.c: cannot be written: whole.ino is not a regular file" in said) == (2, True), said
    assert {path.name for path in models.glob("*whole*")} == {"whole.ino"}


ARDUINO = """
#include <stdio.h>
#include <stdlib.h>
struct Line {
  void begin(long) {}
  int read() { int c = getchar(); if (c == EOF) exit(0); return c; }
  void println(int label) { printf("%d\\n", label); }
  void println(const char *text) { puts(text); }
};
static Line Serial;
"""


@needs_compiler
@pytest.mark.skipif(shutil.which("c++") is None, reason="there is no C++ compiler on the PATH")
@pytest.mark.parametrize("fixed", [False, True])
def test_the_sketch_answers_rows_that_come_over_the_serial_line(called, models: Path, fixed: bool) -> None:
    given = ("--with-test", "--check", "rows.csv", *(["--fixed-point"] if fixed else []))
    assert called("export-c", "kernel.mpu", "--out", "kernel.c", *given)[0] == 0
    sketch, main = (models / "kernel.ino").read_text("ascii"), "int main() { setup(); for (;;) loop(); }\n"
    (models / "board.cpp").write_text(f"{ARDUINO}{sketch}{main}", encoding="ascii")
    for command in (
        "cc -c -DARDUINO kernel.c kernel_test.c",
        "c++ -Wall -Werror board.cpp kernel.o kernel_test.o -lm -o board",
    ):
        subprocess.run(command.split(), cwd=models, check=True)
    program = (models / "kernel_test.c").read_text("ascii")
    rows = re.findall(r"^  \{(.*)\},?$", program, re.MULTILINE)
    labels = re.search(r"labels\[ROWS\] = \{(.*)\}", program)[1].split(", ")
    assert len(rows) == len(labels) == 50
    sent = [row.replace("f", "") for row in rows]
    wrong = ["1, 2, 3, 4", f"{sent[0]}, 1", "1, x, 3, 4, 5", "1,,3,4,5", "", f"1, 2, 3, 4, {'0' * 40}1"]
    wrong += ["1, 2, 3, 4, 32768", "1, 2, 3, 4, 5.5"] if fixed else []
    done = subprocess.run(
        ["./board"], cwd=models, input="\r\n".join([*wrong, *sent, ""]), capture_output=True, text=True, check=True
    )
    answers = done.stdout.splitlines()
    assert answers[len(wrong) :] == labels
    assert set(answers[: len(wrong)]) == {f"not a row: send 5 {'whole ' * fixed}numbers with commas between"}


def test_a_test_program_needs_raw_rows_and_a_file(called, models: Path) -> None:
    for given in (("--out", "kernel.c"), ("--check", "rows.csv")):
        code, said = called("export-c", "kernel.mpu", "--with-test", *given)
        assert (code, "--with-test needs --out FILE, and rows to test it on" in said) == (2, True)


def test_what_a_device_takes_is_measured_or_estimated(called, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if all(map(shutil.which, PROGRAMS)):
        given = ("export-c", "kernel.mpu", "--check", "rows.csv", "--out", "kernel.c", "--device", "cortex-m0")
        code, said = called(*given)
        assert code == 0
        assert "cortex-m0: 5," in said
        assert "bytes of flash, " in said
        assert "ms (1.5 cycles an instruction at 16 MHz, an estimate)" in said
        assert "bytes by arm-none-eabi-size, stack and instructions counted in qemu (microbit)" in said
        assert "cortex-m0: 50 of 50 labels agree on the device" in said
        assert "--device" not in said  # advice that was followed
        said = called("export-c", "linear.mpu", "--out", "linear.c", "--device", "cortex-m4")[1]
        assert "qemu (mps2-an386)" in said
        assert "labels agree on the device" not in said  # of rows that were made up
    monkeypatch.setenv("PATH", "")
    code, said = called("export-c", "linear.mpu", "--check", "rows.csv", "--device", "cortex-m0")
    assert code == 0
    assert "cortex-m0: all of this is an estimate from a table of measured models (not installed: arm-none" in said
    code, said = called("export-c", "linear.mpu", "--device", "z80")
    assert (code, "--device z80: no such device; choose from cortex-m0, cortex-m4" in said) == (2, True)


def test_what_gives_other_labels_on_a_device_is_not_written(called, models: Path, monkeypatch) -> None:
    wrong = Footprint(1000, 100, 1000, rows=50, differ=2)
    monkeypatch.setattr("mpu_bench.cli.exporting.footprint", lambda *_, **__: wrong)
    code, said = called("export-c", "linear.mpu", "--check", "rows.csv", "--out", "linear.c", "--device", "cortex-m0")
    assert (code, "cortex-m0: 48 of 50 labels agree on the device" in said) == (1, True)
    assert not (models / "linear.c").exists()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("export-c linear.mpu --out linear.mpu --force", "linear.mpu: is read here, and would be overwritten"),
        ("export-c linear.mpu --check rows.csv --out ./rows.csv --force", "rows.csv: is read here"),
        ("export-onnx linear.mpu --out linear.mpu --force", "linear.mpu: is read here"),
        ("predict linear.mpu rows.csv --out rows.csv --force", "rows.csv: is read here"),
        ("export-c linear.mpu --check rows.csv --out it.mk --with-test", "--out it.mk: must end in .c"),
    ],
)
def test_what_is_read_is_not_overwritten(called, models: Path, command: str, words: str) -> None:
    before = {path: path.read_bytes() for path in models.iterdir()}
    code, said = called(*command.split())
    assert (code, words in said) == (2, True), said
    assert {path: path.read_bytes() for path in models.iterdir()} == before

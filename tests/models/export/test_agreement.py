"""What C files answer: in single precision what Python does, in fixed point nearly always."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from model_examples import (
    FAR_STEPS,
    FAR_TABLE,
    FEATURES,
    GAUSSIAN,
    MODELS,
    PAIRS,
    TABLE,
    VECTORS,
    VECTORS_STEPS,
    expansion,
    far_rows,
    far_vectors,
    linear,
    raw_rows,
    saved,
    with_sigmoids,
)
from mpu_bench.core.models import KernelModel, LinearModel
from mpu_bench.core.rows import Dense
from mpu_bench.core.voting import MulticlassModel, combined
from mpu_bench.errors import DataError
from mpu_bench.kernels import Gaussian, Polynomial
from mpu_bench.models.classes import Classes
from mpu_bench.models.export import compiler
from mpu_bench.models.export.agreement import Agreement, RowsAtHand, compared, sourced
from mpu_bench.models.export.c_fixed import fixed_point, fixed_source
from mpu_bench.models.export.c_fixed_machines import FixedPoint
from mpu_bench.models.export.c_float import Source, float_source
from mpu_bench.models.export.c_test import program_text
from mpu_bench.models.export.device import DEVICES, PROGRAMS
from mpu_bench.models.export.portable import dense_features, portable, too_coarse
from mpu_bench.models.probabilities import Sigmoids
from mpu_bench.models.saved import SavedModel
from mpu_bench.preprocessing import CategoricalColumn, NumberColumn, Table, Vectors

pytestmark = pytest.mark.skipif(compiler.find_compiler() is None, reason="there is no C compiler on the PATH")

UNUSUAL = np.array(['say "no" */ %s\\', "??/ \n ü"])


def at_hand(model: SavedModel, raw: Any, prepared: bool = False) -> RowsAtHand:
    rows = model.rows(raw)
    numbers = None if prepared else portable(model).numbers(raw)
    return RowsAtHand(numbers, dense_features(rows, model.features), model.model.scores(rows))


def in_float(model: SavedModel, raw: Any, prepared: bool = False) -> Agreement:
    source = float_source(portable(model), "a model")
    compiles_without_warning(source)
    return compared(portable(model), source, at_hand(model, raw, prepared))


def in_integers(model: SavedModel, raw: Any, bits: int = 16, prepared: bool = False) -> Agreement:
    rows, exported = at_hand(model, raw, prepared), portable(model)
    how = fixed_point(exported, rows.features, bits)
    source = fixed_source(exported, how, rows.features, "a model")
    compiles_without_warning(source)
    code = source.text.partition("*/")[2]
    assert "float" not in code
    assert "double" not in code
    return compared(exported, source, rows, how)


def compiles_without_warning(source: Source) -> None:
    command = [str(compiler.find_compiler()), "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-c", "-xc", "-"]
    done = subprocess.run([*command, "-o", "/dev/null"], input=source.text.encode(), capture_output=True, check=False)
    assert not done.returncode, done.stderr.decode()
    included = [line for line in source.text.splitlines() if line.startswith("#include")]
    assert set(included) <= {"#include <math.h>", "#include <stdint.h>"}


@pytest.mark.parametrize("name", MODELS)
def test_single_precision_answers_as_python_does(name: str) -> None:
    found = in_float(saved(name), raw_rows(200))
    assert found.rows == 200
    assert not found.differ
    assert found.largest_difference is not None
    assert found.largest_difference < 2e-5


@pytest.mark.parametrize("name", [name for name in MODELS if "normalized" not in name])
def test_fixed_point_answers_as_python_does_nearly_always(name: str) -> None:
    assert in_integers(saved(name), raw_rows(200)).share > 0.99
    assert in_integers(saved(name), raw_rows(200), bits=8).share > 0.9


def test_prepared_rows_are_compared_from_the_features_on() -> None:
    assert not in_float(saved("dense gaussian ovo"), raw_rows(), prepared=True).differ
    assert in_integers(saved("dense gaussian ovo"), raw_rows(), prepared=True).share > 0.95


def frame(n: int = 150) -> pd.DataFrame:
    random = np.random.default_rng(5)
    ages = [str(age) if age else "?" for age in random.integers(0, 90, n)]
    words = random.choice(["", "self\\", "state", "unheard of"], n)
    return pd.DataFrame({"age": ages, 'sort of */ "work"': words, "hours": random.integers(0, 99, n).astype(str)})


def test_steps_on_tables_are_in_the_file() -> None:
    model = SavedModel(linear(), Classes.of(UNUSUAL), FEATURES, TABLE)
    assert not in_float(model, frame()).differ
    assert in_integers(model, frame()).share > 0.99
    text = float_source(portable(model), "m").text
    assert "[0] age: a number, NaN if missing, which counts as 38" in text
    assert "m_sort_of_work_self = 1" in text
    augmented = SavedModel(linear(), Classes.of([0, 1]), 5, TABLE.model_copy(update={"columns": TABLE.columns[1:]}))
    more = augmented.preprocessing.model_copy(update={"augment": 1.0})  # type: ignore[union-attr]
    augmented = SavedModel(linear(), Classes.of([0, 1]), 5, more)
    rows = frame().drop(columns="age")
    assert not in_float(augmented, rows).differ
    assert in_integers(augmented, rows).share > 0.99


def test_steps_on_vectors_are_in_the_file() -> None:
    X = np.random.default_rng(1).normal(size=(150, 7)).astype(np.float32) * 3
    for steps in (VECTORS_STEPS, VECTORS_STEPS.model_copy(update={"unit_rows": True})):
        model = SavedModel(linear(), Classes.of([0, 1]), FEATURES, steps)
        assert not in_float(model, X).differ
    model = SavedModel(linear(), Classes.of([0, 1]), FEATURES, VECTORS_STEPS)
    assert in_integers(model, X).share > 0.99


def far_models() -> list[tuple[SavedModel, Any]]:
    weights = LinearModel(np.array([[1.0, 0.4, 0.2, -0.3, 1.5], [-1.0, 0.3, 0.1, 0.2, -1.1]]))
    gaussian = expansion("dense", Gaussian(0.3))
    return [
        (SavedModel(model, Classes.of([0, 1]), FEATURES, steps), raw)
        for model in (weights, gaussian)
        for steps, raw in ((FAR_TABLE, far_rows()), (FAR_STEPS, far_vectors()))
    ]


@pytest.mark.parametrize("place", range(4))
def test_columns_far_from_zero_are_told_apart(place: int) -> None:
    model, raw = far_models()[place]
    assert len(set(model.predict(raw).tolist())) == 2
    found = in_float(model, raw)
    assert (found.rows, found.differ) == (60, 0)
    assert found.largest_difference is not None
    assert found.largest_difference < 2e-5
    text = float_source(portable(model), "m").text
    assert "int m_predict(const double *row)" in text
    assert "doubles, in this order:" in text
    with pytest.raises(DataError, match=r"fixed point: .*column '(t|id|column 1)'"):
        in_integers(model, raw)


def test_a_column_that_integers_do_not_tell_apart_is_named() -> None:
    model = SavedModel(linear(), Classes.of([0, 1]), FEATURES, columns=tuple("abcde"))
    raw = raw_rows() + np.array([0, 0, 1e5, 0, 0], np.float32)
    with pytest.raises(DataError, match=r"column 'a' lies far from zero, or beside larger ones: .* export floats"):
        in_integers(model, raw)
    raw[:, 2] = 1e5  # one value has none to be told from
    raw[:, [0, 1, 3, 4]] *= 1e4
    assert in_integers(model, raw).rows == 50


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (LinearModel(np.array([[0.5, 0.5, -3e6]])), "the intercept -3e\\+06 cancels against columns far from zero"),
        (LinearModel(np.array([[2e5, 1e5, -3e6]])), ""),
        (LinearModel(np.array([[2e-50, 1e-50, 0.0]])), "weights of 2e-50 at most, which single precision rounds"),
        (
            KernelModel(Dense(np.full((2, 3), 1.0)), np.full((2, 1), 1e-41), Gaussian(0.5), 3),
            "coefficients of 1e-41 at most",
        ),
        (
            KernelModel(Dense(np.full((2, 3), 2.0**30)), np.ones((2, 1)), Gaussian(0.5), 3),
            "the column 'column 1' is ",
        ),
        (KernelModel(Dense(np.full((2, 3), 50.0)), np.ones((2, 1)), Gaussian(0.5), 3), ""),
        (KernelModel(Dense(np.full((2, 3), 1e4)), np.ones((2, 1)), Polynomial(1.0, 1.0, 2), 3), "values of the kernel"),
        (KernelModel(Dense(np.full((2, 3), 1.0)), np.ones((2, 1)), Polynomial(1.0, 1.0, 2), 3), ""),
    ],
)
def test_what_single_precision_is_too_coarse_for_is_known_without_rows(model: Any, said: str) -> None:
    found = too_coarse(portable(SavedModel(model, Classes.of([0, 1]), 3, constant=1.0)))
    assert bool(found) == bool(said)
    assert re.match(said, found)
    assert not said or "scale the features before training" in found


def test_a_constant_is_in_the_file() -> None:
    model = SavedModel(expansion("dense", Gaussian(0.3)), Classes.of([0, 1]), FEATURES, constant=1.0)
    assert not in_float(model, raw_rows()[:, :-1]).differ
    assert in_integers(model, raw_rows()[:, :-1]).share > 0.95


@pytest.mark.parametrize("factor", [1e-6, 1e-3, 1e4])
@pytest.mark.parametrize("kind", ["linear", "gaussian", "polynomial"])
def test_fixed_point_holds_features_of_any_size(kind: str, factor: float) -> None:
    kernels = {"gaussian": Gaussian(0.3 / factor**2), "polynomial": Polynomial(0.5 / factor**2, 1.0, 3)}
    if kind == "linear":
        model = SavedModel(linear(), Classes.of([0, 1]), FEATURES)
    else:
        model = SavedModel(expansion("dense", kernels[kind]), Classes.of([0, 1]), FEATURES)
        values: Any = model.model.vectors[0]  # type: ignore[attr-defined]
        values *= factor
    assert in_integers(model, raw_rows(200) * np.float32(factor)).share > 0.99


def test_no_sum_overflows_beyond_the_rows_at_hand(tmp_path: Path) -> None:
    """Whatever a row holds: the answer is that of features that are cut off."""
    model = saved("linear")
    exported, near = portable(model), at_hand(model, raw_rows())
    how = fixed_point(exported, near.features)
    source = fixed_source(exported, how, near.features, "m")
    far = np.where(raw_rows(100, 3) > 0, 32767, -32767).astype(np.int16)
    expected = linear().weights @ far.T / 2.0**how.feature_power
    labels, _ = compiler.answers(source, far, 1, 1, tmp_path)
    assert (labels == (expected[0] > 0)).all()


def test_what_integers_cannot_do_is_refused() -> None:
    steps = VECTORS_STEPS.model_copy(update={"unit_rows": True})
    cases = {
        "divided by their norms": SavedModel(linear(), Classes.of([0, 1]), FEATURES, steps),
        "square roots": saved("dense normalized"),
        "gamma is too large": SavedModel(expansion("dense", Gaussian(1e12)), Classes.of([0, 1]), FEATURES),
    }
    for message, model in cases.items():
        with pytest.raises(DataError, match=f"fixed point: .*{message}"):
            in_integers(model, np.ones((3, 7 if model.preprocessing else FEATURES), np.float32))
    with pytest.raises(DataError, match=r"numbers up to .* cannot be held; scale the features"):
        in_integers(saved("linear"), raw_rows() * np.float32(1e-9))


def test_numbers_beyond_single_precision_are_refused() -> None:
    model = linear()
    model.weights[0, 0] = 1e300
    with pytest.raises(DataError, match="beyond the range of single precision"):
        float_source(portable(SavedModel(model, Classes.of([0, 1]), FEATURES)), "m")


def test_a_folder_in_which_no_program_may_be_run_is_told_with_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: Any, **_options: Any) -> None:
        raise PermissionError(13, "Permission denied")  # of /tmp mounted noexec

    monkeypatch.setattr(subprocess, "run", refuse)
    told = "program cannot be run: Permission denied; name a folder in which programs may be run by TMPDIR"
    with pytest.raises(DataError, match=told):
        compiler.called(["/tmp/x/program"])


def test_sizes_are_told() -> None:
    source = float_source(portable(saved("linear")), "m")
    assert source.constant_bytes == 4 * (FEATURES + 1) + len("a") + len("b") + 2 + 2 * 4
    assert source.counts == {"multiply_adds": FEATURES}
    near = at_hand(saved("dense gaussian"), raw_rows())
    gaussian, _ = sourced(portable(saved("dense gaussian")), "m", near, 8)
    numbers = VECTORS * FEATURES + VECTORS + 4  # of 8 bits, with a bias; then labels, powers and a table
    assert gaussian.constant_bytes == numbers + 2 * 2 + 2 * 4 + FEATURES + 4 * 65


@pytest.mark.parametrize("kind", ["double", "int32_t"])
def test_the_macro_makes_the_integers_that_are_compared(tmp_path: Path, kind: str) -> None:
    how = FixedPoint(16, 127, 0, (3, 0, -1, -3))
    source, _ = sourced(portable(saved("linear")), "m", at_hand(saved("linear"), raw_rows()), 16)
    macro = re.search(r"#define M_FIXED.*?\n\n", source.text, re.DOTALL)
    assert macro
    (tmp_path / "it.c").write_text(
        f"#include <stdint.h>\n#include <stdio.h>\n{macro[0]}int main(void) {{\n  {kind} x;\n  int power = 3;\n"
        f"  while (fread(&x, sizeof x, 1, stdin)) {{\n    int16_t y = M_FIXED(x, power);\n"
        "    fwrite(&y, 2, 1, stdout);\n    power = power == 3 ? 0 : power == -1 ? -3 : power == 0 ? -1 : 3;\n  }\n"
        "  return 0;\n}\n"
    )
    compiler.called(["cc", "-std=c99", "-o", str(tmp_path / "it"), str(tmp_path / "it.c")])
    rows = np.random.default_rng(0).normal(size=(200, 4)) * [9e2, 5e3, 1e4, 4e4]
    rows = np.rint(rows).astype(np.int32) if kind == "int32_t" else rows
    answers = compiler.called([str(tmp_path / "it")], rows.tobytes())
    assert (np.frombuffer(answers, np.int16).reshape(rows.shape) == how.rows(rows.astype(float))).all()


def answers_of_c(source: Source, model: SavedModel, rows: Any, number: str, folder: Path) -> Any:
    """Compile a file, and return the numbers that its function of probabilities writes for rows, shape (n, c)."""
    c, row = len(model.classes), "int16_t" if source.input_scale else "float"
    (folder / "it.c").write_text(source.text)
    (folder / "main.c").write_text(f"""#include <stdint.h>
#include <stdio.h>
void it_probabilities(const {row} *row, {number} *probabilities);
int main(void) {{
  {row} row[{FEATURES}];
  {number} p[{c}];
  while (fread(row, sizeof row, 1, stdin)) {{ it_probabilities(row, p); fwrite(p, sizeof p, 1, stdout); }}
  return 0;
}}""")
    files = [str(folder / each) for each in ("it.c", "main.c")]
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-o", str(folder / "it")]
    compiler.called(["cc", *flags, *files, *(["-lm"] if "math.h" in source.text and not model.model.linear else [])])
    kind = {"float": np.float32, "uint16_t": np.uint16}[number]
    return np.frombuffer(compiler.called([str(folder / "it")], rows.tobytes()), kind).reshape(-1, c)


@pytest.mark.parametrize("name", ["linear", "linear by class", "dense gaussian ovo"])
def test_probabilities_are_those_of_python(name: str, tmp_path: Path) -> None:
    """Also where a sigmoid is nearly 0 or 1; a linear model needs no library of mathematics."""
    model = with_sigmoids(name)
    raw = np.concatenate([raw_rows(), 1000 * raw_rows()[:5]])
    found = answers_of_c(float_source(portable(model), "it"), model, raw, "float", tmp_path)
    np.testing.assert_allclose(found, model.predict_proba(raw), atol=1e-4)


@pytest.mark.parametrize("name", ["linear", "linear by class", "fourier", "dense gaussian ovo"])
@pytest.mark.parametrize("steep", [1.0, 4.0])
def test_integers_have_the_probabilities_of_python(name: str, steep: float, tmp_path: Path) -> None:
    """Here, and to the bit the same on a Cortex-M0, where its programs are installed."""
    model = with_sigmoids(name)
    assert model.sigmoids is not None
    slopes = tuple(steep * each for each in model.sigmoids.slopes)
    model = replace(model, sigmoids=Sigmoids(slopes, model.sigmoids.intercepts))
    raw, exported = raw_rows(), portable(model)
    rows = at_hand(model, raw)
    how = fixed_point(exported, rows.features)
    source = fixed_source(exported, how, rows.features, "it")
    compiles_without_warning(source)
    assert "float" not in source.text.partition("*/")[2]
    given = how.rows(exported.numbers(raw))
    found = answers_of_c(source, model, given, "uint16_t", tmp_path)
    apart = np.abs(found / 32768 - model.predict_proba(raw))
    assert np.median(apart) < 0.001
    assert np.quantile(apart, 0.95) < 0.01 * steep
    if any(shutil.which(program) is None for program in PROGRAMS):
        return
    first = f"""
int it_first(const int16_t *row) {{ uint16_t p[{len(model.classes)}]; it_probabilities(row, p); return p[0]; }}
"""
    renamed = program_text(source, given, found[:, 0]).replace("PREDICT it_predict", "PREDICT it_first")
    files = [str(tmp_path / each) for each in ("model.c", "test.c")]
    for file, text in zip(files, (source.text + first, renamed), strict=True):
        Path(file).write_text(text)
    device, program = DEVICES["cortex-m0"], str(tmp_path / "test.elf")
    compiler.called(device.build(files, program))
    assert b"that differ from Python's: 0;" in compiler.called(device.emulate(program), codes=(0, 1))


@pytest.mark.parametrize("width", [1e-45, 1e-35, 1e35, 1e120])
def test_columns_of_tiny_and_of_huge_numbers_are_told_apart(width: float) -> None:
    """Single precision has no 1e-46 and no 1e39, and few digits near them."""
    table = Table(columns=tuple(NumberColumn(name=name, shift=width, width=width) for name in "abcde"))
    model = SavedModel(linear(), Classes.of(UNUSUAL), FEATURES, table)
    raw = pd.DataFrame(width * (1 + raw_rows(100).astype(np.float64)), columns=list("abcde"))
    found = in_float(model, raw)
    assert not found.differ
    assert found.largest_difference is not None
    assert found.largest_difference < 2e-5
    with pytest.raises(DataError, match="cannot be held"):
        in_integers(model, raw)


def test_a_word_that_no_row_at_hand_has_is_one() -> None:
    columns = (NumberColumn(name="a", width=100.0), CategoricalColumn(name="b", categories=("yes", "no")))
    model = SavedModel(LinearModel(np.array([[1.0, 4.0, -3.0]])), Classes.of(UNUSUAL), 3, Table(columns=columns))
    few = at_hand(model, pd.DataFrame({"a": [10.0, -9.0], "b": ["unheard of", "other"]}))
    exported = portable(model)
    how = fixed_point(exported, few.features)
    source = fixed_source(exported, how, few.features, "it")
    raw = pd.DataFrame({"a": [-20.0, 20.0], "b": ["yes", "no"]})
    assert not compared(exported, source, at_hand(model, raw), how).differ


def test_a_fill_that_no_row_at_hand_has_is_held() -> None:
    columns = (NumberColumn(name="a", fill=-100.0), NumberColumn(name="b"), NumberColumn(name="c", shift=5.0, fill=9.0))
    model = SavedModel(LinearModel(np.array([[1.0, 60.0, 1.0]])), Classes.of(UNUSUAL), 3, Table(columns=columns))
    few = at_hand(model, pd.DataFrame({"a": [-1.0, 1.0], "b": [-1.0, 2.0], "c": [4.0, 6.0]}))
    exported = portable(model)
    how = fixed_point(exported, few.features)
    source = fixed_source(exported, how, few.features, "it")
    raw = pd.DataFrame({"a": [np.nan, np.nan, 1.0], "b": [1.5, 1.8, -0.04], "c": [5.0, np.nan, np.nan]})
    assert not compared(exported, source, at_hand(model, raw), how).differ


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_rows_of_any_size_get_unit_length(size: float) -> None:
    """Single precision has no square of 1e-30 and none of 1e30."""
    raw = np.concatenate([raw_rows(), np.zeros((1, FEATURES), np.float32)]).astype(np.float64) * size
    numbers = tuple(NumberColumn(name=name) for name in "abcde")
    for steps, rows in (
        (Vectors(features_in=FEATURES, unit_rows=True), raw),
        (Table(columns=numbers, unit_rows=True), pd.DataFrame(raw, columns=list("abcde"))),
    ):
        found = in_float(SavedModel(linear(), Classes.of([0, 1]), FEATURES, steps), rows)
        assert not found.differ
        assert found.largest_difference is not None
        assert found.largest_difference < 2e-5


def test_vectors_that_are_scaled_without_a_shift_are_told_apart() -> None:
    """Single precision has no width of 1e39, and few digits near 1e-42."""
    widths = (1e39, 1e-42, 1.0, 1.0, 1.0)
    model = SavedModel(linear(), Classes.of([0, 1]), FEATURES, Vectors(features_in=FEATURES, width=widths))
    found = in_float(model, raw_rows().astype(np.float64) * (1e38, *widths[1:]))
    assert not found.differ
    assert found.largest_difference is not None
    assert found.largest_difference < 2e-5


def test_a_vote_of_another_kind_is_refused() -> None:
    class Other(MulticlassModel):
        """Scores otherwise."""

    ours: Any = saved("linear ovo").model
    model = SavedModel(Other(ours.machines, ours.pairs, 3), Classes.of([0, 1, 2]), FEATURES)
    with pytest.raises(DataError, match="a model of type Other cannot be exported"):
        portable(model)


@pytest.mark.parametrize("far", [-60.0, -300.0])
def test_probabilities_that_are_all_next_to_nothing_keep_their_ratios(far: float, tmp_path: Path) -> None:
    model = replace(saved("linear by class"), sigmoids=Sigmoids((1.0, 1.0, 1.0), (far, far - 1, far + 2)))
    raw = raw_rows()
    found = answers_of_c(float_source(portable(model), "it"), model, raw, "float", tmp_path)
    np.testing.assert_allclose(found, model.predict_proba(raw), atol=1e-4)


def test_an_export_leaves_the_model_as_it_is() -> None:
    """Of a machine that keeps a vector twice, the coefficients are added up in the file alone."""
    vectors = Dense(np.tile(raw_rows(2), (2, 1)))
    twice = [KernelModel(vectors, np.array([[1.0], [2.0], [3.0], [4.0 * s]]), GAUSSIAN, FEATURES) for s in range(3)]
    model = SavedModel(combined(twice, PAIRS["ovo"], 3), Classes.of([0, 1, 2]), FEATURES)
    before = model.scores(raw_rows())
    portable(model)
    np.testing.assert_array_equal(model.scores(raw_rows()), before)
    assert not in_float(model, raw_rows()).differ

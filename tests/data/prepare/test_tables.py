"""Tables as they are prepared: the same as what is kept of it says of the raw rows."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from mpu_bench.core.rows import Dense, Rows, Sparse, to_scipy
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.data.prepare.load import describe, load_problem, preprocessing_of
from mpu_bench.data.prepare.tables import Fitted
from mpu_bench.data.prepare.transforms import training_rows
from mpu_bench.data.user_files.adding import FileOptions, look
from mpu_bench.data.user_files.tables import open_table
from mpu_bench.errors import DataError
from mpu_bench.preprocessing import CategoricalColumn, NumberColumn, Table


def table_text(rows: int, seed: int = 0, words: int = 3) -> str:
    random = np.random.default_rng(seed)
    lines = ["id,age,color,size,answer"]
    for i in range(rows):
        age = "" if i % 7 == 0 else f"{random.normal(40, 10):.2f}"
        color = "?" if i % 5 == 0 else f"c{random.integers(words)}"
        lines.append(f"u{i},{age},{color},{random.integers(3)},{'yes' if random.random() < 0.4 else 'no'}")
    return "\n".join(lines) + "\n"


def card_of(path: Path, **file_options: Any) -> Any:
    added = look(path, FileOptions.model_validate(file_options))
    return catalog.card("mine", {catalog.CARD: {**added.card, "origin": "mine.yaml"}})


def equal(a: Rows, b: Rows) -> bool:
    return type(a) is type(b) and all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    (tmp_path / "mine.csv").write_text(table_text(60), encoding="utf-8")
    return tmp_path / "mine.csv"


@pytest.mark.parametrize("scale", ["none", "standard", "unit-interval"])
@pytest.mark.parametrize("words", [3, 40])
def test_preparing_is_what_the_description_says_of_raw_rows(
    scale: str, words: int, home: DataDirectory, tmp_path: Path
) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(table_text(80, words=words), encoding="utf-8")
    card = card_of(path, missing="median", scale=scale)
    problem, kept = load_problem(card, home), preprocessing_of(card, home)
    assert isinstance(kept, Table)
    raw = pd.concat(list(open_table(path).pieces()), ignore_index=True)
    in_training = training_rows(card)(0, len(raw))
    assert problem.n == in_training.sum() == 64
    assert equal(problem.train, kept.rows(raw[in_training]))
    assert equal(problem.test, kept.rows(raw[~in_training].drop(columns="answer")))
    assert problem.features == kept.features == describe(card, home).d
    assert isinstance(problem.train, Dense if (words, scale) == (3, "standard") else Sparse)
    labels = [problem.classes[label] for label in problem.labels]
    assert labels == raw["answer"][in_training].to_list()


@pytest.mark.parametrize("scale", ["standard", "unit-interval"])
@pytest.mark.parametrize("constant", ["0.1", "14.62", "1e-300", "1e15", "1e300", "-7", "0"])
def test_a_column_that_never_changes_is_no_feature(
    constant: str, scale: str, home: DataDirectory, tmp_path: Path
) -> None:
    """Its deviation is rounding alone; were it divided by that, another value would decide everything."""
    path = tmp_path / "mine.csv"
    path.write_text("c,x,y\n" + "".join(f"{constant},{i},{'no' if i % 2 else 'yes'}\n" for i in range(60)))
    kept = preprocessing_of(card_of(path, scale=scale), home)
    assert isinstance(kept, Table)
    assert kept.columns[0] == NumberColumn(name="c", shift=float(constant), width=1.0)
    problem = load_problem(card_of(path, scale=scale), home)
    assert not scipy.sparse.csr_array(to_scipy(problem.train, problem.features)).toarray()[:, 0].any()


@pytest.mark.parametrize("unit", [1e-307, 1e-300, 1e-160, 1e160, 1e300])
def test_columns_of_any_scale_are_scaled_alike(unit: float) -> None:
    """Squares vanish, or overflow, in double precision."""
    numbers = np.random.default_rng(0).normal(size=50)
    near, far = Fitted("x"), Fitted("x")
    for piece in ([0.0], numbers[:7], numbers[7:]):
        near.fit(np.asarray(piece))
        far.fit(np.asarray(piece) * unit)
    expected, found = near.column("standard"), far.column("standard")
    assert (found.shift, found.width) == pytest.approx((expected.shift * unit, expected.width * unit), rel=1e-12, abs=0)
    texts = pd.Series(list(map(str, numbers * unit)), dtype=object)
    np.testing.assert_allclose(found.values(texts, 1), (numbers - expected.shift) / expected.width, rtol=1e-9)


def test_everything_is_measured_on_the_training_part(home: DataDirectory, mine: Path) -> None:
    card = card_of(mine, missing="median", split=0.5)
    kept = preprocessing_of(card, home)
    assert isinstance(kept, Table)
    raw = pd.concat(list(open_table(mine).pieces()))
    train = raw[training_rows(card)(0, len(raw))]
    ages = pd.to_numeric(train["age"])
    age = kept.columns[1]
    assert isinstance(age, NumberColumn)
    assert age.fill == pytest.approx(ages.median())
    filled = ages.fillna(ages.median())
    assert (age.shift, age.width) == (pytest.approx(filled.mean()), pytest.approx(filled.std(ddof=0)))
    color = kept.columns[2]
    assert isinstance(color, CategoricalColumn)
    assert color.categories == tuple(sorted({"" if each == "?" else each for each in train["color"]}))
    assert load_problem(card, home).train[0].mean(axis=0)[:1] == pytest.approx([0], abs=1e-6)


def test_a_constant_feature_is_part_of_the_description(home: DataDirectory, mine: Path) -> None:
    card = card_of(mine, missing="median").model_copy(update={"augment": 2.0})
    kept, raw = preprocessing_of(card, home), pd.concat(list(open_table(mine).pieces()), ignore_index=True)
    assert isinstance(kept, Table)
    assert equal(load_problem(card, home).train, kept.rows(raw[training_rows(card)(0, len(raw))]))


def test_rows_are_dropped(home: DataDirectory, mine: Path) -> None:
    card = card_of(mine, missing="drop")
    assert card.total.rows == 60 - 9
    problem = load_problem(card, home)
    assert (problem.n, problem.n_test) == (40, 11)
    kept = preprocessing_of(card, home)
    assert isinstance(kept, Table)
    with pytest.raises(DataError, match="row 1, column 'age': no number"):
        kept.rows(next(iter(open_table(mine).pieces())))


def test_the_columns_that_a_card_expects_are_counted(home: DataDirectory, mine: Path) -> None:
    added = look(mine, FileOptions(missing="median"))
    card = {**added.card, "origin": "mine.yaml", "kept_features": 7}
    with pytest.raises(DataError, match="columns are left instead of the 7 expected"):
        load_problem(catalog.card("mine", {catalog.CARD: card}), home)


def test_a_row_after_dropped_ones_is_named_by_its_own_number(home: DataDirectory, tmp_path: Path) -> None:
    (path := tmp_path / "mine.csv").write_text(
        "x,y\n" + "".join(f"{['', '1e300', i][min((i + 7) % 10, 2)]},{'ab'[i % 2]}\n" for i in range(9)),
        encoding="utf-8",
    )
    with pytest.raises(DataError, match=r"mine\.csv, row 5, column 'x': the number is too large for float32"):
        load_problem(card_of(path, missing="drop", scale="none"), home)


def test_two_files(home: DataDirectory, mine: Path, tmp_path: Path) -> None:
    test = tmp_path / "test.csv.gz"
    test.write_bytes(gzip.compress(table_text(20, seed=1).encode()))
    problem = load_problem(card_of(mine, missing="median", test=str(test)), home)
    assert (problem.n, problem.n_test) == (60, 20)


def test_one_content_is_one_dataset_however_it_is_compressed(home: DataDirectory, mine: Path) -> None:
    plain = load_problem(card_of(mine, missing="median"), home).fingerprint
    os.utime(mine, (1, 1))
    assert describe(card_of(mine, missing="median"), home).fingerprint == plain
    mine.write_bytes(gzip.compress(mine.read_bytes()))
    assert describe(card_of(mine, missing="median"), home).fingerprint == plain


def test_a_file_that_has_changed_is_prepared_again(home: DataDirectory, mine: Path) -> None:
    card = card_of(mine, missing="median")
    before = load_problem(card, home)
    mine.write_text(mine.read_text("utf-8").replace("c1", "c7"), encoding="utf-8")
    assert describe(card, home).state == "fetched"
    after = load_problem(card, home)
    assert before.fingerprint != after.fingerprint
    kept = preprocessing_of(card, home)
    assert kept is not None
    assert "color=c7" in kept.feature_names if isinstance(kept, Table) else False


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda text: text + "u9,1,c1,1,no\n", "the data has 61 rows, expected 60"),
        (
            lambda text: text.replace("no\n", "maybe\n"),
            r"column 'answer': the label 'maybe' is none of the card's classes",
        ),
        (lambda text: text.replace("size", "width"), "column 4 is called 'width' instead of 'size'"),
        (lambda text: text.replace("u4,", "u4,x"), r"row 5, column 'age': 'x[0-9.]*' is not a finite number"),
        (lambda text: text.replace("u4,", "u4"), "line 6: has 4 cells, where there are 5 columns"),
    ],
)
def test_a_change_that_does_not_fit_the_card(change: Any, told: str, home: DataDirectory, mine: Path) -> None:
    card = card_of(mine, missing="median")
    mine.write_text(change(mine.read_text("utf-8")), encoding="utf-8")
    with pytest.raises(DataError, match=rf"(?s){told}.*; if .*mine\.csv has changed, .* data add .*mine\.csv"):
        load_problem(card, home)


def test_what_a_card_can_say_wrong(home: DataDirectory, mine: Path) -> None:
    card = card_of(mine, missing="median")
    columns = {**card.columns, "age": "categorical", "color": "number"}
    with pytest.raises(
        DataError, match=r"column 'color': '.*' is not a finite number; write 'categorical' or 'omitted'"
    ):
        load_problem(card.model_copy(update={"columns": columns}), home)
    with pytest.raises(DataError, match=r"row 1, column 'age': no number; write 'missing: median'"):
        load_problem(card.model_copy(update={"missing": "refuse"}), home)
    with pytest.raises(DataError, match="gives 6 features; allowed are 1 to 4"):
        load_problem(card.model_copy(update={"features": 4}), home)


@pytest.mark.parametrize(
    ("scale", "told"),
    [
        ("unit-interval", r"mine\.csv, column 'x': its numbers are too large to be scaled; leave the column out"),
        ("none", "row 3, column 'x'"),
    ],
)
def test_numbers_that_are_too_large(scale: str, told: str, home: DataDirectory, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("x,y\n1,a\n2,b\n1e308,a\n-1e308,b\n3,a\n", encoding="utf-8")
    with pytest.raises(DataError, match=told):
        load_problem(card_of(path, scale=scale, test=str(path)), home)


def test_a_column_whose_numbers_are_all_test_rows_is_told_with_its_file(home: DataDirectory, tmp_path: Path) -> None:
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    train.write_text("x,z,y\n1,,a\n2,,b\n3,,a\n", encoding="utf-8")
    test.write_text("x,z,y\n1,5,a\n2,6,b\n", encoding="utf-8")
    told = r"train\.csv, column 'z': no training row has a number; draw other training rows by another seed, or leave "
    with pytest.raises(DataError, match=told):
        load_problem(card_of(train, missing="median", test=str(test)), home)


def test_a_median_of_the_largest_numbers() -> None:
    fitted = Fitted("x", keeps=True)
    fitted.fit(np.array([1.7e308, np.nan, 1.7e308]))
    assert fitted.column("none").fill == 1.7e308


@given(
    st.lists(st.lists(st.one_of(st.just(np.nan), st.floats(-1e6, 1e6)), max_size=5), min_size=1, max_size=5).filter(
        lambda pieces: any(not np.isnan(number) for piece in pieces for number in piece)
    )
)
def test_columns_are_fitted_piece_by_piece(pieces: list[list[float]]) -> None:
    fitted = Fitted("x", keeps=True)
    for piece in pieces:
        fitted.fit(np.array(piece, float))
    every = np.array([number for piece in pieces for number in piece])
    median = np.median(every[~np.isnan(every)])
    column = fitted.column("standard")
    filled = np.where(np.isnan(every), median, every)
    assert column.fill == pytest.approx(median, rel=0, abs=1e-322)  # of subnormal numbers it may lose the last digit
    assert column.shift == pytest.approx(filled.mean(), abs=1e-6)
    spread = filled.std()
    assert column.width == pytest.approx(spread, rel=1e-6, abs=1e-6) or spread < 1e-6

"""The option ``augment``: a constant feature in every row, of any dataset, made when the data are loaded."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpu_bench.core import rows as core_rows
from mpu_bench.core.rows import Dense, Ones, Sparse, to_scipy
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.data.prepare.load import describe, load_problem
from mpu_bench.data.prepare.transforms import augment
from mpu_bench.errors import DataError

FEATURES = 3
TEXT = """\
title: Points
kind: svmlight
files:
  train: {by_hand: make it}
  test: {by_hand: make it}
train: train
test: test
classes: ["-1", "+1"]
features: 3
options: [storage]
"""


def rows_of(kind, lists):
    """Make rows of a type from one {column: value} for each."""
    starts = np.cumsum([0, *map(len, lists)]).astype(np.uint32)
    columns = np.array([column for row in lists for column in sorted(row)], np.uint32)
    values = np.array([row[column] for row in lists for column in sorted(row)], np.float32)
    sparse = Sparse(values, columns, starts)
    if kind is Dense:
        return Dense(to_scipy(sparse, FEATURES).toarray().astype(np.float32))
    return sparse if kind is Sparse else Ones(columns, starts)


def written_out(rows, features):
    """Write rows out as they are stored, float32, shape (n, features)."""
    matrix = to_scipy(rows, features)
    return matrix if isinstance(rows, Dense) else matrix.toarray()


@pytest.mark.parametrize("kind", [Dense, Sparse, Ones])
@pytest.mark.parametrize("rho", [1, 0.1, 3.0])
@settings(max_examples=25, deadline=None)
@given(
    lists=st.lists(st.dictionaries(st.integers(0, FEATURES - 1), st.sampled_from([1.0, -2.5, 0.3]), max_size=FEATURES))
)
def test_every_row_ends_with_the_constant(kind, rho, lists):
    ones = [dict.fromkeys(row, 1.0) for row in lists] if kind is Ones else lists
    plain = rows_of(kind, ones)
    before = [array.copy() for array in plain]
    made = augment(plain, FEATURES, rho)
    assert isinstance(made, Sparse if kind is Ones and rho != 1 else kind)
    expected = np.column_stack([written_out(plain, FEATURES), np.full(len(lists), np.float32(rho))])
    assert np.array_equal(written_out(made, FEATURES + 1), expected)
    assert all(np.array_equal(a, b) for a, b in zip(plain, before, strict=True))


def test_the_layout_of_the_three_types():
    lists = [{0: 1.0, 2: 1.0}, {}, {1: 1.0}]
    ones = augment(rows_of(Ones, lists), FEATURES, 1)
    assert isinstance(ones, Ones)
    assert ones.indices.tolist() == [0, 2, 3, 3, 1, 3]
    assert ones.starts.tolist() == [0, 3, 4, 6]
    sparse = augment(rows_of(Sparse, lists), FEATURES, 2)
    assert sparse.values.tolist() == [1, 1, 2, 2, 1, 2]
    dense = augment(rows_of(Dense, lists), FEATURES, 2)
    assert dense.values.tolist() == [[1, 0, 1, 2], [0, 0, 0, 2], [0, 1, 0, 2]]
    assert dense.values.flags.c_contiguous
    assert [array.dtype for array in (*ones, *sparse, *dense)] == [np.dtype(kind) for kind in "IIfIIf"]


@pytest.mark.parametrize("kind", [Dense, Sparse, Ones])
def test_no_needless_copies(kind):
    """Memory for the result, and a byte a pair to lay it out."""
    n, d = 20_000, 20
    columns = np.tile(np.arange(d, dtype=np.uint32), n)
    starts = np.arange(0, n * d + 1, d, dtype=np.uint32)
    values = np.ones(n * d, np.float32)
    plain = {Dense: Dense(values.reshape(n, d)), Sparse: Sparse(values, columns, starts), Ones: Ones(columns, starts)}
    tracemalloc.start()
    made = augment(plain[kind], d, 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < sum(array.nbytes for array in made) + n * (d + 1) + 200_000


def test_too_many_pairs_are_refused(monkeypatch):
    monkeypatch.setattr(core_rows, "_MAX_VALUES", 3)
    rows = rows_of(Sparse, [{0: 1.0}, {}])
    assert len(augment(rows, FEATURES, 1).indices) == 3
    with pytest.raises(DataError, match=r"\(augment, or an intercept\) takes the rows beyond the limit of 3 values"):
        augment(augment(rows, FEATURES, 1), FEATURES + 1, 1)


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Load a dataset of the user's made of two small files, with options."""
    monkeypatch.chdir(tmp_path)
    for folder in ("mirror", "datasets"):
        (tmp_path / folder).mkdir()
    (tmp_path / "datasets" / "points.yaml").write_text(TEXT)
    (tmp_path / "mirror" / "train").write_text("+1 1:1 3:1\n-1\n+1 2:1\n")
    (tmp_path / "mirror" / "test").write_text("-1\n+1 3:1\n")
    home = DataDirectory(tmp_path / "home", (str(tmp_path / "mirror"),), offline=True)

    def made(options=None):
        card = catalog.card("points", options)
        problem = load_problem(card, home)
        described = describe(card, home)
        assert (described.fingerprint, described.d) == (problem.fingerprint, problem.features)
        return problem

    return made


@pytest.mark.parametrize(("storage", "kind"), [("auto", Ones), ("sparse", Sparse), ("dense", Dense)])
def test_any_dataset_can_be_augmented(load, storage, kind):
    plain, made = load({"storage": storage}), load({"storage": storage, "augment": 1})
    assert isinstance(made.train, kind)
    assert (plain.features, made.features) == (3, 4)
    assert written_out(made.train, 4).tolist() == [[1, 0, 1, 1], [0, 0, 0, 1], [0, 1, 0, 1]]
    assert written_out(made.test, 4).tolist() == [[0, 0, 0, 1], [0, 0, 1, 1]]
    assert np.array_equal(made.labels, plain.labels)


def test_augmented_data_share_the_arrays_but_not_the_fingerprint(load, tmp_path):
    loaded = [load(options) for options in (None, {"augment": None}, {"augment": 1}, {"augment": 1.0}, {"augment": 2})]
    prints = [problem.fingerprint for problem in loaded]
    assert prints[0] == prints[1]
    assert prints[2] == prints[3]
    assert len({*prints}) == 3
    assert len(list((tmp_path / "home" / "prepared").iterdir())) == 1


def test_a_card_may_be_augmented_itself(load, tmp_path):
    (tmp_path / "datasets" / "points.yaml").write_text(TEXT + "augment: 0.5\n")
    assert load().features == 4
    assert load({"augment": None}).features == 3


@pytest.mark.parametrize(
    ("rho", "said"),
    [
        (0, "must be greater than 0, not 0"),
        (-1.5, "must be greater than 0, not -1.5"),
        (float("nan"), "must be "),
        (float("inf"), "must be a finite number, not inf"),
        (1e39, "1e+39 is beyond the range of float32"),
        (1e-46, "1e-46 is beyond the range of float32"),
        ("1", "must be a valid number, not '1'"),
        (True, "must be a valid number, not True"),
        ([1], "must be a valid number"),
    ],
)
def test_impossible_constants_are_refused(rho, said):
    with pytest.raises(DataError) as caught:
        catalog.card("adult", {"augment": rho})
    assert f"adult.yaml, option: augment: {said}" in str(caught.value)


@pytest.mark.real_data
def test_adult_gets_one_more_one(shared_home):
    plain, made = (load_problem(catalog.card("adult", options), shared_home) for options in ({}, {"augment": 1}))
    assert isinstance(made.train, Ones)
    assert made.features == 124
    assert len(made.train.indices) == len(plain.train.indices) + plain.n
    assert (made.train.indices[made.train.starts[1:] - np.uint32(1)] == 123).all()

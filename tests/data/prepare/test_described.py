"""What is kept of a preparation gives, of raw rows, the rows of the problem; for every kind of card."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from tests.datasets_of_user import TABLE, World

from mpu_bench.core.rows import to_scipy
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.data.prepare import generators
from mpu_bench.data.prepare.load import load_problem, prepared_folder, preprocessing_of
from mpu_bench.data.user_files.formats import Form
from mpu_bench.data.user_files.tables import open_table
from mpu_bench.preprocessing import Table, Vectors


def dense(rows, features):
    return scipy.sparse.csr_array(to_scipy(rows, features)).toarray()


STEPS = [
    "storage: sparse",
    "multiply_by: 3.0\ndivide_by: 7.0\naugment: 0.5",
    "unit_rows: true",
    "storage: dense\ndrop_columns: zero\nscale: standard\naugment: 1.0",
    "storage: dense\nscale: unit-interval",
    "storage: dense\nscale: standard-overall\ndivide_by: 3.0",
]


@pytest.mark.parametrize("steps", STEPS)
def test_svmlight(steps: str, world: World) -> None:
    values = np.array([[1, 0, 2.5, 0], [0, 0, -1, 0], [3, 0, 0.25, 0], [7, 0, 1, 0]])
    lines = [
        " ".join(["+1" if i % 2 else "-1", *(f"{j + 1}:{value:g}" for j, value in enumerate(row) if value)])
        for i, row in enumerate(values)
    ]
    world.offer("\n".join(lines) + "\n", "rows")
    card = world.card(
        f"""
title: T
kind: svmlight
files: {{rows: {{by_hand: x}}}}
train: rows
classes: ["-1", "+1"]
features: 4
{steps}
""",
        name="rows",
    )
    problem, kept = load_problem(card, world.home), preprocessing_of(card, world.home)
    assert isinstance(kept, Vectors)
    assert kept.features == problem.features
    assert type(kept.rows(values)) is type(problem.train)
    np.testing.assert_array_equal(dense(kept.rows(values), kept.features), dense(problem.train, problem.features))


@pytest.mark.parametrize("steps", ["", *STEPS])
def test_delimited(steps: str, world: World, numbers: tuple[np.ndarray, np.ndarray]) -> None:
    card = world.card(f"{TABLE.replace('storage: dense', '')}\n{steps}\n", name="table")
    problem, kept = load_problem(card, world.home), preprocessing_of(card, world.home)
    assert isinstance(kept, Table)
    file = world.mirror / "table"
    raw = pd.concat(list(open_table(file, form=Form("delimited", ",", False)).pieces()))
    np.testing.assert_allclose(
        dense(kept.rows(raw), kept.features), dense(problem.train, problem.features), rtol=1e-5, atol=1e-5
    )


def test_what_no_table_can_say(world: World, numbers: tuple[np.ndarray, np.ndarray]) -> None:
    card = world.card(f"{TABLE}\nmultiply_by: -2.0\n", name="table")
    assert preprocessing_of(card, world.home) is None
    assert load_problem(card, world.home).n == 40


@pytest.mark.parametrize("steps", ["multiply_by: 0.5", "multiply_by: 0.5\nscale: unit-interval"])
def test_words_that_are_multiplied_are_not_described_as_if_they_were_not(steps: str, world: World) -> None:
    world.offer("1,red,a\n3,blue,b\n5,red,c\n", "table")
    written = TABLE.replace("columns: {label: 4}", "columns: {label: 3, categorical: 2}").replace("rows: 40", "rows: 3")
    card = world.card(f"{written}\n{steps}\n".replace("storage: dense", ""), name="table")
    problem = load_problem(card, world.home)
    assert dense(problem.train, 3)[:, 1:].tolist() == [[0, 0.5], [0.5, 0], [0, 0.5]]
    assert preprocessing_of(card, world.home) is None


def test_words_and_numbers(world: World) -> None:
    text = "1,red ,a\n3,?,b\n5,blue,c\n3,NA,a\n"
    world.offer(text, "table")
    more = {"columns: {label: 4}": "columns: {label: 3, categorical: 2}", "storage: dense": "scale: unit-interval"}
    written = TABLE.replace("features: 3", "features: 5").replace("rows: 40", "rows: 4")
    for before, after in more.items():
        written = written.replace(before, after)
    card = world.card(written, name="table")
    problem, kept = load_problem(card, world.home), preprocessing_of(card, world.home)
    assert isinstance(kept, Table)
    raw = next(open_table(world.mirror / "table", form=Form("delimited", ",", False)).pieces())
    np.testing.assert_array_equal(dense(kept.rows(raw), 5), dense(problem.train, 5))


def test_words_whose_columns_are_dropped(world: World) -> None:
    world.offer("red,4,a\nblue,5,b\ngrey,6,c\n", "table")
    columns = "columns: {label: 3, categorical: 1, categories: {1: [black, red, blue, green, grey]}}"
    written = TABLE.replace("columns: {label: 4}", columns).replace("features: 3", "features: 6")
    card = world.card(f"{written.replace('rows: 40', 'rows: 3')}\ndrop_columns: zero\n", name="table")
    problem, kept = load_problem(card, world.home), preprocessing_of(card, world.home)
    assert isinstance(kept, Table)
    assert kept.feature_names == ("column 1=red", "column 1=blue", "column 1=grey", "column 2")
    raw = next(open_table(world.mirror / "table", form=Form("delimited", ",", False)).pieces())
    np.testing.assert_array_equal(dense(kept.rows(raw), 4), dense(problem.train, problem.features))


@pytest.mark.parametrize("stream", [False, True])
def test_what_is_smoothed_is_not_described(stream: bool, world: World) -> None:
    text = "title: W\nkind: generated\ncontent: waveform\nrows: 50\nclasses: [a, b, c]\nfeatures: 21\nstorage: dense\n"
    smooth = f"smooth: {{rows: 3, columns: 7, deviation: 1.0}}\nstream: {str(stream).lower()}\n"
    assert preprocessing_of(world.card(text + smooth, name="waves"), world.home) is None


@pytest.mark.parametrize("steps", ["storage: dense\nscale: standard", "storage: dense\nscale: standard\nstream: true"])
def test_generated(steps: str, home: DataDirectory) -> None:
    options = {"rows": 300, "test_rows": 50, "stream": "stream" in steps}
    card = catalog.card("checkerboard", options)
    problem, kept = load_problem(card, home), preprocessing_of(card, home)
    assert isinstance(kept, Vectors)
    raw = next(iter(generators.blocks("checkerboard", "test", 50, dict(card))))[0]
    np.testing.assert_allclose(dense(kept.rows(raw), 2), dense(problem.test, 2), rtol=1e-6)


def test_what_was_prepared_before_it_was_kept(home: DataDirectory) -> None:
    card = catalog.card("digits")
    fingerprint = load_problem(card, home).fingerprint
    folder = prepared_folder(card, home)
    meta = json.loads((folder / "meta.json").read_text())
    del meta["preprocessing"], meta["arrays"]["preprocessing.json"]
    (folder / "meta.json").write_text(json.dumps(meta))
    (folder / "preprocessing.json").unlink()
    assert load_problem(card, home).fingerprint == fingerprint
    assert not (folder / "preprocessing.json").exists()
    kept = preprocessing_of(card, home)
    assert isinstance(kept, Vectors)
    assert kept.divide_by == 16
    assert load_problem(card, home).fingerprint == fingerprint


def test_what_is_damaged_is_made_again(home: DataDirectory) -> None:
    card = catalog.card("digits")
    kept = preprocessing_of(card, home)
    path = prepared_folder(card, home) / "preprocessing.json"
    path.write_text(path.read_text().replace("16.0", "17.0"))
    assert preprocessing_of(card, home) == kept

"""Splits of ten classes into five against five: each a problem of its own, averaged in the tables."""

from __future__ import annotations

import json

import numpy as np
import pytest

from mpu_bench.config.read import read_config
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.cache import DataHome
from mpu_bench.data.prepare.load import load_problem
from mpu_bench.errors import ConfigError, DataError
from mpu_bench.experiment.plan import only, plan
from mpu_bench.quantities import CHECKPOINT_COLUMNS, RECORD_COLUMNS
from mpu_bench.results.curves import mean_curves
from mpu_bench.results.summary import summarize

TEXT = """
name: tried
datasets: [{digits: {bipartitions: five-against-five}}, letter]
solvers: [{perceptron: {passes: {per-dataset: {digits: 2, letter: 1}}}}]
"""


@pytest.fixture
def read(tmp_path):
    def read_text(text):
        (tmp_path / "tried.yaml").write_text(text)
        return read_config(tmp_path / "tried.yaml")

    return read_text


def test_there_are_126_ways_to_set_five_of_ten_against_the_others():
    found = catalog.bipartitions(catalog.card("digits"), "five-against-five")
    halves = {frozenset(positive) for _, positive, _ in found}
    assert len(halves) == len(found) == 126
    everything = set("0123456789")
    assert all(len(half) == 5 and everything - half not in halves for half in halves)
    assert found[0] == ("01234", ["0", "1", "2", "3", "4"], ("rest", "0+1+2+3+4"))


@pytest.mark.parametrize(
    ("name", "how", "said"),
    [
        ("digits", "halves", "bipartitions: must be five-against-five, not 'halves'"),
        (
            "adult",
            "five-against-five",
            "needs ten classes and an option 'positive' that is not given; it has 2 classes",
        ),
    ],
)
def test_impossible_splits_are_refused(read, name, how, said):
    with pytest.raises(DataError, match=said):
        catalog.bipartitions(catalog.card(name), how)
    with pytest.raises(ConfigError, match=said):
        read(f"name: tried\ndataset: {{{name}: {{bipartitions: {how}}}}}\nsolvers: [perceptron]\n")


def test_a_config_sweeps_over_splits(read):
    runs = plan(read(TEXT))
    assert len(runs) == 127
    assert {run.dataset.label for run in runs} == {"digits", "letter"}
    assert [run.solver.parameters["passes"] for run in runs] == [2] * 126 + [1]
    assert str(runs[0]).startswith("digits-01234 perceptron")
    assert only(runs, ["split=01234"]) == runs[:1]
    assert len({(run.dataset.name, str(run.dataset.options)) for run in runs}) == 127


def test_splits_share_the_arrays(tmp_path):
    home = DataHome(tmp_path, offline=True)
    card = catalog.card("digits")
    whole = load_problem(card, home)
    for _, positive, classes in catalog.bipartitions(card, "five-against-five")[:3]:
        problem = load_problem(catalog.card("digits", {"positive": positive}), home)
        assert problem.classes == classes
        np.testing.assert_array_equal(problem.labels, np.isin(whole.labels, np.array(positive, int)))
    assert len([path for path in (tmp_path / "prepared").iterdir() if path.is_dir()]) == 1


def test_tables_average_over_splits():
    blank = dict.fromkeys(RECORD_COLUMNS) | {"dataset": "digits", "solver": "perceptron", "parameters": json.dumps({})}
    found = {"01234": (10, 0.1), "01235": (20, 0.2), "01236": (30, 0.3)}
    records = [
        blank
        | {"split": split, "seed": 0, "status": "done", "reason": "", "support_vectors": vectors, "online_error": e}
        for split, (vectors, e) in found.items()
    ]
    (row,) = summarize(records, None)
    assert (row["dataset"], row["count"]) == ("digits", 3)
    assert row["support_vectors_mean"] == pytest.approx(20)
    assert row["online_error_mean"] == pytest.approx(0.2)
    points = [record | {"presented": 5, "passes": 1.0} for record in records]
    (band,) = mean_curves([dict.fromkeys(CHECKPOINT_COLUMNS) | point for point in points])
    assert (band["count"], band["online_error_mean"]) == (3, pytest.approx(0.2))

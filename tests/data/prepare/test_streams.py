"""Streams: the rows that would be stored, bit for bit, without storing them."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest

from mpu_bench.core.problem import StreamedProblem
from mpu_bench.core.stream import Stream
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.data.prepare.load import describe, load_problem, prepared_folder
from mpu_bench.errors import DataError
from mpu_bench.experiment.bind import mean_squared_distance


@pytest.fixture
def home(tmp_path):
    return DataDirectory(tmp_path, offline=True)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("checkerboard", {"rows": 140_000}),
        ("waveform", {"rows": 70_001, "seed": 3}),
        ("waveform", {"rows": 70_001, "scale": "standard-overall", "positive": [2, 0]}),
        ("separable", {"rows": 3000, "augment": 0.5}),
    ],
)
def test_a_stream_has_the_rows_that_would_be_stored(home, name, options):
    stored = load_problem(catalog.card(name, {**options, "test_rows": 50}), home)
    card = catalog.card(name, {**options, "test_rows": 50, "stream": True})
    stream = load_problem(card, home)
    assert isinstance(stream, StreamedProblem)
    for number in range(stream.blocks):
        rows, labels, first = stream.block(number)
        np.testing.assert_array_equal(rows.values, stored.train.values[first : first + len(labels)])
        np.testing.assert_array_equal(labels, stored.labels[first : first + len(labels)])
    assert first + len(labels) == stream.n == stored.n
    np.testing.assert_array_equal(stream.test.values, stored.test.values)
    np.testing.assert_array_equal(stream.test_labels, stored.test_labels)
    assert (stream.features, stream.classes) == (stored.features, stored.classes)
    assert stream.counts == tuple(np.bincount(stored.labels))
    exact = mean_squared_distance(stored.train, stored.features)
    assert stream.mean_squared_distance == pytest.approx(exact, rel=1e-6)
    assert stream.fingerprint != stored.fingerprint
    assert stream.fingerprint == describe(card, home).fingerprint


def test_the_training_part_is_not_stored(home):
    card = catalog.card("waveform", {"rows": 5000, "test_rows": 100, "stream": True})
    load_problem(card, home)
    described = describe(card, home)
    assert described.state == "prepared"
    assert (described.n, described.n_test) == (5000, 100)
    folder = prepared_folder(card, home)
    assert not list(folder.glob("train*"))
    meta = json.loads((folder / "meta.json").read_text())
    assert sum(meta["counts"]["train"]) == 5000
    assert len(meta["measured"]["shift"]) == 21


def test_memory_does_not_grow_with_the_stream(home):
    def peak(rows):
        problem = load_problem(catalog.card("checkerboard", {"rows": rows, "test_rows": 10, "stream": True}), home)
        tracemalloc.start()
        stream = Stream(problem, 0)
        for presented in range(0, rows, 50_000):
            stream.at(presented)
        held = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return held

    peak(200_000)  # compiles
    assert peak(1_000_000) < 1.1 * peak(200_000) < 20e6


def test_the_names_of_classes_keep_the_order_of_the_card(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "own.yaml").write_text("extends: checkerboard\nclasses: [white, black]\n")
    home = DataDirectory(tmp_path / "home", offline=True)
    options = {"rows": 100, "test_rows": 50, "stream": True}
    own, shipped = (load_problem(catalog.card(name, options), home) for name in ("own", "checkerboard"))
    assert own.classes == ("white", "black")
    np.testing.assert_array_equal(own.labels, shipped.labels)


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("adult", {"stream": True}, "option: stream: the dataset has no such option"),
        ("checkerboard", {"stream": "yes"}, "option: stream: must be a valid boolean"),
    ],
)
def test_what_cannot_be_a_stream_is_refused(name, options, said):
    with pytest.raises(DataError) as caught:
        catalog.card(name, options)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("kind: embedded\ncontent: digits", "stream: unknown key"),
        ("storage: sparse\nscale: none", "stream: needs 'storage: dense' and all columns"),
    ],
)
def test_cards_that_cannot_be_streams_are_refused(tmp_path, monkeypatch, more, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "own.yaml").write_text(f"extends: checkerboard\n{more}\nstream: true\n")
    with pytest.raises(DataError) as caught:
        catalog.card("own")
    assert said in str(caught.value)

"""Generated streams: the same whatever the chunks, longer ones begin with shorter ones, parts are independent."""

from __future__ import annotations

import numpy as np
import pytest

from mpu_bench.data import generate
from mpu_bench.data.generate import BLOCK_ROWS, chunks
from mpu_bench.errors import DataError

NAMES = sorted(generate.GENERATORS)


def everything(name, rows, seed=0, **options):
    values, labels = zip(*chunks(name, rows, seed, **options), strict=True)
    return np.concatenate(values), np.concatenate(labels)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("chunk_rows", [1000, BLOCK_ROWS, 100_001, 10**6])
def test_the_content_does_not_depend_on_the_chunks(name, chunk_rows):
    values, labels = everything(name, 150_000)
    pieces = list(chunks(name, 150_000, 0, chunk_rows))
    assert all(len(piece[1]) == min(chunk_rows, 150_000) for piece in pieces[:-1])
    assert np.array_equal(np.concatenate([piece[0] for piece in pieces]), values)
    assert np.array_equal(np.concatenate([piece[1] for piece in pieces]), labels)


@pytest.mark.parametrize("name", NAMES)
def test_a_longer_stream_begins_with_a_shorter_one(name):
    short, long = everything(name, 70_001), everything(name, 200_000)
    assert np.array_equal(short[0], long[0][:70_001])
    assert np.array_equal(short[1], long[1][:70_001])


@pytest.mark.parametrize("name", NAMES)
def test_seeds_and_parts_give_other_streams(name):
    streams = [everything(name, 1000)[0], everything(name, 1000, 1)[0], everything(name, 1000, part="test")[0]]
    assert not any(np.array_equal(a, b) for i, a in enumerate(streams) for b in streams[:i])
    assert streams[0].dtype == np.float32
    assert streams[0].shape == (1000, generate.GENERATORS[name].features)


def test_the_checkerboard_is_four_by_four_and_uniform():
    values, labels = everything("checkerboard", 200_000)
    assert values.min() >= 0
    assert values.max() < 1
    squares = np.floor(4 * values.astype(float)).astype(int)
    assert np.array_equal(labels, (squares[:, 0] + squares[:, 1]) % 2)
    per_square = np.bincount(squares[:, 0] * 4 + squares[:, 1])
    assert len(per_square) == 16
    assert np.all(np.abs(per_square - 12_500) < 5 * np.sqrt(12_500))


def test_the_waveform_has_the_means_of_breiman():
    """Class means are averages of two triangles; the noise has variance 1 beside that of the mixing."""
    values, labels = everything("waveform", 200_000)
    inputs = np.arange(1, 22)
    first, second, third = (np.maximum(6 - np.abs(inputs - peak), 0) for peak in (11, 15, 7))
    for label, (a, b) in enumerate(((first, second), (first, third), (second, third))):
        of_class = values[labels == label].astype(float)
        assert abs(len(of_class) - 200_000 / 3) < 5 * np.sqrt(200_000 * 2 / 9)
        assert np.allclose(of_class.mean(axis=0), (a + b) / 2, atol=0.04)
        assert np.allclose(of_class.var(axis=0), 1 + (a - b) ** 2 / 12, rtol=0.05)


def test_ten_million_rows_come_in_chunks():
    stream = chunks("checkerboard", 10**7, 0, 250_000)
    values, labels = next(stream)
    assert values.shape == (250_000, 2)
    assert labels.shape == (250_000,)
    assert sum(len(more) for _, more in stream) == 10**7 - 250_000


def test_an_unknown_generator_is_refused():
    with pytest.raises(DataError, match="did you mean 'waveform'"):
        next(chunks("waveforms", 10, 0))

"""Generated streams: longer ones begin with shorter ones, parts are independent, and they are what they claim."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from mpu_bench.data.cards import catalog
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.data.prepare import generators
from mpu_bench.data.prepare.generators import blocks, direction
from mpu_bench.data.prepare.load import load_problem
from mpu_bench.errors import DataError

NAMES = sorted(generators.GENERATORS)
ROUNDING = 2.0**-24  #: how far float32 moves a row of length 1 at most


def stream(name, rows, seed=0, part="train", features=None, margin=0.1):
    features = features or generators.GENERATORS[name].features or 20
    return blocks(name, part, rows, {"seed": seed, "features": features, "margin": margin})


def everything(name, rows, *arguments, **options):
    values, labels = zip(*stream(name, rows, *arguments, **options), strict=True)
    return np.concatenate(values), np.concatenate(labels)


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
    assert streams[0].shape == (1000, generators.GENERATORS[name].features or 20)


@pytest.mark.parametrize("name", NAMES)
def test_the_content_is_frozen(name):
    """Fingerprints of generated data are of the settings: another stream would need another name."""
    values, labels = everything(name, 1000, 7)
    known = {
        "checkerboard": [1009.458, 1354141075],
        "waveform": [42171.532, 2695986758],
        "separable": [3587.925, 1221982725],
    }
    assert [round(float(np.abs(values).sum(dtype=float)), 3), int(labels[:20] @ (3 ** np.arange(20)))] == known[name]


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


def test_ten_million_rows_come_in_blocks():
    made = stream("checkerboard", 10**7)
    values, labels = next(made)
    assert values.shape == (65_536, 2)
    assert labels.shape == (65_536,)
    assert sum(len(more) for _, more in made) == 10**7 - 65_536


ENDING_NNLS = pytest.mark.skipif(
    version("scipy").startswith(("1.13.", "1.14.")), reason="the nnls of this scipy may not end"
)


def largest_margin(z):
    """Find the largest margin through the origin: the distance of the convex hull of ``z`` from it.

    By Hanson's and Lawson's reduction to non-negative least squares: min ||[z'; c] a - [0; c]||, a >= 0, has the
    residual c times h / sqrt(h^2 + c^2), where h is the distance, and c any scale.
    """
    scale = np.linalg.norm(z.mean(axis=0))
    _, residual = nnls(np.vstack([z.T, np.full(len(z), scale)]), np.append(np.zeros(z.shape[1]), scale))
    sine = residual / scale
    return scale * sine / np.sqrt(1 - sine**2)


@ENDING_NNLS
@settings(max_examples=40, deadline=None)
@given(
    rows=st.integers(2, 90),
    seed=st.integers(0, 2**63 - 1),
    features=st.integers(2, 12),
    margin=st.floats(0.01, 0.95),
    part=st.sampled_from(["train", "test"]),
)
def test_the_margin_of_separable_data_is_the_one_asked_for(rows, seed, features, margin, part):
    values, labels = everything("separable", rows, seed, part, features, margin)
    z = values.astype(float) * (2 * labels - 1)[:, None]
    assert z.shape == (rows, features)
    assert {*labels} == {0, 1}
    assert np.allclose(np.linalg.norm(z, axis=1), 1, atol=1e-6)
    assert abs((z @ direction(seed, features)).min() - margin) < ROUNDING
    assert abs(largest_margin(z) - margin) < 1.1 * ROUNDING  # of the rows; the rest is that of the solution


def test_separable_data_have_pairs_and_slack():
    values, labels = everything("separable", 20_000)
    z = values.astype(float) * (2 * labels - 1)[:, None]
    u = direction(0, 20)
    assert abs(labels.mean() - 0.5) < 0.02
    assert np.allclose(z[0::8] + z[1::8], 0.2 * u, atol=2 * ROUNDING)
    slack = np.delete(z @ u, [*range(0, 20_000, 8), *range(1, 20_000, 8)]) - 0.1
    assert slack.min() > -ROUNDING
    assert abs(slack.mean() - 0.9 / 2) < 0.01
    other, _ = everything("separable", 20_000, part="test")
    assert np.abs(other.astype(float) @ u).min() > 0.1 - ROUNDING  # the same hyperplane


@ENDING_NNLS
def test_the_separable_dataset(tmp_path):
    home = DataDirectory(tmp_path, offline=True)
    problem = load_problem(catalog.card("separable"), home)
    assert (problem.n, problem.n_test, problem.features) == (2000, 500, 20)
    chosen = {"rows": 333, "test_rows": 0, "seed": 5, "features": 7, "margin": 0.02}
    problem = load_problem(catalog.card("separable", chosen), home)
    assert (problem.n, problem.n_test, problem.features) == (333, 0, 7)
    assert largest_margin(problem.signs()[:, None] * problem.train.values) == pytest.approx(0.02, abs=ROUNDING)


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("separable", {"margin": 0}, "option: margin: must be greater than 0, not 0"),
        ("separable", {"margin": 1.0}, "option: margin: must be less than 1, not 1.0"),
        ("separable", {"margin": None}, "option: margin: must be a valid number, not None"),
        ("separable", {"rows": 1}, "option: rows: must be greater than or equal to 2, not 1"),
        ("separable", {"features": 1}, "option: features: must be greater than or equal to 2, not 1"),
        ("checkerboard", {"margin": 0.1}, "option: margin: the dataset has no such option"),
    ],
)
def test_impossible_settings_are_refused(name, options, said):
    with pytest.raises(DataError) as caught:
        catalog.card(name, options)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("content: waveforms", "content: there is no content 'waveforms'; did you mean 'waveform'?"),
        ("features: 20", "features: 'waveform' has 21, not 20"),
        ("classes: [a, b]", "classes: 'waveform' has 3, not 2"),
    ],
)
def test_a_card_that_no_generator_can_follow_is_refused(tmp_path, monkeypatch, more, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "own.yaml").write_text(f"extends: waveform\n{more}\n")
    with pytest.raises(DataError) as caught:
        load_problem(catalog.card("own"), DataDirectory(tmp_path / "home", offline=True))
    assert str(caught.value).startswith("datasets/own.yaml")
    assert str(caught.value).endswith(f": {said}")

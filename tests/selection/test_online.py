"""Streams are judged as they come: no row, and no later one, chooses what predicts it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
import sklearn.datasets
import sklearn.metrics
from numpy.typing import NDArray

from mpu_bench.cli.streaming import _in_order
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Dense
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.errors import ConfigError
from mpu_bench.models.evaluation import OF_LABELS
from mpu_bench.selection.online import Contender, Stream, Track, _majority, candidates, judge, value_of
from mpu_bench.selection.rows import Data, Source


def data(labels: NDArray[np.int64], seed: int = 0) -> Data:
    """Return rows that tell the class, those of the training part first."""
    random, classes = np.random.default_rng(seed), int(labels.max()) + 1
    centres = 3.0 * np.eye(3)[:classes]
    rows = (random.normal(size=(len(labels), 3)) + centres[labels]).astype(np.float32)
    first, y = len(labels) // 10, labels.astype(np.int32)
    names = tuple(map(str, range(classes)))
    return Data(Problem("x", Dense(rows[:first]), y[:first], Dense(rows[first:]), y[first:], 3, names, ""))


def judged(
    given: Data,
    metric: str = "accuracy",
    seconds: float = 600.0,
    changed: Callable[[Stream], None] = lambda _: None,
) -> Stream:
    tried = [each for each in candidates(0.5, (10,)) if each.name in ("forgetron-10", "perceptron-linear-10")]
    return judge(given, tried, metric, seconds=seconds, changed=changed)


def test_later_labels_change_nothing_of_what_was_before() -> None:
    labels = np.random.default_rng(1).integers(0, 3, 1500)
    as_they_are = judged(data(labels))
    turned = labels.copy()
    turned[900:] = (turned[900:] + 1) % 3
    given = data(labels)
    given.problem.test_labels[900 - 150 :] = turned[900:]
    other = judged(given)
    assert as_they_are.rows == other.rows == 1500
    for one, two in zip(as_they_are.contenders, other.contenders, strict=True):
        before = [np.array_equal(a, b) for a, b in zip(one.tallies, two.tallies, strict=True)]
        assert all(before[: 900 // as_they_are.block + 1])
        assert not all(before)


def test_what_changes_shows_in_the_curve_and_is_learned_again() -> None:
    given = data(np.random.default_rng(2).integers(0, 2, 3000))
    given.problem.test_labels[1700:] = 1 - given.problem.test_labels[1700:]  # from row 2,000 on
    stream = judged(given)
    curve, block = stream.chosen.rolling(stream.metric), stream.block
    assert curve[1999 // block] > 0.85
    assert min(curve[2000 // block : 2300 // block]) < curve[1999 // block] - 0.03
    assert curve[-1] > 0.85
    assert stream.is_better
    assert {each.name for each in stream.references} == {"majority so far", "no change"}
    assert stream.to_csv().startswith("row,forgetron-10,perceptron-linear-10,majority so far,no change")
    model = stream.finished()
    assert model.predict_proba(np.zeros((1, 3), np.float32)).sum() == pytest.approx(1)
    assert len(model.support_vectors_) <= 10


def test_the_best_of_many_guesses_is_no_skill() -> None:
    found = 0
    for seed in range(100):
        random = np.random.default_rng(seed)
        labels, blocks = random.integers(0, 2, 1000).astype(np.int32), np.arange(0, 1000, 20)
        guesses = random.integers(0, 2, (20, 1000)).astype(np.int32)
        tracks = [Contender(str(i), [np.zeros((3, 2), np.int64)], []) for i in range(len(guesses))]
        constant = Track("majority so far", [np.zeros((3, 2), np.int64)])
        for track, predicted in zip((*tracks, constant), (*guesses, np.zeros_like(labels)), strict=True):
            for first in blocks:
                track.add(labels[first : first + 20], predicted[first : first + 20])
        found += Stream("accuracy", 20, 1000, tracks, [constant], 1000).is_better
    assert found <= 5


def test_blocks_that_gain_equally_share_a_rank() -> None:
    """Shares of right rows that differ by as much differ in their last bit: that must not rank them."""
    random = np.random.default_rng(150)
    ours = random.integers(40, 50, 19)
    other = ours - random.integers(-3, 5, 19)
    tracks = [Contender("ours", [np.zeros((3, 2), np.int64)], []), Track("other", [np.zeros((3, 2), np.int64)])]
    for track, right in zip(tracks, (ours, other), strict=True):
        for count in right.tolist():
            track.add(np.zeros(50, np.int32), (np.arange(50) >= count).astype(np.int32))
    stream = Stream("accuracy", 50, 950, tracks[:1], tracks[1:], 950)  # type: ignore[arg-type]
    assert stream.chance == pytest.approx(scipy.stats.wilcoxon(ours, other, alternative="greater").pvalue)


def test_labels_that_follow_each_other_are_no_skill() -> None:
    """Where the label before is a better answer than what the rows tell, nothing is better than that."""
    labels = np.repeat(np.random.default_rng(3).integers(0, 2, 40), 25)
    given = data(labels)
    for rows in (given.problem.train, given.problem.test):
        rows.values[:] = np.random.default_rng(0).normal(size=rows.values.shape)
    stream = judged(given)
    assert stream.to_beat.name == "no change"
    assert stream.to_beat.value("accuracy") > 0.95
    assert not stream.is_better


def test_the_majority_is_of_the_rows_before() -> None:
    assert _majority(np.array([1, 1, 0, 0, 0, 2], np.int32), 3).tolist() == [0, 1, 1, 1, 1, 0]


def test_a_metric_of_counts_is_scikit_learns() -> None:
    random = np.random.default_rng(0)
    for classes in (2, 3):
        labels, predicted = random.integers(0, classes, (2, 200))
        tally = np.array(
            [np.bincount(each, minlength=classes) for each in (labels, labels[labels == predicted], predicted)]
        )
        average = {"average": "binary" if classes == 2 else "macro"}
        expected = [
            sklearn.metrics.accuracy_score(labels, predicted),
            sklearn.metrics.balanced_accuracy_score(labels, predicted),
            sklearn.metrics.f1_score(labels, predicted, **average),
        ]
        assert [value_of(metric, tally) for metric in OF_LABELS] == pytest.approx(expected)


def test_a_rare_class_asks_for_balanced_accuracy_and_ranks_are_refused() -> None:
    labels = (np.arange(200) % 10 == 0).astype(int)
    assert judged(data(labels), "").metric == "balanced-accuracy"
    assert judged(data(np.arange(200) % 2), "").metric == "accuracy"
    with pytest.raises(ConfigError, match="--metric auc: --online judges by one of accuracy, balanced-accuracy, f1"):
        judged(data(labels), "auc")


def test_it_ends_with_what_is_known() -> None:
    def interrupted(stream: Stream) -> None:
        if stream.rows >= 400:
            raise KeyboardInterrupt

    given = data(np.random.default_rng(1).integers(0, 2, 1000))
    stream = judged(given, changed=interrupted)
    assert (stream.rows, stream.is_interrupted) == (400, True)
    assert {len(each.tallies) for each in (*stream.contenders, *stream.references)} == {400 // stream.block + 1}
    assert judged(given, seconds=1e-9).rows == 0


def test_always_yes_is_to_be_beaten_by_f1() -> None:
    labels = (np.random.default_rng(5).random(2000) < 0.45).astype(int)
    given = data(labels)
    for rows, y in ((given.problem.train, given.problem.labels), (given.problem.test, given.problem.test_labels)):
        rows.values[:] = np.random.default_rng(len(y)).normal(size=rows.values.shape) + 0.2 * y[:, np.newaxis]
    stream = judged(given, "f1")
    assert stream.to_beat.name == "always '1'"
    assert stream.to_beat.value("f1") == pytest.approx(sklearn.metrics.f1_score(labels, np.ones(2000)))
    assert not stream.is_better


def test_rows_of_a_dataset_that_is_split_at_random_are_in_their_order(tmp_path: Path) -> None:
    source = _in_order(Source("digits", {}, DataDirectory.from_options(tmp_path)))
    problem = source.load().problem
    assert (problem.n, problem.n_test) == (179, 1618)
    found = np.concatenate([problem.labels, problem.test_labels])
    assert np.array_equal(found, sklearn.datasets.load_digits().target)


def test_a_window_is_not_longer_than_the_stream() -> None:
    assert [Stream("accuracy", 20, 400, [], [], rows=rows).window for rows in (100, 400)] == [100, 200]

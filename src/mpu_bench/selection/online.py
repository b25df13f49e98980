"""Which online classifier suits a stream: rows in their order, each predicted before it is learned (prequential).

Metrics are those of labels: scores of other moments are not comparable. No row chooses what predicts it. A classifier
is tried with several settings; it answers for the one that was the best on the rows before, and after `_RACED` rows
goes on with that one alone. Two references show what is to be beaten: the class that most rows had so far, or for F1
the positive one, and the class of the row before. Rows go by in blocks, of which nothing but the leader depends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from mpu_bench.core.models import labels_of
from mpu_bench.core.problem import Problem
from mpu_bench.errors import ConfigError
from mpu_bench.estimators.base import Fit
from mpu_bench.estimators.inputs import as_array, rows_of
from mpu_bench.models.evaluation import OF_LABELS, value_of
from mpu_bench.selection.candidates import WIDTHS, Candidate
from mpu_bench.selection.rows import Data, has_rare_class, shares_of

WARM_UP = 0.1  #: of the rows of a file, by which they are scaled
_RACED = 1000  # rows at least, and a tenth of all
_MIN_BLOCK, _BLOCKS, _WINDOW = 20, 200, 10  # rows, blocks of all, and blocks of a rolling value
_SIGNIFICANT, _DIGITS = 0.05, 12  # of a difference of two shares: what it has beyond so many digits is rounding
_C = TypeVar("_C", bound="Track")


def candidates(width: float, budgets: Sequence[int]) -> list[Candidate]:
    """Return the classifiers that are tried, by 2 / (mean squared distance of two rows) and budgets."""
    gammas: dict[str, Sequence[Any]] = {"gamma": tuple(factor * width for factor in WIDTHS)}
    listed = [Candidate("fogd", "budgeted", "FOGDClassifier", {}, gammas, 1)]
    budgeted: dict[str, tuple[str, dict[str, Any], dict[str, Sequence[Any]]]] = {
        "bpegasos": ("BudgetedPegasosClassifier", {}, {**gammas, "regularization": (1e-2, 1e-4)}),
        "forgetron": ("ForgetronClassifier", {}, gammas),
        "perceptron": ("BudgetPerceptronClassifier", {"removal": "random"}, gammas),
        "perceptron-linear": ("BudgetPerceptronClassifier", {"removal": "random", "kernel": "linear"}, {}),
        "bpa-s": ("BPASClassifier", {}, gammas),
    }
    for budget in budgets:
        for name, (classifier, fixed, grid) in budgeted.items():
            parameters = {"budget": budget, **fixed}
            listed.append(Candidate(f"{name}-{budget}", "budgeted", classifier, parameters, grid, 1))
    return listed


@dataclass(eq=False)
class Track:
    """What was predicted along the stream: counts after every block, shape (blocks + 1, 3, c), none at first."""

    name: str
    tallies: list[NDArray[np.int64]]

    def add(self, labels: NDArray[np.int32], predicted: NDArray[np.int32]) -> None:
        """Count the rows of a block."""
        parts = labels, labels[labels == predicted], predicted
        counts = [np.bincount(part, minlength=self.tallies[0].shape[1]) for part in parts]
        self.tallies.append(self.tallies[-1] + np.array(counts))

    def value(self, metric: str) -> float:
        """Return the metric of all rows."""
        return float(value_of(metric, self.tallies[-1]))

    def rolling(self, metric: str, blocks: int = _WINDOW) -> list[float]:
        """Return the metric of the last blocks, after every block."""
        ends = range(1, len(self.tallies))
        return [float(value_of(metric, self.tallies[end] - self.tallies[max(end - blocks, 0)])) for end in ends]


@dataclass
class Expert:
    """A classifier with a setting, on its way along the stream."""

    setting: dict[str, Any]
    classifier: Any
    solver: Any
    track: Track
    seconds: float = 0.0

    @property
    def vectors(self) -> int:
        """Support vectors by now."""
        return int(self.solver.model(self.classifier._state).support_vectors)

    def learn(self, X: Any, labels: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the class predicted for every row before it was learned."""
        rows = rows_of(X)
        if "_state" not in vars(self.classifier):
            self.classifier.begin(self.solver, X)
        predicted = labels_of(self.classifier.learn(self.solver, rows, labels))
        self.track.add(labels, predicted)
        return predicted


@dataclass(eq=False)
class Contender(Track):
    """A candidate: it predicts by the expert that was best before."""

    experts: list[Expert]

    def learn(self, X: Any, labels: NDArray[np.int32], metric: str, run: Fit) -> None:
        """Let all experts predict and learn a block of rows."""
        leader = self.leader(metric)
        for expert in self.experts:
            began, predicted = run.seconds, expert.learn(X, labels)
            expert.seconds += run.seconds - began
            if expert is leader:
                self.add(labels, predicted)

    def leader(self, metric: str) -> Expert:
        """Return the expert that is best by now; at first the first."""
        tracks = [expert.track for expert in self.experts]
        return self.experts[tracks.index(_best(tracks, metric))]


@dataclass
class Stream:
    """The outcome by now.

    Attributes
    ----------
    metric : str
        One of `OF_LABELS`.
    block : int
        Rows that go by at a time.
    all_rows : int
        Of the stream.
    contenders, references : list of Track
    rows : int
        Judged by now.
    is_interrupted : bool
        Whether Ctrl-C ended it.
    """

    metric: str
    block: int
    all_rows: int
    contenders: list[Contender]
    references: list[Track]
    rows: int = 0
    is_interrupted: bool = False

    @property
    def window(self) -> int:
        """Over how many rows a rolling metric is."""
        return min(self.block * _WINDOW, self.rows)

    @property
    def chosen(self) -> Contender:
        """The candidate that is best by now."""
        return _best(self.contenders, self.metric)

    @property
    def to_beat(self) -> Track:
        """The better of the references."""
        return _best(self.references, self.metric)

    @property
    def chance(self) -> float:
        """The p that the choice is no better than that: Wilcoxon's test over blocks, with Bonferroni's correction."""
        from scipy.stats import wilcoxon

        by_block = np.array([track.rolling(self.metric, 1) for track in (self.chosen, self.to_beat)])
        gains = np.round(by_block[0] - by_block[1], _DIGITS)  # equal ones share a rank
        p = float(wilcoxon(gains, alternative="greater").pvalue) if gains.any() else 1.0
        return min(1.0, len(self.contenders) * p)  # the choice is the best of them on the same rows

    @property
    def ends(self) -> NDArray[np.int64]:
        """The rows by which each block ends."""
        return np.minimum(self.block * np.arange(1, len(self.chosen.tallies)), self.all_rows)

    @property
    def windows(self) -> list[tuple[float, int, int]]:
        """The metric of the choice over each window, and the first and the last row of that."""
        ends = [0, *self.ends.tolist()]
        values = self.chosen.rolling(self.metric)[_WINDOW - 1 :]
        return [(value, ends[i] + 1, ends[i + _WINDOW]) for i, value in enumerate(values)]

    @property
    def is_better(self) -> bool:
        """Whether the choice is better than the references, beyond chance."""
        return self.chosen.value(self.metric) > self.to_beat.value(self.metric) and self.chance < _SIGNIFICANT

    def finished(self) -> Any:
        """Return the classifier that is chosen, with all rows learned."""
        leader = self.chosen.leader(self.metric)
        leader.classifier.keep_learned(leader.solver)
        return leader.classifier

    def to_csv(self) -> str:
        """Return the rolling metric of all after every block, a column each."""
        import pandas as pd

        columns = {track.name: track.rolling(self.metric) for track in (*self.contenders, *self.references)}
        return pd.DataFrame({"row": self.ends, **columns}).to_csv(index=False)


def judge(
    data: Data, tried: Sequence[Candidate], metric: str, *, seconds: float, changed: Callable[[Stream], None]
) -> Stream:
    """Return how candidates do on the training rows and then the test rows of a problem, in their order.

    Parameters
    ----------
    data : Data
    tried : sequence of Candidate
    metric : str
        One of `OF_LABELS`; if it is empty, accuracy, or balanced accuracy where a class is rare.
    seconds : float
        After which no more rows are judged; Ctrl-C ends it, too.
    changed : function
        Called after every block with the outcome so far.

    Raises
    ------
    ConfigError
        If the metric is not of labels.
    """
    X, labels = _in_order(data.problem)
    c = len(data.problem.classes)
    metric = metric or ("balanced-accuracy" if has_rare_class(shares_of(labels, c)) else "accuracy")
    if metric not in OF_LABELS:
        raise ConfigError(f"--metric {metric}: --online judges by one of {', '.join(OF_LABELS)}")
    contenders = [_contender(candidate, data, c) for candidate in tried]
    constant, always = "majority so far", _majority(labels, c)
    if metric == "f1" and c == 2:  # of which the best constant says yes
        constant, always = f"always '{data.problem.classes[1]}'", np.ones_like(labels)
    references = {constant: always, "no change": np.append(np.zeros(1, np.int32), labels[:-1])}
    block, run = max(_MIN_BLOCK, -(-len(labels) // _BLOCKS)), Fit(seconds)
    stream = Stream(metric, block, len(labels), contenders, [Track(name, [_nothing(c)]) for name in references])
    try:
        while stream.rows < len(labels) and not run.is_over:
            part = slice(stream.rows, stream.rows + block)
            for contender in contenders:
                contender.learn(X[part], labels[part], metric, run)
                if part.stop >= max(_RACED, WARM_UP * len(labels)):
                    contender.experts = [contender.leader(metric)]
            for track, predicted in zip(stream.references, references.values(), strict=True):
                track.add(labels[part], predicted[part])
            stream.rows = min(part.stop, len(labels))
            changed(stream)
    except KeyboardInterrupt:
        stream.is_interrupted = True
    for track in (*contenders, *stream.references):  # a block under way may be known of some
        del track.tallies[-(-stream.rows // block) + 1 :]
    return stream


def _contender(candidate: Candidate, data: Data, classes: int) -> Contender:
    experts = []
    for setting in candidate.settings():
        classifier = candidate.build(setting, data.seed).set_params(probability=True)
        classifier.classes_, classifier.n_features_in_ = np.arange(classes), data.problem.features
        experts.append(Expert(setting, classifier, classifier._solver(0), Track("", [_nothing(classes)])))
    return Contender(candidate.name, [_nothing(classes)], experts)


def _in_order(problem: Problem) -> tuple[Any, NDArray[np.int32]]:
    """Return all rows with their labels, those of the training part first."""
    parts = [as_array(rows, problem.features) for rows in (problem.train, problem.test)]
    X = np.concatenate(parts) if isinstance(parts[0], np.ndarray) else scipy.sparse.vstack(parts, format="csr")
    return X, np.concatenate([problem.labels, problem.test_labels]).astype(np.int32)


def _majority(labels: NDArray[np.int32], classes: int) -> NDArray[np.int32]:
    """Return for every row the class that most rows before had."""
    counts, best, answers = [0] * classes, 0, []
    for label in labels.tolist():
        answers.append(best)
        counts[label] += 1
        best = label if counts[label] > counts[best] else best
    return np.array(answers, np.int32)


def _nothing(classes: int) -> NDArray[np.int64]:
    return np.zeros((3, classes), np.int64)


def _best(tracks: Sequence[_C], metric: str) -> _C:
    """Return the best track, the first of equals, and the first of all where nothing is known."""
    return max(tracks, key=lambda track: np.nan_to_num(track.value(metric), nan=-1.0))

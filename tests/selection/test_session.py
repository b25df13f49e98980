"""What a selection says of its choice, with the answers of its processes given."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.report.choice import sentences
from mpu_bench.selection.candidates import Candidate
from mpu_bench.selection.rows import Source
from mpu_bench.selection.schedule import Fit, Fitted
from mpu_bench.selection.session import Session
from mpu_bench.selection.worker import Evaluated, model_path


class Answers:
    """Stands for a pool: models are as large as said, larger when trained on all rows, and all as good."""

    has_room, is_getting_ready, preparing = True, False, 0.0

    accuracy, chance, seconds = 0.9, 0.001, 0.001

    def __init__(self, sizes: dict[str, int], grown: int) -> None:
        self.sizes, self.grown, self._asked = sizes, grown, list[Any]()

    @property
    def is_busy(self) -> bool:
        return bool(self._asked)

    def ask(self, asked: Any) -> None:
        self._asked.append(asked)

    def answers(self, _seconds: float) -> list[Any]:
        asked = self._asked.pop(0)
        if isinstance(asked, Fit):
            return [Fitted(asked, 0.1, self.seconds, self.seconds)]
        size = self.sizes[asked.name] * (self.grown if asked.number == 0 else 1)
        known = {"metrics": {"accuracy": self.accuracy}, "spread": 0.1, "constant": 0.5, "chance": self.chance}
        return [Evaluated(asked, **known, tested=8, size=size)]

    def drop(self) -> None:
        self._asked.clear()


def played(tmp_path: Path, grown: int, max_bytes: int | None = None, **answers: float) -> Session:
    candidates = [Candidate(name, "batch", "X", {}, {"C": (1.0,)}, 1) for name in ("small", "large")]
    source = Source("x", {}, DataDirectory.from_options(tmp_path))
    session = Session(source, candidates, 80, 100, 1e12, folder=tmp_path, max_bytes=max_bytes)
    pool: Any = Answers({"small": 100, "large": 150}, grown)
    vars(pool).update(answers)
    session._tune(pool)
    session._evaluate(pool, [each.best for each in session.schedule.courses.values() if each.best])
    session._train_choice(pool)
    return session


def test_the_choice_stays_when_it_is_larger_on_all_rows_than_one_as_good(tmp_path: Path) -> None:
    session = played(tmp_path, grown=3)
    chosen = session.outcome.chosen
    assert chosen is not None
    assert (chosen.name, chosen.rows, chosen.size) == ("small", 100, 300)
    assert session.number_of_choice() == 0


def test_a_model_of_all_rows_that_is_too_large_is_not_taken(tmp_path: Path) -> None:
    session = played(tmp_path, grown=3, max_bytes=200)
    chosen = session.outcome.chosen
    assert chosen is not None
    assert (chosen.name, chosen.rows, chosen.size) == ("small", 80, 100)
    assert session.last is None
    best = session.schedule.courses["small"].best
    assert best is not None
    assert session.number_of_choice() == best.fit.number


def test_a_model_whose_answer_was_not_read_yet_is_kept(tmp_path: Path) -> None:
    session = played(tmp_path, grown=1)
    best = [each.best.fit.number for each in session.schedule.courses.values() if each.best is not None]
    learned, unread = max(best) + 1, max(best) + 2
    for number in (*best, learned, unread):
        model_path(tmp_path, number).touch()
    session._forget_models(learned)
    assert not model_path(tmp_path, learned).exists()
    assert all(model_path(tmp_path, number).exists() for number in (*best, unread))


def test_what_is_no_better_than_a_constant_is_not_chosen(tmp_path: Path) -> None:
    session = played(tmp_path, grown=1, chance=0.3)
    outcome = session.outcome
    assert outcome.chosen is None
    assert outcome.refused is not None
    assert (outcome.refused.name, outcome.refused.rows) == ("small", 100)  # all rows did not help
    assert session.number_of_choice() is None


def test_the_choice_is_trained_on_all_rows_though_the_seconds_are_over(tmp_path: Path) -> None:
    """On a busy machine the others may have taken them all."""
    session = played(tmp_path, grown=1)
    session.last, session.began, session.seconds = None, float("-inf"), 10.0
    session._train_choice(Answers({"small": 100, "large": 150}, 1))  # type: ignore[arg-type]
    assert session.outcome.chosen is not None
    assert session.outcome.chosen.rows == 100
    assert session.outcome.note == ""


def test_it_is_said_why_the_choice_is_not_trained_on_all_rows(tmp_path: Path) -> None:
    session = played(tmp_path, grown=1, seconds=30.0)
    session.last, session.began, session.seconds = None, float("-inf"), 10.0
    session._train_choice(Answers({"small": 100, "large": 150}, 1))  # type: ignore[arg-type]
    assert session.outcome.chosen is not None
    assert session.outcome.chosen.rows == 80
    assert session.outcome.note.startswith("that would take about 37.5 s, and 3 s were left")


def test_the_threshold_of_few_rows_is_not_that_of_all(tmp_path: Path) -> None:
    """Scores may have another scale: the threshold is chosen anew before the choice is trained on all rows."""
    source = Source("x", {}, DataDirectory.from_options(tmp_path), threshold=True)
    tried = Candidate("a", "batch", "X", {}, {"C": (1.0,)}, 1)
    session = Session(source, [tried], 8000, 10_000, 1e12, folder=tmp_path)
    session.schedule.courses["a"].best = Fitted(Fit(tried, {"C": 1.0}, 2000, 1.0, 1), 0.1, 0.1, threshold=0.3)
    asked = list[Any]()

    class Pool(Answers):
        def answers(self, seconds: float) -> list[Any]:
            asked.append(self._asked[0])
            if isinstance(fit := self._asked[0], Fit):
                self._asked.clear()
                return [Fitted(fit, 0.1, 0.1, threshold=0.7 if fit.threshold is None else fit.threshold)]
            return super().answers(seconds)

    pool: Any = Pool({"a": 100}, 1)
    session._evaluate(pool, [session.schedule.courses["a"].best])
    session._train_choice(pool)
    assert [(each.rows, each.threshold) for each in asked if isinstance(each, Fit)] == [(8000, None), (10_000, 0.7)]
    assert asked[-1].threshold == 0.7
    chosen = session.outcome.chosen
    assert chosen is not None
    assert (chosen.rows, chosen.threshold) == (10_000, 0.7)


def test_the_best_that_was_not_tested_is_named(tmp_path: Path) -> None:
    session = played(tmp_path, grown=1)
    courses = session.schedule.courses
    assert courses["small"].best is not None
    assert courses["large"].best is not None
    courses["large"].best = replace(courses["large"].best, error=0.01)
    session._evaluated.clear()
    session.last = None
    session.began = float("-inf")

    class Slow(Answers):
        def answers(self, seconds: float) -> list[Any]:
            self._asked = [each for each in self._asked if each.name == "small"]
            return super().answers(seconds) if self._asked else []

    pool: Any = Slow({"small": 100}, 1)
    session._evaluate(pool, [each.best for each in courses.values() if each.best])
    told = sentences(session.outcome, "x")[0]
    assert "take small" in told
    assert "of those that fit and were tested (large has 99.00 %: the seconds were over before its test)" in told


def test_what_is_too_large_ends_nothing_that_fits(tmp_path: Path) -> None:
    """With --memory only models that are small enough are to be beaten."""
    tried = [Candidate(name, "batch", "X", {}, {"C": (1.0,)}, 1) for name in ("small", "large")]
    source = Source("x", {}, DataDirectory.from_options(tmp_path))
    session = Session(source, tried, 64_000, 64_000, 1e12, folder=tmp_path, max_bytes=200)
    while (fit := session.schedule.next(1e6)) is not None:
        error, size = {"small": (0.2, 100), "large": (0.01, 1000)}[fit.candidate.name]
        session.schedule.learn(Fitted(fit, error, 0.1, 0.1, drawn=(0.0, 0.01), size=size))
    best = session.schedule.courses["small"].best
    assert best is not None
    assert best.fit.rows == 64_000
    assert session.schedule.courses["small"].ended == ""

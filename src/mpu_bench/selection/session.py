"""A selection from its first fit to its choice, within its seconds."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mpu_bench.selection.candidates import Candidate
from mpu_bench.selection.outcome import Outcome, Row, choose, row_of
from mpu_bench.selection.pool import Pool
from mpu_bench.selection.rows import Source
from mpu_bench.selection.schedule import Course, Fit, Fitted, Schedule
from mpu_bench.selection.worker import Answer, Evaluated, Evaluation, model_path

_FOR_TUNING = 0.7  # of the seconds; the rest is for the test rows and the last training
_FOR_TEST_ROWS = 0.5  # of what is left then
_LEAST_SECONDS = 1.0
_SECONDS_OF_GRACE = 1.0  # for what is under way at an end: a process that is ended needs two to begin anew


@dataclass
class Session:
    """The candidates on their way to a choice.

    Attributes
    ----------
    source : Source
    candidates : sequence of Candidate
    learned_from, all_rows : int
        Rows of the training part that candidates are tuned on, and all of them.
    began, seconds : float
        When it began, by `time.monotonic`, and how many seconds it may take; those of compiling are added.
    is_rare : bool
        Whether the balanced error chooses.
    folder : Path
        For models meanwhile.
    most_bytes : int or None
        Which a model may have to be chosen.
    changed : function
        Called whenever there is something new, with the outcome so far.
    """

    source: Source
    candidates: Sequence[Candidate]
    learned_from: int
    all_rows: int
    began: float
    seconds: float
    is_rare: bool = False
    folder: Path = Path()
    most_bytes: int | None = None
    changed: Callable[[Outcome], None] = lambda _outcome: None
    compiled: float = 0.0
    _evaluated: dict[str, Evaluated] = field(default_factory=dict)
    _learned: set[int] = field(default_factory=set)  #: fits that were learned of, and whose model may be there

    def __post_init__(self) -> None:
        self.schedule = Schedule(self.candidates, self.learned_from)
        self.last: Fitted | None = None  #: the choice, trained on all rows

    @property
    def seconds_left(self) -> float:
        """Until the end of all."""
        return self.began + self.seconds + self.compiled - time.monotonic()

    @property
    def outcome(self) -> Outcome:
        """What is known by now."""
        rows = [self._row(each) for each in self.schedule.courses.values()]
        if self.last is None:
            chosen = choose(rows, self.most_bytes)
        else:  # it stays the choice, whatever its size has become
            chosen = next(row for row in rows if row.name == self.last.fit.candidate.name)
        return Outcome(rows, chosen, self.all_rows, self.is_rare)

    def _row(self, course: Course) -> Row:
        name = course.candidate.name
        last = self.last if self.last is not None and self.last.fit.candidate.name == name else None
        return row_of(course, self._evaluated.get(name), last)

    def make(self, jobs: int) -> Outcome:
        """Tune, evaluate, choose, train the choice on all rows; return what came of it.

        A `KeyboardInterrupt` passes; `outcome` then has what is known.
        """
        with Pool(self.source, self.folder, jobs) as pool:
            self._tune(pool)
            self._evaluate(pool, [each.best for each in self.schedule.courses.values() if each.best is not None])
            self._train_choice(pool)
        return self.outcome

    def _tune(self, pool: Pool) -> None:
        while True:
            left = self.seconds_left - (1 - _FOR_TUNING) * self.seconds
            while pool.has_room and (fit := self.schedule.next(left)) is not None:
                pool.ask(fit)
            if not pool.is_busy or (left <= 0 and not pool.is_getting_ready):
                break
            self._learn(pool.answers(left))
            self.compiled = pool.compiled
        for answers in _last(pool):
            self._learn(answers)
        for each in self.schedule.courses.values():
            if not each.is_done:
                each.stop("the seconds were over")

    def _learn(self, answers: Sequence[Answer]) -> None:
        for answer in answers:
            assert isinstance(answer, Fitted)
            self.schedule.learn(answer)
            self._forget_models(answer.fit.number)
            self.changed(self.outcome)

    def _forget_models(self, learned: int) -> None:
        """Delete the models that no candidate is best by, of the fits up to that one that was learned of."""
        self._learned.add(learned)
        kept = {each.best.fit.number for each in self.schedule.courses.values() if each.best is not None}
        for number in self._learned - kept:  # what is not learned of yet may become the best
            (self.folder / f"{number}.model").unlink(missing_ok=True)
        self._learned &= kept

    def _evaluate(self, pool: Pool, models: Sequence[Fitted]) -> None:
        waiting, end = sorted(models, key=lambda each: each.error), math.inf
        while (left := min(end + pool.compiled - time.monotonic(), self._for_test_rows)) > 0:
            while pool.has_room and waiting:
                best = waiting.pop(0)
                pool.ask(Evaluation(best.fit.candidate.name, best.fit.number, left))
            if not pool.is_busy:
                break
            self._see(pool.answers(left))
            self.compiled = pool.compiled
            if end == math.inf and self._evaluated:  # the processes may have had to begin anew
                end = self._for_test_rows + time.monotonic() - pool.compiled
        for answers in _last(pool):
            self._see(answers)

    @property
    def _for_test_rows(self) -> float:
        return max(self.seconds_left * _FOR_TEST_ROWS, _LEAST_SECONDS)

    def _see(self, answers: Sequence[Answer]) -> None:
        for answer in answers:
            assert isinstance(answer, Evaluated)
            self._evaluated[answer.evaluation.name] = answer
            self.changed(self.outcome)

    def _train_choice(self, pool: Pool) -> None:
        """Train the choice on all training rows if that fits into the seconds."""
        chosen = self.outcome.chosen
        if chosen is None or (best := self.schedule.courses[chosen.name].best) is None:
            return
        growth = (self.all_rows / best.fit.rows) ** best.fit.candidate.growth
        if best.fit.rows < self.learned_from or best.seconds * growth > self.seconds_left:
            return
        left = max(self.seconds_left, _LEAST_SECONDS)
        fit = Fit(best.fit.candidate, best.fit.setting, self.all_rows, left, 0)
        if (fitted := self._answer(pool, fit, left)) is None or fitted.reason or fitted.is_cut:
            return
        evaluated = self._answer(pool, Evaluation(chosen.name, 0, left), max(self.seconds_left, _LEAST_SECONDS))
        is_fit = evaluated is not None and not evaluated.reason
        if is_fit and (self.most_bytes is None or evaluated.size <= self.most_bytes):
            self.last, self._evaluated[chosen.name] = fitted, evaluated
            self.changed(self.outcome)

    def _answer(self, pool: Pool, asked: Any, seconds: float) -> Any:
        pool.ask(asked)
        found = pool.answers(seconds)
        if not found:
            pool.drop()
        return found[0] if found else None

    def model_of_choice(self) -> Path | None:
        """Return the file of the model that was chosen."""
        chosen = self.outcome.chosen
        best = self.schedule.courses[chosen.name].best if chosen is not None else None
        if best is None:
            return None
        return model_path(self.folder, 0 if self.last is not None else best.fit.number)


def _last(pool: Pool) -> Iterator[Sequence[Answer]]:
    """Yield the answers that come soon of what is under way, and end the rest with its processes."""
    end = time.monotonic() + _SECONDS_OF_GRACE
    while pool.is_busy and (left := end - time.monotonic()) > 0:
        yield pool.answers(left)
    pool.drop()

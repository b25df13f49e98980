"""A selection from its first fit to its choice, within its seconds."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpu_bench.guard.process import awake
from mpu_bench.selection.candidates import CONSTANT, Candidate
from mpu_bench.selection.outcome import Outcome, Row, choose, row_of
from mpu_bench.selection.rows import Source
from mpu_bench.selection.schedule import Course, Fit, Fitted, Schedule
from mpu_bench.selection.worker import Answer, Asked, Evaluated, Evaluation, model_path

if TYPE_CHECKING:
    from mpu_bench.models.saved import SavedModel
    from mpu_bench.selection.pool import Pool
    from mpu_bench.selection.target import Fitting, Target

_FOR_TUNING = 0.7  # of the seconds; the rest is for the test rows and the last training
_FOR_TEST_ROWS = 0.5  # of what is left then
_FOR_LAST_TRAINING = 0.3  # of the seconds, however many the others have taken: a machine may be busy
_MIN_SECONDS = 1.0
_SECONDS_OF_A_LOOK = 0.1
_SECONDS_OF_GRACE = 2.0  # for what is under way at an end: a process that is ended needs two to begin anew


@dataclass
class Session:
    """The candidates on their way to a choice.

    Attributes
    ----------
    source : Source
    candidates : sequence of Candidate
    learned_from, all_rows : int
        Rows of the training part that candidates are tuned on, and all of them.
    seconds : float
        How many it may take; those in which processes start and compile are added.
    began : float
        When it began, by `mpu_bench.guard.process.awake`: while it is stopped, as by SIGSTOP, its seconds stand still.
    folder : Path
        For models meanwhile.
    max_bytes : int or None
        Which a model may have to be chosen.
    target : Target or None
        The device that it must fit.
    with_references : bool
        Whether references may be chosen, too.
    changed : function
        Called whenever there is something new, with the outcome so far.
    """

    source: Source
    candidates: Sequence[Candidate]
    learned_from: int
    all_rows: int
    seconds: float
    began: float = field(default_factory=awake)
    folder: Path = Path()
    max_bytes: int | None = None
    target: Target | None = None
    with_references: bool = False
    changed: Callable[[Outcome], None] = lambda _outcome: None
    preparing: float = 0.0
    compiling: float = 0.0  #: seconds for the device, which are added, too
    _evaluated: dict[str, Evaluated] = field(default_factory=dict)
    _on_device: dict[str, Fitting] = field(default_factory=dict)
    _learned: set[int] = field(default_factory=set)  #: fits that were learned of, and whose model may be there

    def __post_init__(self) -> None:
        of_device = None if self.target is None else self.target.max_bytes
        limits = [limit for limit in (self.max_bytes, of_device) if limit is not None]
        self.schedule = Schedule(
            self.candidates,
            self.learned_from,
            with_references=self.with_references,
            max_bytes=min(limits, default=math.inf),
        )
        self.last: Fitted | None = None  #: the choice, trained on all rows
        self._note = ""

    @property
    def seconds_spent(self) -> float:
        """Since it began."""
        return awake() - self.began

    @property
    def seconds_left(self) -> float:
        """Until the end of all."""
        return self.seconds + self.preparing + self.compiling - self.seconds_spent

    @property
    def outcome(self) -> Outcome:
        """What is known by now."""
        rows = [self._row(course) for course in self.schedule.courses.values()]
        if self.last is None:
            best = choose(rows, self.with_references)
        else:  # it stays the choice, whatever its size has become
            best = next(row for row in rows if row.name == self.last.fit.candidate.name)
        outcome = Outcome(
            rows,
            best,
            self.all_rows,
            self.source.metric,
            note=self._note,
            target=self.target,
            with_references=self.with_references,
        )
        if best is not None and not outcome.is_better_than_constant(best, self.schedule.fits):
            outcome.chosen, outcome.refused = None, best
        return outcome

    def _row(self, course: Course) -> Row:
        name = course.candidate.name
        last = self.last if self.last is not None and self.last.fit.candidate.name == name else None
        row, fitting = row_of(course, self._evaluated.get(name), last), self._on_device.get(name)
        if fitting is not None:
            row.footprint, row.form = fitting.footprint, fitting.form
        misfit = self._misfit(row.size, fitting)
        row.fits, row.reason = not misfit, "; ".join(filter(None, [misfit, row.reason]))
        return row

    def _misfit(self, size: int | None, fitting: Fitting | None) -> str:
        """Return why a candidate with a model of that size is too large; nothing if it fits, or is not looked at."""
        if self.max_bytes is not None and size is not None and size > self.max_bytes:
            return "is larger than --memory"
        return "" if fitting is None else fitting.reason

    def make(self, pool: Pool) -> Outcome:
        """Tune, evaluate, choose, train the choice on all rows; return what came of it.

        A `KeyboardInterrupt` passes; `outcome` then has what is known.
        """
        pool.give(self.source, self.folder)
        self._tune(pool)
        self._evaluate(pool, [course.best for course in self.schedule.courses.values() if course.best is not None])
        self._train_choice(pool)
        return self.outcome

    def _tune(self, pool: Pool) -> None:
        while True:
            left = self.seconds_left - (1 - _FOR_TUNING) * self.seconds
            while pool.has_room and (fit := self.schedule.next(left)) is not None:
                pool.ask(fit)
            if not pool.is_busy or (left <= 0 and not pool.is_getting_ready and self.schedule.is_sampled):
                break
            self._learn(pool.answers(max(left, _SECONDS_OF_A_LOOK)))
            self.preparing = pool.preparing
        for answers in _last(pool):
            self._learn(answers)
        for course in self.schedule.courses.values():
            if not course.is_done:
                course.stop("the seconds were over")

    def _learn(self, answers: Sequence[Answer]) -> None:
        for answer in answers:
            assert isinstance(answer, Fitted)
            self.schedule.learn(answer)
            self._forget_models(answer.fit.number)
            self.changed(self.outcome)

    def _forget_models(self, learned: int) -> None:
        """Delete the models that no candidate is best by, of the fits up to that one that was learned of."""
        self._learned.add(learned)
        needed = {course.best.fit.number for course in self.schedule.courses.values() if course.best is not None}
        for number in self._learned - needed:  # what is not learned of yet may become the best
            (self.folder / f"{number}.model").unlink(missing_ok=True)
        self._learned &= needed

    def _evaluate(self, pool: Pool, models: Sequence[Fitted]) -> None:
        waiting = sorted(models, key=lambda fitted: (fitted.fit.candidate.name != CONSTANT, fitted.error))
        end = math.inf
        while (left := min(end + pool.preparing - awake(), self._for_test_rows)) > 0:
            while pool.has_room and waiting:
                best = waiting.pop(0)
                pool.ask(Evaluation(best.fit.candidate.name, best.fit.number, left, best.threshold))
            if not pool.is_busy:
                break
            self._see(pool.answers(left))
            self.preparing = pool.preparing
            if end == math.inf and self._evaluated:  # the processes may have had to begin anew
                end = self._for_test_rows + awake() - pool.preparing
        for answers in _last(pool):
            self._see(answers)
        for fitted in models:
            name = fitted.fit.candidate.name
            late = Evaluated(Evaluation(name, fitted.fit.number, 0.0), reason="the seconds were over before its test")
            self._evaluated.setdefault(name, late)

    @property
    def _for_test_rows(self) -> float:
        return max(self.seconds_left * _FOR_TEST_ROWS, _MIN_SECONDS)

    def _see(self, answers: Sequence[Answer]) -> None:
        for answer in answers:
            assert isinstance(answer, Evaluated)
            name = answer.evaluation.name
            self._evaluated[name] = answer
            if (fitting := self._fitting(answer)) is not None:
                self._on_device[name] = fitting
            self.changed(self.outcome)

    def _fitting(self, answer: Evaluated) -> Fitting | None:
        """Return what an evaluated model takes of the device, or why it cannot be there; None without a device."""
        if self.target is None or answer.reason:
            return None
        if not self.schedule.courses[answer.evaluation.name].candidate.is_own:
            return self.target.without_file
        began, request = awake(), answer.evaluation
        fitting = self.target.fitting(self._saved(request.number, request.threshold), answer.size or 0)
        self.compiling += awake() - began
        return fitting

    def _saved(self, number: int, threshold: float) -> SavedModel:
        """Return a model that a process has trained, with its threshold, as one that takes the rows of a file."""
        from mpu_bench.selection.repetition import model_of

        classifier = pickle.loads(model_path(self.folder, number).read_bytes())
        return model_of(classifier, self.source, threshold)

    def _train_choice(self, pool: Pool) -> None:
        """Train the choice on all training rows, unless that would take more seconds than there are.

        The threshold of a model of few rows is not that of one of many, whose scores may have another scale: it is
        chosen anew on the rows that are left of all but the validation set.
        """
        outcome = self.outcome
        chosen = outcome.chosen or outcome.refused  # on all rows it may be better than a constant
        if chosen is None or (best := self.schedule.courses[chosen.name].best) is None or chosen.rows == self.all_rows:
            return
        sizes = [self.learned_from] if self.source.threshold and best.fit.rows < self.learned_from else []
        sizes.append(self.all_rows)
        foreseen = best.seconds * sum((rows / best.fit.rows) ** best.fit.candidate.growth for rows in sizes)
        left = max(self.seconds_left, self.seconds * _FOR_LAST_TRAINING, _MIN_SECONDS)
        if foreseen > left:
            self._note = f"that would take about {foreseen:.3g} s, and {left:.3g} s were left; give more --seconds"
            return
        fitted = best
        for rows in sizes:
            threshold = fitted.threshold if rows == self.all_rows else None
            again = Fit(best.fit.candidate, best.fit.setting, rows, left, threshold=threshold)
            fitted = self._answer(pool, again)
            if fitted.reason or fitted.is_cut:
                self._note = fitted.reason or f"that did not end within {left:.3g} s; give more --seconds"
                return
        evaluated = self._answer(pool, Evaluation(chosen.name, 0, left, fitted.threshold))
        fitting = self._fitting(evaluated)
        if evaluated.reason:
            self._note = evaluated.reason
        elif misfit := self._misfit(evaluated.size, fitting):
            self._note = f"the model of all rows {misfit}"
        else:
            self.last, self._evaluated[chosen.name] = fitted, evaluated
            if fitting is not None:
                self._on_device[chosen.name] = fitting
            self.changed(self.outcome)

    def _answer(self, pool: Pool, request: Asked) -> Any:
        """Return the answer, which comes in any case: a worker that takes too long is ended."""
        pool.ask(request)
        while not (answers := pool.answers(request.seconds)):
            pass
        self.preparing = pool.preparing
        return answers[0]

    def number_of_choice(self) -> int | None:
        """Return the number by which the chosen model is kept."""
        chosen = self.outcome.chosen
        best = self.schedule.courses[chosen.name].best if chosen is not None else None
        return None if best is None else 0 if self.last is not None else best.fit.number

    def choice(self) -> tuple[Any, SavedModel] | None:
        """Return the chosen classifier, and as a model for the rows of a file; None where it is not of this project."""
        number, chosen = self.number_of_choice(), self.outcome.chosen
        if number is None or chosen is None or not chosen.is_own:
            return None
        classifier = pickle.loads(model_path(self.folder, number).read_bytes())
        return classifier, self._saved(number, chosen.threshold)


def _last(pool: Pool) -> Iterator[Sequence[Answer]]:
    """Yield the answers that come soon of what is under way, and end the rest with its processes."""
    end = awake() + _SECONDS_OF_GRACE
    while pool.is_busy and (left := end - awake()) > 0:
        yield pool.answers(left)
    pool.drop()

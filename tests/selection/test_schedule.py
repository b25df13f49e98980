from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpu_bench.selection.candidates import Candidate, Facts, candidates
from mpu_bench.selection.outcome import row_of
from mpu_bench.selection.schedule import Fit, Fitted, Schedule, sizes


def candidate(name: str = "a", growth: float = 2.0, own: bool = True, **grid: Any) -> Candidate:
    kind = "batch" if own else "reference"
    return Candidate(name, kind, "X", {}, grid or {"C": (1.0, 10.0, 0.1)}, growth)


@given(st.integers(20, 10_000_000))
def test_steps_grow_to_all_rows(rows: int) -> None:
    found = sizes(rows)
    assert found[-1] == rows
    assert all(2 * a <= b <= 16 * a for a, b in itertools.pairwise(found))
    assert found[0] <= 4000


def played(schedule: Schedule, seconds: float, takes: Any, error: Any, jobs: int = 1) -> tuple[list[Fit], float]:
    """Play a schedule with learners that take so many seconds and come to such errors; return the fits and the end."""
    made, left = [], seconds
    while (fit := schedule.next(left)) is not None:
        spent = takes(fit)
        made.append(fit)
        cut = min(spent, left)
        left -= cut
        reason = "too long" if cut < spent else ""
        schedule.learn(Fitted(fit, error(fit), cut, cut, reason=reason))
    return made, left


@pytest.mark.parametrize("seconds", [42.0, 8.0])
def test_one_that_does_not_converge_leaves_seconds_for_all_others(seconds: float) -> None:
    """It ends by itself at the seconds that it is told, as the learners of this project do."""
    others = [candidate(str(i), 1.0) for i in range(14)]
    schedule, left = Schedule([candidate("endless"), *others], 400), seconds
    while (fit := schedule.next(left)) is not None:
        spent = fit.seconds if fit.candidate.name == "endless" else 0.01
        left -= spent
        schedule.learn(Fitted(fit, 0.2, spent, spent, is_cut=fit.candidate.name == "endless"))
    assert all(course.best is not None for course in schedule.courses.values())
    assert not any(schedule.courses[each.name].ended for each in others)


def test_two_processes_begin_with_two_candidates() -> None:
    schedule = Schedule([candidate("a"), candidate("b")], 400)
    begun = [schedule.next(10.0), schedule.next(10.0)]
    assert [fit.candidate.name for fit in begun if fit is not None] == ["a", "b"]


def test_the_last_on_its_way_has_all_the_seconds() -> None:
    fit = Schedule([candidate("a", 1.0)], 400).next(10.0)
    assert fit is not None
    assert fit.seconds == 10.0


@given(
    st.lists(st.sampled_from([1.0, 1.5, 2.0]), min_size=1, max_size=5),
    st.integers(50, 200_000),
    st.floats(0.01, 200),
    st.floats(1e-6, 1e-2),
)
def test_it_ends_within_its_seconds_and_tries_no_setting_twice_on_the_same_rows(
    growths: list[float], rows: int, seconds: float, a_row: float
) -> None:
    schedule = Schedule([candidate(str(i), growth) for i, growth in enumerate(growths)], rows)
    made, left = played(
        schedule, seconds, lambda fit: a_row * fit.rows**fit.candidate.growth, lambda fit: 1 / (1 + fit.setting["C"])
    )
    assert left >= 0
    assert len({(fit.candidate.name, fit.rows, str(fit.setting)) for fit in made}) == len(made)
    assert all(fit.rows <= rows for fit in made)
    for course in schedule.courses.values():
        if course.best is not None and not course.ended:
            assert course.best.fit.rows == rows


def test_the_best_setting_comes_to_all_rows() -> None:
    schedule = Schedule([candidate("a", 1.0)], 64_000)
    made, _ = played(schedule, 1000.0, lambda _fit: 0.1, lambda fit: abs(math.log10(fit.setting["C"]) - 1))
    best = schedule.courses["a"].best
    assert best is not None
    assert best.fit.rows == 64_000
    assert best.fit.setting == {"C": 10.0}
    assert sum(fit.rows < 64_000 for fit in made) == 3 + 1 + 1  # of three settings one is left


def test_values_beside_the_best_ones_are_tried_while_there_is_time() -> None:
    schedule = Schedule([candidate("a", 1.0, C=(1.0, 10.0))], 500)
    played(schedule, 1000.0, lambda _fit: 0.1, lambda fit: abs(math.log(fit.setting["C"] / 3.9)))
    best = schedule.courses["a"].best
    assert best is not None
    assert best.fit.setting["C"] == pytest.approx(3.9, rel=0.3)


def test_a_learner_that_takes_too_long_keeps_its_best_on_fewer_rows() -> None:
    schedule = Schedule([candidate("slow"), candidate("fast", 1.0)], 100_000)
    played(schedule, 50.0, lambda fit: 1e-7 * fit.rows**2 if fit.candidate.name == "slow" else 0.1, lambda _fit: 0.2)
    slow, fast = schedule.courses["slow"], schedule.courses["fast"]
    assert slow.best is not None
    assert slow.best.fit.rows < 100_000
    assert "25,000 rows would take too long" in slow.ended
    assert fast.best is not None
    assert fast.best.fit.rows == 100_000
    assert not fast.ended


def test_trees_of_too_many_numbers_are_left_out_with_the_reason() -> None:
    of_few, of_many = (
        {each.name: each for each in candidates(Facts(0.1, numbers=n))} for n in (50_000_000, 50_000_001)
    )
    assert not any(each.left_out for each in of_few.values())
    assert [name for name, each in of_many.items() if each.left_out] == ["HistGradientBoosting"]
    schedule = Schedule([of_many["HistGradientBoosting"]], 10_000)
    assert schedule.next(10.0) is None
    assert schedule.is_done
    row = row_of(schedule.courses["HistGradientBoosting"], None)
    assert row.reason == "is not tried on more than 50,000,000 numbers"


def test_one_that_fails_says_why_and_keeps_what_it_has() -> None:
    schedule = Schedule([candidate("a", 1.0)], 10_000)
    played_fits = 0
    while (fit := schedule.next(10.0)) is not None:
        played_fits += 1
        schedule.learn(Fitted(fit, 0.1, 0.1, 0.1) if fit.rows < 10_000 else Fitted(fit, reason="out of memory"))
    course = schedule.courses["a"]
    assert course.ended == "out of memory"
    assert course.best is not None
    assert course.best.fit.rows < 10_000


@pytest.mark.parametrize("metric", ["accuracy", "f1"])
def test_every_candidate_can_be_made_with_every_setting(metric: str) -> None:
    found = candidates(Facts(0.1, metric, budgets=(50,)))
    assert len({each.name for each in found}) == len(found)
    for each in found:
        for setting in each.settings():
            made = each.build(setting, 0, 1.0)
            parameters = getattr(made, "steps", [("", made)])[-1][1].get_params()
            assert parameters.items() >= setting.items()
            weights = "balanced" if metric == "f1" else None
            assert parameters.get("class_weight", weights) == weights  # wherever there is a place for them


@pytest.mark.parametrize("ends", ["fails", "has no seconds", "is stopped"])
def test_one_that_has_come_to_all_rows_has_no_reason_when_refining_ends(ends: str) -> None:
    schedule = Schedule([candidate("a", 1.0, C=(1.0,))], 500)
    first = schedule.next(10.0)
    assert first is not None
    schedule.learn(Fitted(first, 0.1, 0.1, 0.1))
    refined = schedule.next(10.0)
    assert refined is not None
    if ends == "is stopped":
        schedule.courses["a"].stop("the seconds were over")
    reason = "out of memory" if ends == "fails" else ""
    schedule.learn(Fitted(refined, 0.2, 0.1, 0.1, reason=reason))
    if ends == "has no seconds":
        assert schedule.next(0.0) is None
    course = schedule.courses["a"]
    assert (course.ended, course.is_done) == ("", True)
    assert course.best is not None
    assert course.best.error == 0.1


def test_no_seconds_are_spent_on_what_cannot_win() -> None:
    """Its error falls, but not so fast that it could come to that of the best."""
    names = ("best", "hopeless", "late", "reference")
    made = [candidate(name, 1.0, own=name != "reference", C=(1.0,)) for name in names]
    schedule = Schedule(made, 64_000)

    def error(fit: Fit) -> float:
        steps = sizes(64_000).index(fit.rows)
        return {"best": 0.1, "hopeless": 0.4 - 0.01 * steps, "late": 0.4 - 0.14 * steps, "reference": 0.5}[
            fit.candidate.name
        ]

    while (fit := schedule.next(1e6)) is not None:
        schedule.learn(Fitted(fit, error(fit), 0.1, 0.1, drawn=(0.0, 0.01)))
    hopeless = schedule.courses["hopeless"]
    assert hopeless.best is not None
    assert hopeless.best.fit.rows < 64_000
    assert "cannot become the best any more" in hopeless.ended
    for name in ("best", "late", "reference"):
        best = schedule.courses[name].best
        assert best is not None
        assert best.fit.rows == 64_000


def test_every_candidate_is_trained_once_though_no_seconds_are_left() -> None:
    schedule, left = Schedule([candidate(str(i)) for i in range(5)], 64_000), 1.0
    while (fit := schedule.next(left)) is not None:
        left -= 1.0
        assert fit.seconds <= 1.0
        schedule.learn(Fitted(fit, 0.1, 1.0, 1.0))
    assert schedule.is_sampled
    assert left == -4.0

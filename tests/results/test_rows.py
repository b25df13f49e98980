"""Rows of 0.2.0, which said in words what columns say now."""

from __future__ import annotations

import pytest

from mpu_bench.quantities import Record
from mpu_bench.results import rows
from records import record

LATER = ("ended_by", "unsavable", "maximised", "tuned_on_test", "as_published")


def row(**values: object) -> Record:
    return record({"status": "done", "experiment": "mine"} | values)


@pytest.mark.parametrize(
    ("of_before", "later"),
    [
        ({}, ("own rule", None, 0, 0, 1)),
        ({"reason": "trains in one piece, past stop: seconds 5"}, ("own rule", None, 0, 0, 1)),
        ({"status": "stopped", "reason": "seconds 3; nu 0.1 derived in 2 s"}, ("seconds", None, 0, 0, 1)),
        ({"status": "stopped", "reason": "the peer's own cap"}, ("own cap", None, 0, 0, 1)),
        ({"status": "stopped", "reason": "kernel_evaluations 1e+06"}, ("kernel_evaluations", None, 0, 0, 1)),
        ({"status": "timeout", "reason": "still training after 3 seconds"}, (None, None, 0, 0, 1)),
        ({"reason": "the model is not saved: x", "problem": "largest f(w)"}, ("own rule", 1, 1, 0, 1)),
        ({"tuned": "C of 1, 2; test error of mpu on test set, 3 seeds"}, ("own rule", None, 0, 1, 1)),
        ({"trial": "test set"}, ("own rule", None, 0, 1, 1)),
        ({"experiment": "mine-ci"}, ("own rule", None, 0, 0, 0)),
        ({"experiment": "mine-ci", "as_published": 1}, ("own rule", None, 0, 0, 1)),
    ],
)
def test_what_0_2_0_said_in_words(of_before: dict[str, object], later: tuple[object, ...]) -> None:
    assert tuple(map(rows.of_before(row(**of_before)).value, LATER)) == later


def test_no_word_of_a_row_of_today_says_anything() -> None:
    words = "seconds 5; the model is not saved: on test set"
    now = row(reason=words, problem="largest f(w)", tuned="on test set", ended_by="own rule", maximised=0)
    assert rows.of_before(now) == now


def test_what_ends_a_run_is_one_of_those_known() -> None:
    with pytest.raises(rows.DamagedError, match="ended_by is 'boredom', which is none"):
        rows.record_of({"status": "done", "ended_by": "boredom"})

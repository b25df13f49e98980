"""The phases of a run and their bounds, by a clock that the test moves."""

from __future__ import annotations

import pytest

from mpu_bench.config.schema import Limits, Stop
from mpu_bench.experiment.messages import Aside, Message, Phase, Progress
from mpu_bench.experiment.pool.local import Course

STARTED: list[tuple[float, Message]] = [(1, Phase("loading")), (2, Phase("compiling"))]
TRAINING: list[tuple[float, Message]] = [*STARTED, (3, Phase("training"))]
LIMITED, STOPPED, FREE = (Limits(seconds=10), Stop()), (Limits(), Stop(seconds=10)), (Limits(), Stop())


def overdue_at(heard: list[tuple[float, Message]], seconds: float, limits: Limits, stop: Stop) -> str:
    """Return what is said after some seconds of a run that has told something at some times."""
    now = 0.0
    course = Course(limits, stop, lambda: now)
    for now, message in heard:  # noqa: B007 - the clock reads it
        course.hear(message)
    now = seconds
    return course.overdue()


@pytest.mark.parametrize(
    ("heard", "seconds", "bounded_by", "words"),
    [
        (TRAINING, 12.9, LIMITED, ""),
        (TRAINING, 13.1, LIMITED, "still training after 10 seconds"),
        ([*TRAINING, (12, Progress(1.0, 9.0))], 13.1, LIMITED, "still training after 10 seconds"),
        (TRAINING, 13.1, STOPPED, ""),
        (TRAINING, 48.1, STOPPED, "still training after 45 seconds"),
        ([*TRAINING, (12, Progress(1.0, 9.0))], 48.1, STOPPED, ""),
        (TRAINING, 1e9, FREE, ""),
        # evaluating counts for no limit of training, and is not called training
        ([*TRAINING, (12, Aside(True))], 200, LIMITED, ""),
        ([*TRAINING, (12, Aside(True)), (1000, Aside(False))], 1000.9, LIMITED, ""),
        ([*TRAINING, (12, Aside(True)), (1000, Aside(False))], 1001.1, LIMITED, "still training after 10 s"),
        ([*TRAINING, (12, Aside(True))], 213, LIMITED, "still evaluating after 200 seconds"),
        ([*TRAINING, (12, Aside(True))], 913, STOPPED, "still evaluating after 900 seconds"),
        ([*TRAINING, (12, Aside(True))], 1e9, FREE, ""),
        # a warm-up is no training, and neither compiling nor loading code counts for it
        (STARTED, 41.9, LIMITED, ""),
        (STARTED, 42.1, LIMITED, "still warming up on a few rows, before training, after 40 seconds"),
        ([*STARTED, (3, Aside(True)), (500, Aside(False))], 538.9, LIMITED, ""),
        ([*STARTED, (3, Aside(True)), (500, Aside(False))], 539.1, LIMITED, "still warming up on a few rows"),
        ([*STARTED, (3, Aside(True))], 904, LIMITED, "still compiling after 900 seconds"),
        ([*STARTED, (3, Aside(True)), (500, Aside(False)), (501, Aside(True))], 905, FREE, "still compiling"),
        (STARTED, 603, FREE, "still warming up on a few rows, before training, after 600 seconds"),
        ([(1, Phase("importing"))], 122, FREE, "still importing the plugin after 120 seconds"),
        ([], 601, FREE, "still starting after 600 seconds"),
    ],
)
def test_which_bound_is_exceeded(
    heard: list[tuple[float, Message]], seconds: float, bounded_by: tuple[Limits, Stop], words: str
) -> None:
    said = overdue_at(heard, seconds, *bounded_by)
    assert said.startswith(words)
    assert bool(said) == bool(words)

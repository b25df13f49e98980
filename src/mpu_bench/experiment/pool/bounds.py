"""How long a run may take: every phase of it has a bound, from the moment it is handed to a worker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from mpu_bench.config.schema import Limits, Stop
from mpu_bench.experiment.messages import Compiler, Evaluating, Message, Phase
from mpu_bench.guard.process import AwakeClock

#: what getting to the data may take, and a worker to begin
LOADING_SECONDS = 600.0
#: what importing a plugin may take
IMPORTING_SECONDS = 120.0
#: what numba may take in one warm-up; the rest of a warm-up is training on 200 examples
COMPILING_SECONDS = 900.0
#: what a warm-up may take where the config bounds no seconds
WARM_UP_SECONDS = 600.0
#: what a warm-up may take beyond what the config allows, for imports
WARM_UP_GRACE_SECONDS = 30.0
#: what evaluating a model once may take, where the config bounds seconds: so many times these, or a minute
EVALUATING_FACTOR, EVALUATING_SECONDS = 20.0, 60.0
#: what a solver that cannot be sliced may take beyond stop.seconds
STOP_GRACE_FACTOR, STOP_GRACE_SECONDS = 1.5, 30.0

_WORDS = {
    "starting": "starting",
    "loading": "loading",
    "kernel matrix": "computing the kernel matrix without a word",
}


@dataclass
class Course:
    """The phases of a run as they are heard of, and which bound is exceeded.

    ``limits.seconds`` bounds training and a warm-up, without evaluating, compiling and loading code, which have bounds
    of their own. Only a config without ``limits.seconds`` and ``stop.seconds`` leaves training without a bound.
    """

    limits: Limits
    stop: Stop
    clock: Callable[[], float] = field(default_factory=AwakeClock)
    phase: str = "starting"
    since: float = 0.0  #: when the phase began, later by what does not count of it
    heard: float = 0.0  #: when there was a message
    aside_since: float | None = None  #: when compiling, or evaluating, began
    compiled_seconds: float = 0.0

    def hear(self, message: Message) -> None:
        """Take note of a message."""
        self.heard = now = self.clock()
        match message:
            case Phase(name):
                self.phase, self.since, self.aside_since, self.compiled_seconds = name, now, None, 0.0
            case Compiler(begins=True) | Evaluating(begins=True):
                self.aside_since = now
            case Compiler() | Evaluating() if self.aside_since is not None:
                self.since += now - self.aside_since
                self.compiled_seconds += now - self.aside_since
                self.aside_since = None
            case _:
                pass

    def silent_training(self) -> float:
        """Return for how many seconds it has trained without a word."""
        return self.clock() - self.heard if self.phase == "training" and self.aside_since is None else 0.0

    def overdue(self) -> str:
        """Return which bound is exceeded, in words; nothing if none is."""
        now, allowed = self.clock(), self._training_seconds()
        aside = 0.0 if self.aside_since is None else now - self.aside_since
        lasted = now - self.since - aside
        match self.phase:
            case "training" if self.aside_since is not None:
                doing, lasted = "evaluating", aside
                allowed = None if allowed is None else max(EVALUATING_FACTOR * allowed, EVALUATING_SECONDS)
            case "training":
                doing = "training"
                if self.limits.seconds is None:  # a solver that heeds stop.seconds tells how it goes on
                    lasted = now - self.heard
            case "compiling" if self.compiled_seconds + aside > COMPILING_SECONDS:
                return self._words("compiling", COMPILING_SECONDS)
            case "compiling":
                doing = "warming up on a few rows, before training,"
                allowed = WARM_UP_SECONDS if allowed is None else allowed + WARM_UP_GRACE_SECONDS
            case "importing":
                doing, allowed = "importing the plugin", IMPORTING_SECONDS
            case _:
                doing, allowed = _WORDS[self.phase], LOADING_SECONDS
        return self._words(doing, allowed) if allowed is not None and lasted > allowed else ""

    def _training_seconds(self) -> float | None:
        if self.limits.seconds is not None or self.stop.seconds is None:
            return self.limits.seconds
        return STOP_GRACE_FACTOR * self.stop.seconds + STOP_GRACE_SECONDS

    @staticmethod
    def _words(doing: str, seconds: float) -> str:
        return f"still {doing} after {seconds:g} seconds; ended by mpu-bench"

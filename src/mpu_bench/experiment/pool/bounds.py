"""How long a run may take: every phase of it has a bound, from the moment it is handed to a worker."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from mpu_bench.config.schema import Limits, Stop
from mpu_bench.experiment.messages import Compiler, Message, Phase

#: what getting to the data may take, and a worker to begin
LOADING_SECONDS = 600.0
#: what importing a plugin may take
IMPORTING_SECONDS = 120.0
#: what numba may take in one warm-up; the rest of a warm-up is training on 200 examples
COMPILING_SECONDS = 900.0
#: what a warm-up may take where the config bounds no seconds
WARM_UP_SECONDS = 600.0
#: what a warm-up may take beyond what the config allows, for loading code that was compiled before
WARM_UP_GRACE_SECONDS = 60.0
#: what a solver that cannot be sliced may take beyond stop.seconds
STOP_GRACE_FACTOR, STOP_GRACE_SECONDS = 1.5, 30.0

_WORDS = {
    "starting": "starting",
    "importing": "importing the plugin",
    "loading": "loading",
    "kernel matrix": "computing the kernel matrix without a word",
    "training": "training",
}


@dataclass
class Course:
    """The phases of a run as they are heard of, and which bound is exceeded.

    ``limits.seconds`` bounds training, with all that is measured of it, and a warm-up but for the seconds in which
    numba compiles. Only training of a config without ``limits.seconds`` and ``stop.seconds`` has no bound.
    """

    limits: Limits
    stop: Stop
    phase: str = "starting"
    since: float = field(default_factory=time.monotonic)  #: when the phase began
    heard: float = field(default_factory=time.monotonic)  #: when there was a message
    compiling_since: float | None = None
    compiled_seconds: float = 0.0

    def hear(self, message: Message) -> None:
        """Take note of a message."""
        self.heard = now = time.monotonic()
        match message:
            case Phase(name):
                self.phase, self.since, self.compiling_since, self.compiled_seconds = name, now, None, 0.0
            case Compiler(begins=True):
                self.compiling_since = now
            case Compiler(begins=False) if self.compiling_since is not None:
                self.compiled_seconds += now - self.compiling_since
                self.compiling_since = None
            case _:
                pass

    def overdue(self) -> str:
        """Return which bound is exceeded, in words; nothing if none is."""
        now = time.monotonic()
        if self.phase == "training":
            since = self.since if self.limits.seconds is not None else self.heard  # evaluating, off the clock
            allowed = self._training_seconds()
            return self._words("training", allowed) if allowed is not None and now - since > allowed else ""
        if self.phase == "compiling":
            compiling = self.compiled_seconds + (now - self.compiling_since if self.compiling_since is not None else 0)
            if compiling > COMPILING_SECONDS:
                return self._words("compiling", COMPILING_SECONDS)
            allowed = self._training_seconds()
            allowed = WARM_UP_SECONDS if allowed is None else allowed + WARM_UP_GRACE_SECONDS
            return self._words("warming up", allowed) if now - self.since - compiling > allowed else ""
        allowed = IMPORTING_SECONDS if self.phase == "importing" else LOADING_SECONDS
        return self._words(_WORDS[self.phase], allowed) if now - self.since > allowed else ""

    def _training_seconds(self) -> float | None:
        if self.limits.seconds is not None or self.stop.seconds is None:
            return self.limits.seconds
        return STOP_GRACE_FACTOR * self.stop.seconds + STOP_GRACE_SECONDS

    @staticmethod
    def _words(doing: str, seconds: float) -> str:
        return f"still {doing} after {seconds:g} seconds; ended by mpu-bench"

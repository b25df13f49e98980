"""Whether a run was disturbed, so that its seconds may not be compared: the rule, with its reasons, and its probe.

What is compared is the processor seconds of one thread, the wall seconds of several; what people see are wall
seconds. A run is disturbed where the wall seconds may be more than a quarter too long, or its processor was slow. Its
processor seconds suffer less: beside one other process on the same core, waiting 60% of its seconds, a loop over
memory took 9% more of them, beside three, waiting 87%, 27% more (gather and sum over 3 MB, AMD EPYC, Linux 6.18). So a
run of one thread that only had to wait, two thirds of its seconds at most, is delayed: its processor seconds count.
"""

from __future__ import annotations

import math
import os
import time

from mpu_bench import usage
from mpu_bench.quantities import Record
from mpu_bench.texts import counted

#: a fifth of the wall seconds lost makes them a quarter longer: well below the factor of 2 that ratios are judged by
LOST_SHARE = 0.2
#: with more its processor seconds may be a quarter too many
_MAX_WAITED_SHARE = 2 / 3
_SMALLEST_SHARE = 0.005  # less would read "0%"
#: a single turn of another process lasts a few milliseconds, so less says something of chance, not of the machine
MIN_WAITING_SECONDS = 0.01
#: steal is counted in whole ticks, so one tick may stand for nearly none, and two for one at least
MIN_STEAL_TICKS = 2
#: even at a load of 2 on the same cores half of all single tries took less than 1.2 times the fastest, and only one in
#: twenty more than 1.3 to 1.8 times: three slow tries one after the other are no chance
SLOW_PROBE = 1.5
#: a single try may be hit by what lasts milliseconds only: there are more before a processor is called slow
_PROBE_TRIES = 3
#: a probe takes longer than many a run: runs that follow each other at once share one
_SECONDS_BETWEEN_PROBES = 0.25

_PROBE_VALUES = 1 << 18  # 1 MB, and 2 MB of indices: more than a core's own cache, as the data of most runs
_PROBE_ROUNDS = 60  # about 20 ms on a processor of 2024
_COARSE_SECONDS = 1e-3  # a clock whose ticks are longer cannot time a probe
_LOOKS, _SECONDS_BETWEEN_LOOKS = 5, 0.004


class Probe:
    """A short fixed computation, whose processor seconds say how fast this process's processor is now.

    It gathers numbers from an array larger than a core's own cache and adds them, and so feels a slower clock of the
    processor, a neighbour on the same core, and crowded memory.

    Parameters
    ----------
    fastest : float
        Processor seconds of the fastest probe known of this machine; infinite if none is.
    """

    def __init__(self, fastest: float = math.inf) -> None:
        import numpy as np

        random = np.random.Generator(np.random.PCG64(0))
        self._values = random.random(_PROBE_VALUES, dtype=np.float32)
        self._order = random.permutation(_PROBE_VALUES)
        self._gathered = np.empty_like(self._values)
        self.fastest = fastest
        self._last = (-math.inf, math.nan)  # when it was made, and its seconds

    def measure(self) -> float:
        """Return the processor seconds of the fastest of a few tries, made now or less than a quarter of a second ago.

        NaN where the clock is too coarse for them.
        """
        measured_at, seconds = self._last
        if time.monotonic() - measured_at > _SECONDS_BETWEEN_PROBES:
            seconds = self._fastest_try()
            self._last = time.monotonic(), seconds
        return seconds

    def _fastest_try(self) -> float:
        if time.get_clock_info("process_time").resolution > _COARSE_SECONDS:
            return math.nan
        is_first, seconds = math.isinf(self.fastest), math.inf
        for _ in range(_PROBE_TRIES):
            seconds = min(seconds, self._once())
            if not is_first and seconds <= SLOW_PROBE * self.fastest:
                break
        self.fastest = min(self.fastest, seconds)
        return seconds

    def _once(self) -> float:
        began = time.process_time()
        for _ in range(_PROBE_ROUNDS):
            self._values.take(self._order, out=self._gathered, mode="clip")
            self._gathered.sum()
        return time.process_time() - began


def why(run: Record, fastest_probe: float) -> str:
    """Return in words why a run's seconds may not be compared; nothing if they may.

    Parameters
    ----------
    run : Record
        None or NaN is what is not known.
    fastest_probe : float
        Processor seconds of the fastest probe known of this machine.
    """
    wall, threads = _known(run.train_seconds), run.threads or 1
    waited = _known(run.waiting_seconds) / threads
    # every processor in use loses alike: this is what each of them lost
    stolen = _known(run.steal_seconds) / (threads + _known(run.load))
    idle = wall - _known(run.cpu_seconds) if threads == 1 else 0.0  # what several threads leave idle is their own
    waited = waited if waited >= MIN_WAITING_SECONDS else 0.0
    stolen = stolen if _known(run.steal_seconds) * usage.TICKS_PER_SECOND >= MIN_STEAL_TICKS else 0.0
    reasons = []
    if waited + stolen > LOST_SHARE * wall:
        share = f"{waited / wall:.0%} of its wall seconds" if waited < wall else "longer than it trained"
        reasons += [f"waited {share}"] if waited > _SMALLEST_SHARE * wall else []
        lost = f"lost {stolen / wall:.0%} of its wall seconds to other machines of the host"
        reasons += [lost] if stolen > _SMALLEST_SHARE * wall else []
    elif idle > max(LOST_SHARE * wall, MIN_WAITING_SECONDS):
        reasons.append(f"was stopped for {idle / wall:.0%} of its wall seconds")
    if (slowdown := _slowdown(run, fastest_probe)) > SLOW_PROBE:
        reasons.append(f"the processor was {slowdown:.1f} times slower than at its fastest")
    return "; ".join(reasons)


def only_delays(run: Record, fastest_probe: float) -> bool:
    """Return whether what disturbed a run leaves its processor seconds as they are; parameters as in `why`."""
    is_slow = _slowdown(run, fastest_probe) > SLOW_PROBE
    stolen, waited = _known(run.steal_seconds), _known(run.waiting_seconds)
    is_stolen = stolen * usage.TICKS_PER_SECOND >= MIN_STEAL_TICKS and stolen > LOST_SHARE * _known(run.cpu_seconds)
    return (
        run.threads == 1 and not is_slow and not is_stolen and waited <= _MAX_WAITED_SHARE * _known(run.train_seconds)
    )


def _slowdown(run: Record, fastest_probe: float) -> float:
    """Return how many times slower than at its fastest the processor was; 0 where that is not known."""
    return _known(run.probe_seconds) / fastest_probe


def _known(number: float | None) -> float:
    return 0.0 if number is None or math.isnan(number) else number


def load_of_others() -> float:
    """Return how many other threads of this machine want a processor, looking a few times in 20 ms (Linux; else NaN).

    To be called before this process starts threads.
    """
    looks = []
    for _ in range(_LOOKS):
        looks.append(usage.others_running())
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    return sum(looks) / len(looks)


def warning(load: float, wanted: int) -> str:
    """Return what to say of a machine on which others leave too few free processors; nothing if they do not.

    Parameters
    ----------
    load : float
        Of others, as `load_of_others` returns it.
    wanted : int
        Processors that the runs use at once.
    """
    processors = os.cpu_count() or 1
    free = max(0, processors - wanted)
    if not load > free:
        return ""
    others = max(free + 1, round(load))
    return (
        f"this machine is busy: {others} other thread{' wants' if others == 1 else 's want'} its "
        f"{counted(processors, 'processor')}, and the runs need {wanted}; "
        "runs that this disturbs are marked †, and their seconds are not compared"
    )

"""Shifts the clock of the Python process that it is found by, after some seconds; for tests, by PYTHONPATH.

``MPU_BENCH_TEST_CLOCK`` is ``AFTER,SHIFT``, both in seconds. It covers `time.time` and `time.time_ns`, which is what
Python code asks for the time of day; not `datetime.now`, the times of files and those that C code asks for. Clocks that
only go forward (`time.monotonic`, `time.perf_counter`) stay as they are, as they do when a machine's clock is set.
"""

import os
import time

if "MPU_BENCH_TEST_CLOCK" in os.environ:
    _after, _shift = (float(part) for part in os.environ["MPU_BENCH_TEST_CLOCK"].split(","))
    _began, _time, _time_ns = time.monotonic(), time.time, time.time_ns

    def _shifted() -> float:
        return _time() + (_shift if time.monotonic() - _began > _after else 0.0)

    def _shifted_ns() -> int:
        return _time_ns() + int(1e9 * _shift if time.monotonic() - _began > _after else 0)

    time.time, time.time_ns = _shifted, _shifted_ns

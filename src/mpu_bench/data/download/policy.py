"""How patient the downloader is, and what it bears of one address."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Policy:
    """How patient the downloader is, and what it bears of one address: every download ends.

    Attributes
    ----------
    attempts : int
        Tries at one address in a row without progress.
    progress : int
        Bytes beyond the furthest reached so far that count as progress and start the count of tries anew.
    most_attempts : int
        Tries at one address in all, with progress or without.
    wait, longest_wait : float
        Seconds before the second try, doubled for each further one, and their bound. Each wait is drawn between
        half and all of it, so that many processes do not come back at once.
    longest_retry_after : float
        Seconds that a server may ask for (``Retry-After``); if it wants more, the next address is tried.
    connect_timeout, read_timeout : float
        Seconds without a connection, and without a byte.
    answer_timeout : float
        Seconds until an answer's headers are all there.
    least_rate, rate_window : float
        Bytes a second that must arrive on average of so many seconds; a slower answer is cut.
    longest : float
        Seconds that are spent on one address; the same command later continues.
    most_header_bytes : int
        Of one answer, with all that precedes it; also of what is not the file within a body.
    most_redirects : int
        From one address to the next.
    most_bytes : int
        Of a file whose size is known neither from its card nor from its server.
    sleep : function
        Waits for a number of seconds.
    chance : function
        Draws from [0, 1).
    """

    attempts: int = 4
    progress: int = 1 << 20
    most_attempts: int = 400
    wait: float = 1.0
    longest_wait: float = 30.0
    longest_retry_after: float = 120.0
    connect_timeout: float = 15.0
    read_timeout: float = 60.0
    answer_timeout: float = 180.0
    least_rate: float = 1000.0
    rate_window: float = 300.0
    longest: float = 86_400.0
    most_header_bytes: int = 1 << 20
    most_redirects: int = 10
    most_bytes: int = 100 * 10**9
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random

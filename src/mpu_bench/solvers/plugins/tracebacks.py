"""Where in a user's own file an exception was raised, in words and as Python's own traceback."""

from __future__ import annotations

import traceback
from collections.abc import Collection
from pathlib import Path

from mpu_bench.texts import plain

MOST_BYTES = 8_000  #: of a traceback
_PACKAGES = "site-packages"


def location_of(fault: BaseException, files: Collection[Path]) -> str:
    """Return the last location in any of the files that an exception passed: ``own.py, line 31, in advance``.

    Parameters
    ----------
    fault : BaseException
    files : collection of Path
        As they were imported.

    Returns
    -------
    str
        Empty where it passed none of them.
    """
    frames = [frame for frame in _frames(fault) if Path(frame.filename) in files]
    return f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}, in {frames[-1].name}" if frames else ""


def traceback_of(fault: BaseException, files: Collection[Path], said: str) -> str:
    """Return the traceback of an exception, from the first frame in any of the files on; else the whole.

    Parameters
    ----------
    fault : BaseException
    files : collection of Path
    said : str
        The exception's name and text: the last line.

    Returns
    -------
    str
        Plain text of `MOST_BYTES` at most; of a longer one the end is left, which is nearest to the fault.
    """
    frames = _frames(fault)
    first = next((index for index, frame in enumerate(frames) if Path(frame.filename) in files), 0)
    lines = [line for frame in frames[first:] for line in _lines(frame, files)]
    end = plain(said, MOST_BYTES // 2)
    room = MOST_BYTES - len(end.encode()) - 100  # for the words around
    kept: list[str] = []
    for line in map(plain, reversed(lines)):
        room -= len(line.encode()) + 1
        if room < 0:
            kept.append("  ...")
            break
        kept.append(line)
    return "\n".join(["Traceback (most recent call last):", *reversed(kept), end])


def _frames(fault: BaseException) -> list[traceback.FrameSummary]:
    return list(traceback.extract_tb(fault.__traceback__))


def _lines(frame: traceback.FrameSummary, files: Collection[Path]) -> list[str]:
    """Return a frame as Python writes it, with no more of its path than is needed to find it."""
    path = Path(frame.filename)
    shown = path.name if path in files else frame.filename.rpartition(f"{_PACKAGES}/")[2]
    source = [f"    {frame.line}"] if frame.line else []
    return [f'  File "{shown}", line {frame.lineno}, in {frame.name}', *source]

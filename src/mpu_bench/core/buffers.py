"""Large memory for rows of kernel values, which a fit leaves to the next one of the same process.

On a virtual machine a gigabyte that is touched for the first time costs 1 to 2.5 seconds of the system's time, small
pages or large ones, as the host has to find it; rows themselves cost less. So memory is only touched where a row is
written, from the first slot on, and what a fit has touched the next one writes to again.
"""

from __future__ import annotations

import math
import threading
import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SMALL = 1 << 24  # bytes, below which the C library does as well
_MAX_KEPT = (1 << 30) + (1 << 27)  # bytes that nobody uses now: the rows of one fit, and parts of them

_kept: list[NDArray[np.uint8]] = []  # by rising size
_lock = threading.RLock()  # memory may be given back whenever an array goes, also while some is taken


class _Loan:
    """What an array in borrowed memory, and each view of it, keeps alive; when it goes, the memory is free again."""

    def __init__(self, memory: NDArray[np.uint8]) -> None:
        self.__array_interface__ = memory.__array_interface__
        weakref.finalize(self, _give_back, memory).atexit = False


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return an array of any content, of zeros where it is small; its memory is free again when its last view goes.

    Raises
    ------
    MemoryError
        If the system has not as much.
    """
    size = math.prod(shape) * dtype.itemsize
    if size < _SMALL:
        return np.zeros(shape, dtype)
    return np.asarray(_Loan(_taken(size)))[:size].view(dtype).reshape(shape)


def release() -> None:
    """Let the system have all memory that nobody uses."""
    with _lock:
        _kept.clear()


def _taken(size: int) -> NDArray[np.uint8]:
    with _lock:
        for index, memory in enumerate(_kept):
            if len(memory) >= size:
                return _kept.pop(index)
    rounded = 1 << (size - 1).bit_length()  # so that the next fit, of a few more rows, has place in it
    return np.empty(rounded if rounded <= _MAX_KEPT else size, np.uint8)  # numpy asks for large pages


def _give_back(memory: NDArray[np.uint8]) -> None:
    with _lock:
        _kept.append(memory)
        _kept.sort(key=len)
        while sum(map(len, _kept)) > _MAX_KEPT:
            _kept.pop(-1 if len(_kept[-1]) > _MAX_KEPT else 0)


def grown(array: NDArray[Any], *shape: int) -> NDArray[Any]:
    """Return a larger array that begins with this one along every axis; the rest is zero."""
    larger = np.zeros(shape, array.dtype)
    larger[tuple(slice(length) for length in array.shape)] = array
    return larger

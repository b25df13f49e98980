"""Moments that are chosen by what a process does to its files, as the kernel tells it (inotify; Linux)."""

from __future__ import annotations

import ctypes
import os
import re
import select
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_CREATE, _MOVED_TO, _MODIFY, _ONLY_DIRECTORY = 0x100, 0x80, 0x2, 0x1000000
_EVENT = struct.Struct("iIII")
_LOOK_SECONDS = 0.05


class Watch:
    """Waits until a file whose path matches appears or grows anywhere below some folders.

    Parameters
    ----------
    folders : paths
        They are made. Folders that are made in them later are watched, too.
    """

    def __init__(self, *folders: Path) -> None:
        self._library = ctypes.CDLL(None, use_errno=True)
        self._number = self._library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self._places: dict[int, Path] = {}
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
            self._add(folder)

    def _add(self, folder: Path) -> list[str]:
        """Watch a folder and those in it; return the files that were there before."""
        mask = _CREATE | _MOVED_TO | _MODIFY | _ONLY_DIRECTORY
        number = self._library.inotify_add_watch(self._number, os.fsencode(folder), mask)
        if number < 0:
            return []
        self._places[number] = folder
        found = []
        with suppress(OSError):
            for path in folder.iterdir():
                found += self._add(path) if path.is_dir() else [str(path)]
        return found

    def wait(self, pattern: str, number: int, alive: Callable[[], bool]) -> str:
        """Wait for so many events at matching files; return the path of the last, or nothing if the process ended."""
        wanted = re.compile(pattern)
        while True:
            for path in self._events():
                if wanted.search(path):
                    number -= 1
                    if number <= 0:
                        return path
            if not alive():
                return ""

    def _events(self) -> list[str]:
        select.select([self._number], [], [], _LOOK_SECONDS)
        try:
            content = os.read(self._number, 1 << 16)
        except BlockingIOError:
            return []
        found, place = [], 0
        while place < len(content):
            watch, _mask, _cookie, length = _EVENT.unpack_from(content, place)
            place += _EVENT.size
            name = content[place : place + length].rstrip(b"\0").decode(errors="replace")
            place += length
            if watch in self._places and name:
                path = self._places[watch] / name
                found.append(str(path))
                if path.is_dir():
                    found += self._add(path)
        return found

    def close(self) -> None:
        os.close(self._number)

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def pause(seconds: float) -> None:
    """Wait, as exactly as it goes: sleeping rounds up to a tenth of a millisecond."""
    until = time.perf_counter() + seconds
    if seconds > 0.002:
        time.sleep(seconds - 0.001)
    while time.perf_counter() < until:
        pass

"""Text that comes from outside (a server, a file, a plugin, a person), made fit to be printed, kept and published."""

from __future__ import annotations

import math
import os
import re
import shlex
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

MAX_BYTES = 10_000  #: of a reason that is kept
_LONGEST_NAME = 80

#: of an address: what stands before its host (a password may hold what no host does), and what a key opens
_CREDENTIALS = re.compile(r"(?<=://)(?:[^/?#\s'\"]*@|[^/?#\s'\"@:]*:(?!\d+(?:[/?#\s'\"]|$))[^\s'\"]*@)")
_KEYS = re.compile(r"([?&;][\w.-]*(?:token|key|pass|pwd|secret|sig|auth|credential)[\w.-]*=)[^&;\s'\"]+", re.IGNORECASE)
_FORMULA = re.compile(r"'*\s*[=+\-@\t\r＝＋－＠]")  # with what a spreadsheet takes a cell for a formula
_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # control and format characters, halves of surrogate pairs, separators


def plain(text: str, max_bytes: int = MAX_BYTES) -> str:
    r"""Return a text without what a terminal obeys or UTF-8 cannot hold, and no longer than a number of bytes.

    Line ends and tabs stay; any other control or format character, and half of a surrogate pair, is written as
    ``\x1b`` or the like. Of a longer text the beginning is left, with a word on the rest.

    Parameters
    ----------
    text : str
    max_bytes : int
        In UTF-8.
    """
    if text.isascii() and text.isprintable() and len(text) <= max_bytes:  # as nearly all texts are
        return text
    shown = "".join(map(_visible, text[: max_bytes + 1]))
    if len(text) <= max_bytes and len(shown.encode()) <= max_bytes:
        return shown
    end = f" ... ({len(text):,} characters)"
    beginning = shown.encode()[: max(0, max_bytes - len(end))].decode(errors="ignore")
    return beginning + end


def _visible(character: str) -> str:
    if character in "\n\t" or character.isprintable() or unicodedata.category(character) not in _HIDDEN:
        return character
    return character.encode("unicode_escape", "backslashreplace").decode()


def number_in(text: str) -> float:
    """Return the finite number that a text is, as files write it; NaN if it is none, such as 1_000 of Python alone."""
    try:
        return number if text.isascii() and "_" not in text and math.isfinite(number := float(text)) else math.nan
    except ValueError:
        return math.nan


def one_line(text: str, max_bytes: int = MAX_BYTES) -> str:
    """Return a text as `plain` does, its lines joined by spaces."""
    return plain(" ".join(text.split()), max_bytes)


def publishable(text: str, max_bytes: int = MAX_BYTES) -> str:
    """Return a text as `plain` does, without what addresses hold of secrets, and with ``~`` for the home folder.

    For whatever is kept in a results folder or published from it.
    """
    if "/" not in text and "\\" not in text:  # as in nearly all texts
        return plain(text, max_bytes)
    without = _KEYS.sub(r"\1...", without_credentials(text))
    for home in _homes(os.environ.get("HOME")):
        without = home.sub("~", without)
    return plain(without, max_bytes)


def without_credentials(text: str) -> str:
    """Return a text without users and passwords of addresses in it."""
    return _CREDENTIALS.sub("", text)


@lru_cache(maxsize=4)
def _homes(_variable: str | None) -> list[re.Pattern[str]]:
    """Return what finds the home folder, as it is called and as it really is; of a user without one it is /."""
    try:
        home = Path.home()
        names = {str(home), os.path.realpath(home)}
    except (RuntimeError, OSError):  # nobody knows a home of this user
        return []
    return [re.compile(re.escape(name) + r"(?![\w.-])") for name in names if len(name) > 1]


def plain_name(name: str) -> str:
    """Return a name that an experiment may have: of ASCII letters and digits; that of a dataset may have others."""
    ascii_only = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9_.-]", "", ascii_only).lstrip("_.-")[:_LONGEST_NAME] or "mine"


def cell(text: str) -> str:
    """Return a text as a CSV cell that no spreadsheet takes for a formula: ``'`` before what looks like one.

    Numbers, such as ``-1.5``, stay as they are.
    """
    return f"'{text}" if _FORMULA.match(text) and not _is_number(text) else text


def uncell(text: str) -> str:
    """Return the text that `cell` was given."""
    return text[1:] if text[:1] == "'" and cell(text[1:]) == text else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def command(*words: object) -> str:
    """Return a command of mpu-bench as a shell takes it: a path may hold blanks."""
    return shlex.join(["mpu-bench", *map(str, words)])


def counted(count: int, noun: str) -> str:
    """Return a number of things in words: ``1 run``, ``2,000 runs``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def listed(words: Sequence[str], limit: int = 5) -> str:
    """Return the first words of a list, and how many more there are: ``a, b and 3 more``."""
    more = len(words) - limit
    return ", ".join(words[:limit]) + (f" and {more} more" if more > 0 else "")


def duration(seconds: float) -> str:
    """Return seconds as people say them, in one unit: ``40 s``, ``12 min``, ``3.5 h``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"

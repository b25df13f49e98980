"""What is said of a reported value, or of a claim, beside what was measured."""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import Any


class Finding(Enum):
    """What a verdict says of a paper: one of three colours on pages, by its class, and its style in the terminal."""

    FOR = "good", "green"
    OPEN = "open", "yellow"
    AGAINST = "bad", "bold red"
    NOTHING = "open", "dim"

    def __init__(self, page: str, terminal: str) -> None:
        self.page, self.terminal = page, terminal


class Verdict(StrEnum):
    """A verdict; equal to its id, which files and scripts hold. Tables show the members in this order.

    Attributes
    ----------
    word, mark : str
        What people read, and the same in a cell of a table.
    finding : Finding
        What it says of the paper, with its colour.
    meaning : str
    """

    word: str
    mark: str
    finding: Finding
    meaning: str

    def __new__(cls, key: str, *described: Any) -> Verdict:
        """Return the member that has an id."""
        member = str.__new__(cls, key)
        member._value_ = key
        member.word, member.mark, member.finding, member.meaning = described
        return member

    # fmt: off
    REPRODUCED = ("agrees", "reproduced", "✓", Finding.FOR,
        "as close as the reported digits and the scatter of the runs ask; a ratio of seconds within 2 times")
    WITHIN_5X = "same order", "within 5x", "≈", Finding.OPEN, "a ratio of seconds that is between 2 and 5 times off"
    SUPPORTED = ("holds", "supported", "✓", Finding.FOR,
        "a claim that no point contradicts of those it covers, and all are measured")
    SUPPORTED_SO_FAR = ("holds so far", "supported so far", "✓", Finding.OPEN,
        "the same, and only some of its points are measured")
    NOT_REPRODUCED = ("differs", "not reproduced", "≠", Finding.AGAINST,
        "a value, or ratio, that is further off, beyond chance")
    CONTRADICTED = ("refuted", "contradicted", "✗", Finding.AGAINST,
        "a claim that one of the points it covers contradicts beyond noise")
    INCONCLUSIVE = "undecided", "inconclusive", "?", Finding.OPEN, "the runs are too few to say"
    FITTED = ("fitted", "fitted", "=", Finding.NOTHING,
        "it agrees, and a setting was read off this very number: it tests nothing")
    NOT_INFORMATIVE = ("uninformative", "not informative", "○", Finding.OPEN,
        "a constant answer does as well, or the reported digits leave nearly every number")
    NOT_COMPARABLE = ("not judged", "timing not comparable", "–", Finding.NOTHING,
        "seconds that were disturbed, or may have been, or those of two machines")
    NOT_RUN = "not run", "not run", "·", Finding.NOTHING, "there is no measured value; the reason stands beside it"

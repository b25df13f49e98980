"""What a column of the results is: its meaning and type, and of a measured quantity how it is shown and compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal

TOO_LARGE = 1e150  #: what is not below it is taken for infinite: means of it, or its square, would overflow
_numbers = count()


@dataclass(frozen=True)
class Column:
    """A column of runs.csv that says which run it is, or what became of it.

    Attributes
    ----------
    help : str
        One line on what it means.
    name : str
        In CSV files and in the store; that of the attribute of `Record` that declares it.
    type : {"TEXT", "INTEGER", "REAL"}
        By the annotation of that attribute.
    """

    help: str
    name: str = ""
    type: Literal["TEXT", "INTEGER", "REAL"] = "REAL"
    number: int = field(default_factory=_numbers.__next__, compare=False, repr=False)  #: in the order of declaration

    def of_text(self, text: str) -> Any:
        """Return the value of a CSV cell as `checked` does.

        Raises
        ------
        ValueError
            If it is none of this type.
        """
        if text == "" or self.type == "TEXT":
            return text or None
        is_whole = self.type == "INTEGER" and text.lstrip("+-").isdecimal()
        return self.checked(int(text) if is_whole else float(text))

    def checked(self, value: Any) -> Any:
        """Return a value that is of this column's type; None where it is missing, not finite or too large to average.

        Raises
        ------
        ValueError
            If it is of another type, below zero where nothing is, or an integer of more than 64 bits, as other tools
            cannot read it.
        """
        is_number = isinstance(value, float) and self.type != "TEXT"
        if value is None or (is_number and not abs(value) < TOO_LARGE):  # NaN, too, is not below
            return None
        if self.type == "INTEGER" and isinstance(value, float) and value.is_integer():
            value = int(value)
        is_right = isinstance(value, _TYPES[self.type]) and not isinstance(value, bool)
        if not is_right or (isinstance(value, int) and value.bit_length() >= _BITS):
            raise ValueError(f"{_NOUNS[self.type]} belongs")
        if self.is_from_zero and value < 0:
            raise ValueError("no negative number belongs")
        return value

    @property
    def is_from_zero(self) -> bool:
        """Whether no value is below zero."""
        return self.type == "INTEGER"


_BITS, PERCENT = 64, 100.0
_TYPES: dict[str, tuple[type, ...]] = {"TEXT": (str,), "INTEGER": (int,), "REAL": (float, int)}
_NOUNS = {"TEXT": "a text", "INTEGER": f"an integer of at most {_BITS} bits", "REAL": "a number that is finite"}


@dataclass(frozen=True, kw_only=True)
class Quantity(Column):
    """A measured quantity.

    Attributes
    ----------
    unit : str
        Of the stored number; empty for a number without one.
    title : str
        What it is called in tables and on axes; a name that needs no other words is its own title.
    scale : float
        What the stored number is multiplied by where people read it, such as 100 for percents.
    format : str
        How people read it, as in ``format(value, ".3g")``.
    better : {"lower", "higher", ""}
        Which way a verdict may call better than published.
    kind : {"count", "value", "error", ""}
        How it is compared with earlier results: counts and values must be equal on the same kind of processor, errors
        pass a test of proportions on another.
    is_share : bool
        Whether it is a share of wrong, or right, answers: zero says something, and a constant answer has one, too.
    rows : str
        For an error: the column with the number of rows of which it is a share.
    published : str
        The column of published tables that prints it, if there is one.
    in_runs, in_curves, averaged : bool
        Whether runs.csv, curves.csv and (mean and standard deviation) table.csv have it.
    on_page, in_terminal : int
        Its position among the columns of tables on the page, and of those in the terminal and in notebooks; 0 for none.
    in_exports : bool
        Whether tables in Markdown and LaTeX have it, in the order of the page.
    rank : int
        Where the terminal is too narrow, the columns of the highest rank are left out first; those of rank 0 stay.
    has_spread : bool
        Whether the terminal shows its standard deviation.
    goes_with : str
        Tables show it only where they show this quantity, too; that on the page shows it always with `alone_on_page`.
    is_none_at_zero : bool
        Whether the terminal leaves a cell empty that is zero, as of a linear solver that has none of it.
    """

    unit: str = ""
    title: str = ""
    scale: float = 1.0
    format: str = ".4g"
    better: Literal["lower", "higher", ""] = ""
    kind: Literal["count", "value", "error", ""] = ""
    is_share: bool = False
    rows: str = ""
    published: str = ""
    in_runs: bool = True
    in_curves: bool = False
    averaged: bool = True
    on_page: int = 0
    in_terminal: int = 0
    in_exports: bool = False
    rank: int = 0
    has_spread: bool = False
    goes_with: str = ""
    alone_on_page: bool = False
    is_none_at_zero: bool = False

    @property
    def is_from_zero(self) -> bool:
        """Whether no value is below zero, as of counts and shares."""
        return self.is_share or super().is_from_zero

    @property
    def is_seconds(self) -> bool:
        """Whether it is a time, which no other machine or hour repeats."""
        return self.unit == "seconds"

    @property
    def is_in_percent(self) -> bool:
        """Whether people read it in percent."""
        return self.scale == PERCENT or self.unit == "percent"

    @property
    def is_accuracy(self) -> bool:
        """Whether it is a share of right answers, not of wrong ones."""
        return self.is_share and self.better == "higher"

    @property
    def heading(self) -> str:
        """The title, or the name with spaces."""
        return self.title or self.name.replace("_", " ")

    def text(self, value: float | None) -> str:
        """Return a stored number as people read it; nothing for None."""
        return "" if value is None else format(self.scale * value, self.format)

    def spread(self, deviation: float | None) -> str:
        """Return a standard deviation as people read it beside its mean: " ±0.02"; nothing for None or zero."""
        return f" ±{self.scale * deviation:.2g}" if deviation else ""


def described(meaning: str, default: Any = None) -> Any:
    """Declare a column that describes a run."""
    return field(default=default, metadata={"column": Column(meaning)})


def measured(meaning: str, **more: Any) -> Any:
    """Declare a quantity that is measured; ``more`` are attributes of `Quantity`."""
    return field(default=None, metadata={"column": Quantity(meaning, **more)})
